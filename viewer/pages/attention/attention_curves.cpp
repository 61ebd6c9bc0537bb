// By distance: how strong each term is, or which part of what moves the attention is its own.
#include <algorithm>
#include <cmath>

#include "viewer/pages/attention/attention.h"
#include "viewer/plots/line_plot.h"

namespace locus {

void AttentionPage::draw_curves(Scene& scene, const Rect& cells) {
    const Ui& ui = scene.ui;
    AttentionState& state = scene.state.attention;
    const bool shares = state.curve == 1;
    const float y = cells.y0 - ui.px(14);
    float x = cells.x0;
    const char* names[] = {"strength", "share"};
    for (std::size_t n = 0; n < 2; ++n) {
        const float width = ui.text_width(names[n], Face::title);
        const Touch mouse = ui.touch((std::string("curve ") + names[n]).c_str(),
                                     {x - ui.px(3), y - ui.px(10), x + width + ui.px(3), y + ui.px(10)});
        if (mouse.clicked) state.curve = n;
        const bool chosen = state.curve == n;
        ui.text(x, y, names[n], chosen || mouse.hovered ? ui.theme->text : ui.theme->muted, Face::title);
        if (chosen) ui.fill({x, y + ui.px(8), x + width, y + ui.px(9)}, ui.theme->muted);
        x += width + ui.px(12);
    }
    ui.text(x - ui.px(2), y, "by distance", ui.theme->text, Face::title);
    const char* note = shares ? "|term \u2212 row mean|" : "mean |term|";
    if (cells.x1 - x > ui.text_width("by distance", Face::title) + ui.text_width(note, Face::mono_small) + ui.px(12))
        ui.text(cells.x1, y, note, ui.theme->muted, Face::mono_small, Align::right);

    LinePlot plot;
    plot.first_x = 1 - static_cast<double>(scene.answer->length());
    plot.x_name = "i \u2212 j";
    plot.marked_x = static_cast<double>(scene.state.cell.i - scene.state.cell.j);
    plot.high = shares ? 100 : 0;
    for (std::size_t n = 0; n < strength_.size(); ++n) {
        if (!present_[n]) continue;
        std::vector<double> values = shares ? share_[n] : strength_[n];
        for (double& value : values) {
            if (shares) value *= 100;
            if (!shares && std::isfinite(value)) plot.high = std::max(plot.high, value * 1.06);
        }
        const bool kept = is_kept(kept_terms(scene), n);
        const ImU32 colour = term_colour(*ui.theme, static_cast<int>(n));
        plot.curves.push_back(
            {std::move(values), kept ? colour : faded(colour, 0.35f),
             std::string(kAttentionPanels[n].title) + (shares ? ", percent" : "") + (kept ? "" : ", dropped"), !kept});
    }
    if (plot.high == 0) plot.high = 1;
    draw_line_plot(ui, "strength", {cells.x0 - ui.px(4), cells.y0, cells.x1, cells.y1 + ui.px(3)}, plot);
    ui.text(cells.x1, cells.y1 + ui.px(17), "to the right \u2190 i \u2212 j \u2192 to the left", ui.theme->muted,
            Face::mono_small, Align::right);
}

}  // namespace locus
