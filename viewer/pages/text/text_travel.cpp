// What flows from the words of one document to those of another, as bands.
#include <algorithm>
#include <cmath>

#include "viewer/pages/text/text.h"
#include "viewer/plots/number_format.h"

namespace locus {

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
std::vector<Band> bands_of(const WordMovers& movers, const Bars& a, const Bars& b) {
    std::vector<Band> bands;
    std::vector<float> used(static_cast<std::size_t>(movers.flow.cols()), 0.0f);
    for (Index i = 0; i < movers.flow.rows(); ++i) {
        float down = 0;
        for (Index j = 0; j < movers.flow.cols(); ++j) {
            const double flow = movers.flow(i, j);
            if (!(flow > 0)) continue;
            const auto share = static_cast<float>(flow);
            float& arrived = used[static_cast<std::size_t>(j)];
            bands.push_back({{{i, j}, flow, movers.costs(i, j)},
                             a.start(i) + (down + share / 2) * a.scale,
                             b.start(j) + (arrived + share / 2) * b.scale,
                             share * std::min(a.scale, b.scale)});
            down += share;
            arrived += share;
        }
    }
    return bands;
}

/// Height of a band at share x of its way.
float height_at(const Band& band, float x) {
    const float s = x * x * (3 - 2 * x);
    return band.left + (band.right - band.left) * s;
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
    const Bars a(plan.movers.flow.rowwise().sum().transpose(), way.y0, way.height(), ui.px(12));
    const Bars b(plan.movers.flow.colwise().sum(), way.y0, way.height(), ui.px(12));
    const std::vector<Band> bands = bands_of(plan.movers, a, b);

    const Touch mouse = ui.touch("travel", way);
    std::optional<Cell> pointed;
    if (mouse.hovered) {
        const float x = (mouse.at.x - way.x0) / way.width();
        for (const Band& band : bands)
            if (std::abs(height_at(band, x) - mouse.at.y) <= band.width / 2 + ui.px(2)) pointed = band.travel.move;
    }
    follow(state, state.move, pointed, mouse.clicked);
    std::vector<float> written;
    for (const bool chosen : {false, true})  // the chosen one lies on top
        for (const Band& band : bands) {
            if ((band.travel.move == state.move) != chosen) continue;
            const auto near = static_cast<float>(std::clamp(1 - band.travel.distance / 2, 0.0, 1.0));
            const ImU32 colour = chosen ? faded(theme.c2p, 0.85f) : faded(theme.accent, 0.12f + 0.4f * near);
            const float third = way.width() * 0.4f;
            ui.draw().curve({way.x0, band.left}, {way.x0 + third, band.left}, {way.x1 - third, band.right},
                            {way.x1, band.right}, colour, std::max(ui.px(1), band.width));
        }
    for (const Band& band : bands) {
        const float x = way.x0 + way.width() * 0.5f, y = height_at(band, 0.5f);
        const bool free =
            std::all_of(written.begin(), written.end(), [&](float other) { return std::abs(other - y) >= ui.px(13); });
        if (!free || band.width < ui.px(8)) continue;
        written.push_back(y);
        ui.text(x, y, fixed(band.travel.distance, 2), theme.text, Face::mono_small, Align::centre);
    }
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
