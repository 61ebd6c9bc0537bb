// Why a number is what it is: the weight of a word, the cosine of two documents, the way between them.
#include <algorithm>
#include <cmath>

#include "viewer/pages/text/text.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/formula_bar.h"
#include "viewer/ui/lesson_links.h"
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
    column.row("times in " + std::to_string(cell.i + 1) + ", of " + std::to_string(all) + " words",
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
    if (parts.empty()) column.row(counts ? "no word in common" : "no word that counts in common", "0");
    column.row("sum: " + std::string(kLikenesses[counts ? 0 : 1]), fixed(likeness(*study_, counts ? 0 : 1, pair), 3),
               true);
    scene.ui.note("text/likeness", likeness(*study_, counts ? 0 : 1, pair));
    scene.ui.note("text/by topics", study_->by_topics(pair.i, pair.j));
    const auto topics = study_->space.strengths.size();
    column.row("in " + std::to_string(topics) + (topics == 1 ? " topic" : " topics"),
               fixed(study_->by_topics(pair.i, pair.j), 3));
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
    const std::vector<Travel> all = travels(plan.movers);
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

void TextPage::draw_side(Scene& scene, const Rect& room) {
    if (!shown()) return;
    SideColumn column(scene.ui, room);
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
    draw_lesson_links(scene, column, room, {{"01", "Counting words"}});
}

void TextPage::draw_formula(Scene& scene, const Rect& bar) {
    if (!shown()) return;
    const Ui& ui = scene.ui;
    const TravelPlan& plan = study_->plan;
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    std::vector<Span> line = {
        plain("\u03a3 "), {"flow", ui.theme->accent, Face::formula}, plain(" \u00d7 distance = ")};
    if (plan.unavailable.empty()) {
        const std::vector<Travel> all = travels(plan.movers);
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

}  // namespace locus
