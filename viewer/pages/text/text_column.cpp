// Why a number is what it is: the weight of a word, the cosine of two documents, the way between them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/pages/text/text.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

void TextPage::explain_weight(Scene& scene, SideColumn& column) const {
    const TextTables& tables = *study_->tables;
    const TextPageState& state = scene.state.text_page;
    const Cell cell = state.weight;
    const std::string word = scene.ui.cut(tables.bag.words.word(cell.j), scene.ui.px(110));
    const double weight = tables.weights(cell.i, cell.j);
    column.heading("Why " + (state.weights == 0 ? brief(tables.counts(cell.i, cell.j)) : fixed(weight, 3)) + "?",
                   word + " in " + std::to_string(cell.i + 1));
    const auto all = static_cast<Index>(tables.documents[static_cast<std::size_t>(cell.i)].size());
    column.row("times in document " + std::to_string(cell.i + 1) + " (" + several(all, "word") + ")",
               brief(tables.counts(cell.i, cell.j)));
    column.row("share of its words, tf", fixed(tables.tf(cell.i, cell.j), 3));
    const std::string df = std::to_string(tables.df[static_cast<std::size_t>(cell.j)]),
                      n = std::to_string(tables.counts.rows());
    column.row("documents that have it, df", df + " of " + n);
    column.row("idf = log\u2081\u2080(" + n + " / " + df + ")", fixed(tables.idf[cell.j], 3));
    scene.ui.note("text/tf", tables.tf(cell.i, cell.j));
    scene.ui.note("text/idf", tables.idf[cell.j]);
    scene.ui.note("text/tf idf", weight);
    column.row("tf \u00d7 idf", fixed(weight, 4), true);
    column.rule();
}

void TextPage::explain_alike(Scene& scene, SideColumn& column) const {
    const TextPageState& state = scene.state.text_page;
    const TextTables& tables = *study_->tables;
    const Cell pair = state.pair;
    const std::string a = std::to_string(pair.i + 1), b = std::to_string(pair.j + 1);
    const bool counts = state.weights == 0;
    const std::vector<CosinePart> parts = cosine_parts(counts ? tables.counts : tables.weights, pair);
    column.heading("How alike are " + a + " and " + b + "?", counts ? "by counts" : "by tf\u00b7idf");
    const std::size_t most = 3;
    for (std::size_t n = 0; n < std::min(most, parts.size()); ++n)
        column.row({{scene.ui.cut(tables.bag.words.word(parts[n].word), scene.ui.px(80)), scene.ui.theme->text},
                    {"  " + brief(parts[n].a) + " \u00b7 " + brief(parts[n].b) + " / lengths", scene.ui.theme->muted}},
                   fixed(parts[n].share, 3));
    if (parts.size() > most) {
        double rest = 0;
        for (std::size_t n = most; n < parts.size(); ++n) rest += parts[n].share;
        column.row("and " + std::to_string(parts.size() - most) + " more words", fixed(rest, 3));
    }
    if (parts.empty()) column.row(counts ? "words in common" : "words that count in common", "0");
    column.row("sum: " + std::string(kLikenesses[counts ? 0 : 1]), fixed(likeness(*study_, counts ? 0 : 1, pair), 3),
               true);
    scene.ui.note("text/likeness", likeness(*study_, counts ? 0 : 1, pair));
    scene.ui.note("text/by topics", study_->by_topics(pair.i, pair.j));
    if (const std::string outside = study_->outside_topics(pair); outside.empty())
        column.row("in " + several(study_->space.strengths.size(), "topic"),
                   fixed(study_->by_topics(pair.i, pair.j), 3));
    else
        column.row((pair.i == pair.j                                      ? a
                    : study_->in_topics[static_cast<std::size_t>(pair.i)] ? b
                    : study_->in_topics[static_cast<std::size_t>(pair.j)] ? a
                                                                          : a + " and " + b) +
                       ": " + outside,
                   "");
    column.rule();
}

void TextPage::explain_travel(Scene& scene, SideColumn& column) const {
    const TravelPlan& plan = study_->plan;
    const std::string a = std::to_string(plan.pair.i + 1), b = std::to_string(plan.pair.j + 1);
    column.heading("What travels from " + a + " to " + b + "?", "flow \u00d7 distance");
    if (!plan.unavailable.empty()) {
        column.sentence(plan.unavailable);
        return;
    }
    const std::vector<Travel>& all = plan.moves;
    const PlacedWords &from = study_->words_of(plan.pair.i), &to = study_->words_of(plan.pair.j);
    const std::size_t most = 5;
    double rest = 0;
    for (std::size_t n = 0; n < all.size(); ++n) {
        const Travel& move = all[n];
        if (n >= most) {
            rest += move.flow * move.distance;
            continue;
        }
        const bool chosen = move.move == scene.state.text_page.move;
        const std::string words = from.words[static_cast<std::size_t>(move.move.i)].text + " \u2192 " +
                                  to.words[static_cast<std::size_t>(move.move.j)].text;
        column.row({{scene.ui.cut(words, scene.ui.px(move.flow < 0.01 ? 118 : 136)),
                     chosen ? scene.ui.theme->c2p : scene.ui.theme->muted}},
                   fixed(move.flow, move.flow < 0.01 ? 4 : 2) + "\u00d7" + fixed(move.distance, 2) + " = " +
                       fixed(move.flow * move.distance, 3));
    }
    if (all.size() > most) column.row("and " + std::to_string(all.size() - most) + " more", fixed(rest, 3));
    scene.ui.note("text/distance", plan.movers.distance);
    column.row(plan.relaxed ? "sum: relaxed distance" : "sum: word mover\u2019s distance",
               fixed(plan.movers.distance, 3), true);
    if (!plan.relaxed) column.row("each to its nearest: at least", fixed(plan.bound.larger(), 3));
    column.row("between the mean vectors", fixed(plan.centroids, 3));
}

void TextPage::draw_side(Scene& scene, const Rect& area) {
    if (!shown(scene.state.text_page)) return;
    const Ui::Scrolled scrolled(scene.ui);
    SideColumn column(scene.ui, area, side_scroll_);
    explain_weight(scene, column);
    explain_alike(scene, column);
    explain_travel(scene, column);
    column.rule();
    const Cell pair = study_->plan.pair;
    const Matrix<double>& distances = study_->tables->distances;
    const bool unlike = pair.i != pair.j && study_->tables->by_counts(pair.i, pair.j) == 0;
    bool nearest = unlike && study_->plan.unavailable.empty();
    for (Index other = 0; other < distances.cols() && nearest; ++other)
        nearest = other == pair.i || !(distances(pair.i, other) < distances(pair.i, pair.j));
    if (nearest)
        column.sentence("No word in common, so counting says 0. Yet of all documents " + std::to_string(pair.j + 1) +
                            " is the one with the least to travel.",
                        false);
    draw_lesson_links(scene, column, {{"01", "Counting words"}});
    scroll_column(scene.ui, column, area, side_scroll_);
}

void TextPage::draw_formula(Scene& scene, const Rect& bar) {
    if (!shown(scene.state.text_page)) return;
    const Ui& ui = scene.ui;
    const TravelPlan& plan = study_->plan;
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    std::vector<Span> line = {
        plain("\u03a3 "), {"flow", ui.theme->accent, Face::formula}, plain(" \u00d7 distance = ")};
    if (plan.unavailable.empty()) {
        const std::vector<Travel>& all = plan.moves;
        for (std::size_t n = 0; n < std::min<std::size_t>(4, all.size()); ++n) {
            if (n > 0) line.push_back(plain(" + "));
            line.push_back({fixed(all[n].flow, 2), ui.theme->accent, Face::formula});
            line.push_back(plain("\u00b7" + fixed(all[n].distance, 2)));
        }
        if (all.size() > 4) line.push_back(plain(" + \u2026"));
        line.push_back(plain(" = " + fixed(plan.movers.distance, 3)));
    } else {
        line.push_back(plain("none"));
    }
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar,
                  "words placed by skip-gram: " + std::to_string(study_->tables->taught_by) +
                      " built-in sentences and these documents",
                  end);
}

// What flows from the words of one document to those of another, as bands.

namespace {

/// The words of one document as bars under each other, as high as their shares.
struct Bars {
    std::vector<float> from;  // where each starts, and the end of the last
    float gap = 0, scale = 0;

    Bars(const RowVector<double>& weights, float top, float height, float widest_gap) {
        const auto n = static_cast<float>(weights.size());
        gap = std::min(widest_gap, height * 0.4f / std::max(1.0f, n - 1));
        scale = height - gap * (n - 1);
        float y = top;
        for (Index word = 0; word < weights.size(); ++word) {
            from.push_back(y);
            y += static_cast<float>(weights[word]) * scale + gap;
        }
        from.push_back(y);
    }
    float end(Index word) const { return from[static_cast<std::size_t>(word) + 1] - gap; }
    float start(Index word) const { return from[static_cast<std::size_t>(word)]; }
    float middle(Index word) const { return (start(word) + end(word)) / 2; }
};

struct Band {
    Travel travel;
    float left, right, width;  // centres at both ends
};

/// Bands leave a bar in the order in which they arrive, so that they cross as little as they can.
std::vector<Band> bands_of(std::vector<Travel> moves, const Bars& a, const Bars& b) {
    std::sort(moves.begin(), moves.end(), [](const Travel& x, const Travel& y) {
        return std::pair(x.move.i, x.move.j) < std::pair(y.move.i, y.move.j);
    });
    std::vector<Band> bands;
    std::vector<float> left_a(a.from.size(), 0.0f), arrived_b(b.from.size(), 0.0f);
    for (const Travel& travel : moves) {
        const auto [i, j] = travel.move;
        const auto share = static_cast<float>(travel.flow);
        float &left = left_a[static_cast<std::size_t>(i)], &arrived = arrived_b[static_cast<std::size_t>(j)];
        bands.push_back({travel, a.start(i) + (left + share / 2) * a.scale,
                         b.start(j) + (arrived + share / 2) * b.scale, share * std::min(a.scale, b.scale)});
        left += share;
        arrived += share;
    }
    return bands;
}

/// Height of a band at share x of its way.
float height_at(const Band& band, float x) {
    const float s = x * x * (3 - 2 * x);
    return band.left + (band.right - band.left) * s;
}

/// Every move as a curve as wide as the mass that travels, brighter the nearer, and its distance where there is room.
void draw_bands(const Ui& ui, const Rect& way, const std::vector<Band>& bands, Cell move) {
    const ThemeColours& colours = theme_colours(ui.theme->name);
    const auto share_of = [&](const Band& band) {
        const auto near = static_cast<float>(std::clamp(1 - band.travel.distance / 2, 0.0, 1.0));
        return band.travel.move == move ? 0.85f : 0.12f + 0.4f * near;
    };
    for (const bool chosen : {false, true})  // the chosen one on top
        for (const Band& band : bands) {
            if ((band.travel.move == move) != chosen) continue;
            const float third = way.width() * 0.4f;
            ui.draw().curve({way.x0, band.left}, {way.x0 + third, band.left}, {way.x1 - third, band.right},
                            {way.x1, band.right}, faded(chosen ? ui.theme->c2p : ui.theme->accent, share_of(band)),
                            std::max(ui.px(1), band.width));
        }
    std::vector<float> written;  // heights that have a number already
    for (const Band& band : bands) {
        const float x = way.x0 + way.width() * 0.5f, y = height_at(band, 0.5f);
        const bool free =
            std::all_of(written.begin(), written.end(), [&](float other) { return std::abs(other - y) >= ui.px(13); });
        if (!free || band.width < ui.px(8)) continue;
        written.push_back(y);
        const Rgb colour = band.travel.move == move ? colours.c2p : colours.accent;
        const ImU32 ink = to_colour(ink_on(blended(colour, share_of(band), colours.background)));
        ui.text(x, y, fixed(band.travel.distance, 2), ink, Face::mono_small, Align::centre);
    }
}

}  // namespace

void TextPage::draw_travel(Scene& scene, const Rect& box) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    TextPageState& state = scene.state.text_page;
    const TravelPlan& plan = study_->plan;
    const float title = box.y0 - ui.px(4);
    const std::string numbers = std::to_string(plan.pair.i + 1) + " \u2192 " + std::to_string(plan.pair.j + 1);
    ui.spans(box.x0, title, {{"how far must the words travel?  ", theme.text, Face::title}, {numbers, theme.muted}});
    if (!plan.unavailable.empty()) {
        ui.paragraph(box.x0, box.y0 + ui.px(18), box.width(), plan.unavailable, theme.muted);
        return;
    }
    ui.text(box.x1, title, (plan.relaxed ? "relaxed " : "") + distance_text(plan.movers.distance), theme.text,
            Face::mono_strong, Align::right);
    const PlacedWords &from = study_->words_of(plan.pair.i), &to = study_->words_of(plan.pair.j);
    const float top = box.y0 + ui.px(18), label = ui.px(84), bar = ui.px(5);
    const Rect way{box.x0 + label + bar, top, box.x1 - label - bar, box.y1};
    const Bars a(plan.leaving, way.y0, way.height(), ui.px(12)), b(plan.arriving, way.y0, way.height(), ui.px(12));
    const std::vector<Band> bands = bands_of(plan.moves, a, b);

    const Touch mouse = ui.touch("travel", way);
    std::optional<Cell> pointed;
    if (mouse.hovered) {
        const float x = (mouse.at.x - way.x0) / way.width();
        for (const Band& band : bands)
            if (std::abs(height_at(band, x) - mouse.at.y) <= band.width / 2 + ui.px(2)) pointed = band.travel.move;
    }
    move_cursor(state, state.move, pointed, mouse.clicked);
    draw_bands(ui, way, bands, state.move);
    const auto words = [&](const PlacedWords& placed, const Bars& bars, bool left, Index chosen) {
        const ImU32 colour = left ? theme.c2c : theme.c2p;
        float last = -1e9f;
        for (Index n = 0; n < static_cast<Index>(placed.words.size()); ++n) {
            const float x = left ? way.x0 - bar : way.x1;
            ui.fill({x, bars.start(n), x + bar, std::max(bars.end(n), bars.start(n) + 1)}, colour);
            if (bars.middle(n) - last < ui.px(13) && n != chosen) continue;
            last = bars.middle(n);
            ui.text_within(left ? x - ui.px(6) : x + bar + ui.px(6), bars.middle(n), label - ui.px(8),
                           placed.words[static_cast<std::size_t>(n)].text, n == chosen ? theme.text : theme.muted,
                           Face::label, left ? Align::right : Align::left);
        }
    };
    words(from, a, true, state.move.i);
    words(to, b, false, state.move.j);
    if (pointed) describe_move(scene, *pointed);
}

}  // namespace locus
