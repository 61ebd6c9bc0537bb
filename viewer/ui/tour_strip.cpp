// One sentence at the bottom while somebody tours, and the way on.
#include "viewer/ui/panels_layout.h"

namespace locus {

void step_tour(Scene& scene, Index by) {
    const DebertaConfig& config = scene.session.config();
    go_to_step(scene.state, scene.state.tour.step + by, config.num_hidden_layers, config.num_attention_heads);
}

void draw_tour_strip(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const auto& steps = tour_steps();
    const Index at = scene.state.tour.step, last = static_cast<Index>(steps.size()) - 1;
    if (at < 0 || at > last) return;
    const TourStep& step = steps[static_cast<std::size_t>(at)];
    const bool here = scene.state.page == step.page;
    ui.fill(bar, theme.panel);
    ui.fill({bar.x0, bar.y0, bar.x0 + bar.width() * static_cast<float>(at + 1) / static_cast<float>(steps.size()),
             bar.y0 + ui.px(2)},
            theme.accent);
    const float y = bar.middle_y();
    const Ui::Group group(ui, "tour");
    float x = bar.x1 - ui.px(16);
    const auto button = [&](const char* id, const std::string& label, bool chosen) {
        const Rect box{x - ui.text_width(label) - ui.px(24), y - ui.px(13), x, y + ui.px(13)};
        x = box.x0 - ui.px(8);
        return ui.button(id, box, label, chosen);
    };
    const bool end = button("end", "end", false);
    const bool on = button("on", !here ? "go on" : at == last ? "done" : "next", true);
    const bool back = at > 0 && button("back", "back", false);
    x -= ui.px(6);
    x -= ui.text(x, y, std::to_string(at + 1) + " of " + std::to_string(last + 1) + "  Enter", theme.muted,
                 Face::mono_small, Align::right);
    ui.text_within(bar.x0 + ui.px(16), y, x - bar.x0 - ui.px(32), here ? step.sentence : "The tour waits.",
                   here ? theme.text : theme.muted);
    if (end)
        end_tour(scene.state);
    else if (on)
        step_tour(scene, here ? 1 : 0);
    else if (back)
        step_tour(scene, -1);
}

}  // namespace locus
