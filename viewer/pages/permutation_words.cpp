// Who sees whom, in words, and why there are two streams.
#include <algorithm>

#include "viewer/formula_bar.h"
#include "viewer/lesson_links.h"
#include "viewer/pages/permutation.h"
#include "viewer/plots/number_format.h"
#include "viewer/side_column.h"

namespace locus {

void PermutationPage::draw_side(Scene& scene, const Rect& room) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const Index chosen = shown_row(state);
    const std::vector<Index> predicted = predicted_of(cards(state));
    const auto at = std::find(predicted.begin(), predicted.end(), chosen);
    const bool is_target = at != predicted.end();
    SideColumn column(ui, room);
    column.heading("Who sees whom?", "\u201c" + word(state, chosen) + "\u201d");
    std::string sentence = sees_in_words(cards(state), chosen);
    sentence.front() = 'P';
    column.sentence(sentence + ".", false);
    if (is_target) {
        column.sentence("Its query stream g sees " + std::to_string(visible_.query.row(chosen).cast<int>().sum()) +
                        " words, but not its own; its content stream h sees one more, itself.");
        std::string after;
        for (auto later = at + 1; later != predicted.end(); ++later)
            after += (after.empty() ? "" : ", ") + word(state, *later);
        if (!after.empty()) column.sentence("Hidden, because they come later: " + after + ".");
    } else {
        column.sentence("Given words see each other and no word that is to be predicted.");
    }
    if (state.sentence == 0 && is_target) {
        std::vector<std::pair<float, Index>> weights;
        for (Index j = 0; j < static_cast<Index>(this->sentence(state).words.size()); ++j)
            if (const auto weight = attention(state, true, chosen, j); weight) weights.emplace_back(*weight, j);
        std::sort(weights.rbegin(), weights.rend());
        column.rule();
        column.heading("Where does g look?",
                       "layer " + std::to_string(state.layer) + " head " + std::to_string(state.head));
        for (std::size_t n = 0; n < std::min<std::size_t>(4, weights.size()); ++n) {
            const auto [weight, j] = weights[n];
            ui.note(("permutation/weight " + std::to_string(j)).c_str(), static_cast<double>(weight));
            column.bar({{word(state, j), ui.theme->text}}, ui.theme->c2p, static_cast<double>(weight),
                       fixed(static_cast<double>(weight), 3));
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
    if (state.sentence == 2)
        column.sentence(
            "Orders 3 2 4 1 and 3 2 1 4 begin alike: from the same two words one asks for position 4, the "
            "other for position 1. Only g tells them apart.");
    draw_lesson_links(scene, column, room, {{"22", "Permutation language model"}, {"23", "Two streams"}});
}

void PermutationPage::draw_formula(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const auto low = [&](const std::string& text, ImU32 colour) { return Span{text, colour, Face::mono_tiny, -4}; };
    std::string order;
    for (const Index position : predicted_of(cards(state)))
        order += (order.empty() ? "" : ", ") + std::to_string(position + 1);
    std::vector<Span> line = {
        plain("z = [" + order + "]   p(x) = \u03a0"), low("t", ui.theme->text),      plain(" p( "),
        {"x", ui.theme->c2p, Face::formula},          low("z\u209c", ui.theme->c2p), plain(" | "),
        {"x", ui.theme->c2c, Face::formula},          low("z<t", ui.theme->c2c),     plain(" )")};
    if (state.sentence == 0 && !answer_->targets.empty()) {
        double product = 1;
        for (std::size_t step = 0; step < answer_->probabilities.size(); ++step) {
            const double chance = answer_->probabilities[step];
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
