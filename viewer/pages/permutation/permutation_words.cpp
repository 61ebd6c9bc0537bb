// Who sees whom, in words, and why there are two streams.
#include <algorithm>

#include "viewer/pages/permutation/permutation.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/formula_bar.h"
#include "viewer/ui/lesson_links.h"
#include "viewer/ui/side_column.h"

namespace locus {

void PermutationPage::draw_side(Scene& scene, const Rect& room) {
    refresh(scene);
    PermutationState& state = scene.state.permutation;
    SideColumn column(scene.ui, room);
    if (runs_model(state)) draw_column_choice(scene.ui, column, "this row", column_of(state));
    if (runs_model(state) && state.side > 0)
        draw_cell(scene, column, room);
    else
        draw_row(scene, column, room);
}

void PermutationPage::draw_row(Scene& scene, SideColumn& column, const Rect& room) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const Index chosen = shown_row(state);
    const std::vector<Index> predicted = predicted_of(cards(state));
    const auto at = std::find(predicted.begin(), predicted.end(), chosen);
    const bool is_target = at != predicted.end();
    column.heading("Who sees whom?", "\u201c" + ui.cut(word(state, chosen), ui.px(110), Face::mono_small) + "\u201d");
    std::string sentence = sees_in_words(cards(state), chosen);
    sentence.front() = 'P';
    column.sentence(sentence + ".", false);
    if (is_target) {
        column.sentence("Its query stream g sees " + std::to_string(visible_.query.row(chosen).cast<int>().sum()) +
                        " words, but not its own; its content stream h sees one more, itself.");
        std::string after;
        for (auto later = at + 1; later != predicted.end() && later - at <= 4; ++later)
            after += (after.empty() ? "" : ", ") + word(state, *later);
        if (predicted.end() - at > 5) after += " and more";
        if (!after.empty()) column.sentence("Hidden, because they come later: " + after + ".");
    } else {
        column.sentence("Given words see each other and no word that is to be predicted.");
    }
    if (runs_model(state) && is_target) {
        std::vector<std::pair<float, Index>> weights;
        for (Index j = 0; j < static_cast<Index>(words(state).size()); ++j)
            if (const auto weight = attention(state, true, chosen, j); weight) weights.emplace_back(*weight, j);
        std::sort(weights.rbegin(), weights.rend());
        column.rule();
        column.heading("Where does g look?",
                       "layer " + std::to_string(state.layer) + " head " + std::to_string(state.head));
        for (std::size_t n = 0; n < std::min<std::size_t>(4, weights.size()); ++n) {
            const auto [weight, j] = weights[n];
            ui.note(("permutation/weight " + std::to_string(j)).c_str(), static_cast<double>(weight));
            column.bar({{ui.cut(word(state, j), ui.px(74)), ui.theme->text}}, ui.theme->c2p,
                       static_cast<double>(weight), fixed(static_cast<double>(weight), 3));
            column.skip(23);
        }
    }
    column.rule();
    column.heading("The words do not move");
    column.sentence("Every token keeps its place in the text; the order only says which cells of the masks are open.");
    column.rule();
    column.heading("Why two streams?");
    column.sentence(
        "After the same words the next target may stand here or there. g knows where it stands, through relative "
        "positions, but not what it is. h knows what it is, so that later targets can look at it.");
    if (const auto other = same_prefix(cards(state), chosen)) {
        const std::vector<Index> swapped = predicted_of(*other);
        column.sentence("Order " + order_text(*other) + " begins alike: from the same words it asks for \u201c" +
                        word(state, swapped[static_cast<std::size_t>(at - predicted.begin())]) +
                        "\u201d. What h offers is the same; only g tells the two apart.");
    }
    draw_lesson_links(scene, column, room, {{"22", "Permutation language model"}, {"23", "Two streams"}});
}

void PermutationPage::draw_formula(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const auto low = [&](const std::string& text, ImU32 colour) { return Span{text, colour, Face::mono_tiny, -4}; };
    std::string order;
    const std::vector<Index> predicted = predicted_of(cards(state));
    for (std::size_t n = 0; n < std::min<std::size_t>(12, predicted.size()); ++n)
        order += (order.empty() ? "" : ", ") + std::to_string(predicted[n] + 1);
    if (predicted.size() > 12) order += " \u2026";
    std::vector<Span> line = {
        plain("z = [" + order + "]   p(x) = \u03a0"), low("t", ui.theme->text),      plain(" p( "),
        {"x", ui.theme->c2p, Face::formula},          low("z\u209c", ui.theme->c2p), plain(" | "),
        {"x", ui.theme->c2c, Face::formula},          low("z<t", ui.theme->c2c),     plain(" )")};
    if (runs_model(state) && !answer().chances.empty()) {
        double product = 1;
        for (std::size_t step = 0; step < answer().chances.size(); ++step) {
            const double chance = answer().chances[step].probability;
            ui.note(("permutation/step " + std::to_string(step + 1)).c_str(), chance);
            product *= chance;
        }
        ui.note("permutation/product", product);
        line.push_back(plain(" = " + chance_text(product)));
    }
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar, "training draws another order for every text", end);
}

}  // namespace locus
