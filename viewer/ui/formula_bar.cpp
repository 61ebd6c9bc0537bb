#include "viewer/ui/formula_bar.h"

#include <utility>
#include <vector>

#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"

namespace locus {

void draw_score_formula(const Scene& scene, const Rect& bar, const CellExplanation<float>& cell) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const auto plain = [&](const std::string& text) { return Span{text, theme.text, Face::formula}; };
    std::vector<Span> line = {plain("A"),
                              {std::to_string(cell.i) + "," + std::to_string(cell.j), theme.text, Face::mono_tiny, -4},
                              plain(" = ( ")};
    const char* products[][2] = {{"q\u00b7k", ""}, {"q\u00b7k", "r"}, {"k\u00b7q", "r"}};
    const float x = bar.x0 + ui.px(16);
    std::vector<std::pair<float, float>> struck;  // from the left end of the line
    bool first = true;
    for (int term = 0; term < 3; ++term) {
        if (!term_of(cell, term).active) continue;
        if (!first) line.push_back(plain(" + "));
        first = false;
        const bool kept = is_kept(cell, term);
        const ImU32 colour = kept ? term_colour(theme, term) : faded(theme.muted, 0.7f);
        const float from = ui.spans_width(line);
        line.push_back({products[term][0], colour, Face::formula});
        line.push_back({products[term][1], colour, Face::mono_tiny, 5});
        line.push_back({" " + fixed(term_of(cell, term).value, 2), colour, Face::formula});
        if (!kept) struck.emplace_back(from, ui.spans_width(line));
    }
    const auto under_root = std::to_string(cell.terms * scene.session.config().attention_head_size);
    line.push_back(plain(" ) / \u221a" + under_root + " = " + fixed(cell.score, 3)));
    for (const auto& [from, to] : struck)
        ui.fill({x + from, bar.middle_y(), x + to, bar.middle_y() + ui.px(1)}, theme.muted);
    const float end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar,
                  struck.empty() ? "attention shows where information may flow, not why"
                                 : "only this head is computed anew, not the layers after it",
                  end);
}

void draw_bar_note(const Scene& scene, const Rect& bar, const std::string& sentence, float left_end) {
    const Ui& ui = scene.ui;
    const bool fault = scene.answer && !scene.answer->warnings.empty();
    const std::string& text = fault ? scene.answer->warnings.front() : sentence;
    const ImU32 colour = fault ? ui.theme->fault : ui.theme->muted;
    const float right = bar.x1 - ui.px(16), room = right - left_end - ui.px(24);
    if (room > ui.px(120)) ui.text_within(right, bar.middle_y(), room, text, colour, Face::mono_small, Align::right);
}

}  // namespace locus
