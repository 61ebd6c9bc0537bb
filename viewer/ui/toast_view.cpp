// Toasts and the line of work that takes long, above the rooms at the bottom.
#include <algorithm>
#include <cmath>

#include "viewer/ui/panels_layout.h"

namespace locus {

namespace {

constexpr float kWidth = 440, kToastPad = 12;  // design pixels

struct ToastCard {
    std::vector<std::string> lines;
    float height = 0;
};

ToastCard lay_out(const Ui& ui, const std::string& sentence, float width) {
    ToastCard card{ui.wrapped(sentence, width), 0};
    card.height = static_cast<float>(card.lines.size()) * ui.px(19) + 2 * ui.px(9);
    return card;
}

void draw_card(const Ui& ui, const Rect& box, const ToastCard& card, ImU32 mark, float opacity) {
    ui.fill(box, faded(ui.theme->panel, opacity), 6);
    ui.outline(box, faded(ui.theme->muted, opacity), 1, 6);
    ui.fill({box.x0 + ui.px(6), box.y0 + ui.px(8), box.x0 + ui.px(8), box.y1 - ui.px(8)}, faded(mark, opacity));
    float y = box.y0 + ui.px(9) + ui.px(19) / 2;
    for (const std::string& line : card.lines) {
        ui.text(box.x0 + ui.px(kToastPad) + ui.px(6), y, line, faded(ui.theme->text, opacity));
        y += ui.px(19);
    }
}

/// A short piece that runs along a line: work of unknown length.  It stands still where nothing should move.
void draw_runner(const Ui& ui, const Rect& line, double seconds, bool still) {
    ui.fill(line, ui.theme->line);
    const float piece = line.width() / 4;
    const auto share = static_cast<float>(still ? 0.5 : std::fmod(seconds / 1.6, 1.0));
    const float x = line.x0 + share * (line.width() - piece);
    ui.fill({x, line.y0, x + piece, line.y1}, ui.theme->accent);
}

}  // namespace

void draw_toasts(Scene& scene, const Rect& rooms, Toasts& toasts, const Progress& progress, double now) {
    if (toasts.shown().empty() && progress.what.empty()) return;
    const Ui& ui = scene.ui;
    const float width = std::min(ui.px(kWidth), rooms.width() - ui.px(32));
    const float inner = width - 2 * ui.px(kToastPad) - ui.px(6), gap = ui.px(8);
    std::vector<ToastCard> cards;
    float height = 0;
    for (const Toast& toast : toasts.shown()) {
        cards.push_back(lay_out(ui, toast.sentence, inner));
        height += cards.back().height + gap;
    }
    const float working = progress.what.empty() ? 0 : ui.px(46);
    height += working;
    const float x = std::floor(rooms.middle_x() - width / 2), bottom = rooms.y1 - ui.px(12);
    // A window of its own, as large as what is shown: beside it the rooms still feel the mouse.
    ImGui::SetNextWindowPos({x, bottom - height});
    ImGui::SetNextWindowSize({width, height});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, {1, 1});
    ImGui::Begin("Toasts", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoFocusOnAppearing);
    ImGui::PopStyleVar(2);
    float y = bottom - height;
    std::optional<std::size_t> closed;
    for (std::size_t n = 0; n < cards.size(); ++n) {
        const Toast& toast = toasts.shown()[n];
        const Rect box{x, y, x + width, y + cards[n].height};
        const auto opacity = static_cast<float>(Toasts::opacity(toast, now, scene.state.reduce_motion));
        draw_card(ui, box, cards[n], toast.refusal ? ui.theme->fault : ui.theme->accent, opacity);
        if (ui.touch(("toast " + std::to_string(n)).c_str(), box).clicked) closed = n;
        y = box.y1 + gap;
    }
    if (working > 0) {
        const Rect box{x, y, x + width, y + working};
        ui.fill(box, ui.theme->panel, 6);
        ui.outline(box, ui.theme->muted, 1, 6);
        char seconds[32];
        std::snprintf(seconds, sizeof seconds, "%.1f s", progress.seconds);
        const float text = box.y0 + ui.px(17);
        float right = box.x1 - ui.px(kToastPad);
        right -= ui.text(right, text, "Esc stops", ui.theme->muted, Face::ui, Align::right) + ui.px(14);
        right -= ui.text(right, text, seconds, ui.theme->text, Face::mono, Align::right) + ui.px(14);
        ui.text_within(box.x0 + ui.px(kToastPad), text, right - box.x0 - ui.px(kToastPad), progress.what,
                       ui.theme->text);
        draw_runner(ui, {box.x0 + ui.px(kToastPad), box.y1 - ui.px(13), box.x1 - ui.px(kToastPad), box.y1 - ui.px(11)},
                    progress.seconds, scene.state.reduce_motion);
    }
    ImGui::End();
    if (closed) toasts.dismiss(*closed);
}

}  // namespace locus
