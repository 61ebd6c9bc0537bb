// The sentence: chips to look at and choose from, a text box to write in.
#include <algorithm>

#include "viewer/data/model_session.h"
#include "viewer/plots/line_plot.h"
#include "viewer/ui/line_styles.h"
#include "viewer/ui/panels_layout.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include

namespace locus {

namespace {

struct Chip {
    float x0, x1;  // from the start of the row
};

/// Chips side by side; pieces of one word nearly touch.
std::vector<Chip> lay_out(const Ui& ui, const Answer& answer) {
    std::vector<Chip> chips;
    float x = 0;
    for (std::size_t t = 0; t < answer.labels.size(); ++t) {
        if (t > 0) x += answer.continues[t] ? ui.px(1) : ui.px(5);
        const float width = ui.text_width(answer.labels[t]) + ui.px(16);
        chips.push_back({x, x + std::max(width, ui.px(22))});
        x = chips.back().x1;
    }
    return chips;
}

/// Puts [MASK] in place of a token, or takes it away again.
void mask_or_restore(Scene& scene, Index at) {
    const bool masked = std::binary_search(scene.state.masked.begin(), scene.state.masked.end(), at);
    if (!scene.session.can_mask())
        scene.state.notice = "this folder has no tokenizer that knows a [MASK]";
    else if (!masked && scene.answer->labels[static_cast<std::size_t>(at)] == "[MASK]")
        scene.state.notice = "this [MASK] is written in the sentence";
    else
        toggle(scene.state.masked, at);
}

}  // namespace

void SentenceBar::draw(Scene& scene, const Rect& bar, float right) {
    const Ui& ui = scene.ui;
    const Rect room{bar.x0 + ui.px(16), bar.y0, right - ui.px(28), bar.y1};
    if (scene.state.editing)
        draw_box(scene, room);
    else
        draw_chips(scene, room);
    focus_ = !scene.state.editing;
}

void SentenceBar::draw_chips(Scene& scene, const Rect& room) {
    if (!scene.answer) return;
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    State& state = scene.state;
    const std::vector<Chip> chips = lay_out(ui, *scene.answer);
    const float whole = chips.empty() ? 0 : chips.back().x1;
    const auto reveal = [&](Index t) {
        if (t < 0 || t >= static_cast<Index>(chips.size())) return;
        const Chip& chip = chips[static_cast<std::size_t>(t)];
        scroll_ = std::clamp(scroll_, chip.x1 - room.width() + ui.px(24), chip.x0 - ui.px(24));
    };
    if (followed_ != state.cell) {
        reveal(state.cell.j);
        reveal(state.cell.i);
        followed_ = state.cell;
    }
    const Touch mouse = ui.touch("sentence", {room.x0, room.y0 + ui.px(8), room.x1, room.y1 - ui.px(8)});
    if (mouse.hovered) scroll_ -= ImGui::GetIO().MouseWheel * ui.px(60);
    scroll_ = std::clamp(scroll_, 0.0f, std::max(0.0f, whole - room.width()));

    ui.draw().push_clip({room.x0 - ui.px(1), room.y0}, {room.x1 + ui.px(1), room.y1});
    bool on_chip = false;
    for (std::size_t t = 0; t < chips.size(); ++t) {
        const Rect box{room.x0 + chips[t].x0 - scroll_, room.middle_y() - ui.px(12), room.x0 + chips[t].x1 - scroll_,
                       room.middle_y() + ui.px(12)};
        if (box.x1 < room.x0 || box.x0 > room.x1) continue;
        const auto at = static_cast<Index>(t);
        const bool under = mouse.hovered && box.holds(mouse.at);
        on_chip = on_chip || under;
        if (under && mouse.double_clicked) {
            mask_or_restore(scene, at);
        } else if (under && mouse.clicked && ImGui::GetIO().KeyCtrl && state.page == "attention") {
            Selection& selection = state.attention.selection;
            toggle(ImGui::GetIO().KeyShift ? selection.cols : selection.rows, at);
        } else if (under && mouse.clicked) {
            (ImGui::GetIO().KeyShift ? state.cell.j : state.cell.i) = at;
            state.locked = true;
            followed_ = state.cell;
        }
        ui.fill(box, theme.chip, 5);
        if (at == state.cell.i)
            ui.outline(box, theme.accent, 2, 5);
        else if (at == state.cell.j)
            ui.outline(box, theme.c2p, 2, 5);
        else if (under)
            ui.outline(box, theme.line, 1, 5);
        if (!scene.answer->behind[t].empty())
            draw_dashed(ui, {{box.x0 + ui.px(4), box.y1}, {box.x1 - ui.px(4), box.y1}}, theme.muted, ui.px(2), 3);
        if (under && !scene.answer->behind[t].empty())
            draw_tooltip(ui, {{{"[MASK] stands for ", theme.muted}, {scene.answer->behind[t], theme.text}},
                              {{"double click brings it back", theme.muted, Face::label}}});
        const Ui::Scrolled moved(ui);
        ui.text(box.middle_x(), box.middle_y(), scene.answer->labels[t],
                scene.answer->special[t] ? theme.muted : theme.text, Face::ui, Align::centre);
    }
    ui.draw().pop_clip();
    if (mouse.clicked && !on_chip) state.editing = true;
    const auto more = [&](float x, const char* arrow) {
        ui.text(x, room.middle_y(), arrow, theme.muted, Face::ui, Align::centre);
    };
    if (scroll_ > 0) more(room.x0 - ui.px(9), "\u2039");
    if (scroll_ < whole - room.width()) more(room.x1 + ui.px(12), "\u203a");
}

void SentenceBar::draw_box(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    std::string& text = edited_sentence(scene.state);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    ImGui::SetCursorScreenPos({room.x0, room.middle_y() - ImGui::GetFrameHeight() / 2});
    ImGui::SetNextItemWidth(room.width());
    if (focus_) ImGui::SetKeyboardFocusHere();
    ImGui::PushStyleColor(ImGuiCol_Border, ui.theme->accent);
    ui.fonts->require(text);
    const bool entered = ImGui::InputText("##text", &text, ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    const bool left = !focus_ && ImGui::IsItemDeactivated();
    if (entered || left) scene.state.editing = false;
}

}  // namespace locus
