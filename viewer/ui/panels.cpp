// Top bar and page rail; the sentence; the tour.
#include "viewer/ui/panels.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include
#include <algorithm>

#include "viewer/data/model_session.h"
#include "viewer/data/stand_in.h"
#include "viewer/plots/line_plot.h"
#include "viewer/ui/ui.h"

namespace locus {

namespace {

/// A key as it is printed on a keyboard.  Returns the left end.
float key_cap(const Ui& ui, float right, float y, const std::string& label) {
    const float width = ui.text_width(label, Face::mono) + ui.px(14);
    const Rect box{right - width, y - ui.px(11), right, y + ui.px(11)};
    ui.outline(box, ui.theme->line, 1, 5);
    ui.text(box.middle_x(), y, label, ui.theme->muted, Face::mono, Align::centre);
    return box.x0;
}

float model_chip(const Ui& ui, const ModelCard& card, float x, float y) {
    const std::string name = ui.cut(card.name, ui.px(220)), size = card.size;
    const float width = ui.text_width(name) + ui.text_width(" " + size) + ui.px(20);
    const Rect box{x, y - ui.px(13), x + width, y + ui.px(13)};
    ui.outline(box, ui.theme->line, 1, 5);
    const float after = box.x0 + ui.px(10) + ui.text(box.x0 + ui.px(10), y, name, ui.theme->text);
    ui.text(after, y, " " + size, ui.theme->muted);
    return box.x1;
}

void draw_stand_in(const Ui& ui, const StandIn& stand_in, const Rect& place) {
    ui.fill({place.x0, place.y0 + ui.px(7), place.x0 + ui.px(2), place.y1 - ui.px(7)}, ui.theme->fault);
    const float x = place.x0 + ui.px(10), y = place.middle_y(), width = place.x1 - x;
    StandIn shortened = stand_in;  // of the whole line the name alone may lose its end
    shortened.opened = ui.cut(stand_in.opened, width * 0.4f, Face::label);
    ui.text_within(x, y - ui.px(8), width, shortened.reason(), ui.theme->text, Face::label);
    ui.text_within(x, y + ui.px(8), width, stand_in.result(), ui.theme->text, Face::label);
    if (ui.touch("stand in", place).hovered)
        draw_tooltip(ui, {{{stand_in.reason(), ui.theme->text}}, {{stand_in.result(), ui.theme->muted}}});
}

}  // namespace

void draw_top_bar(Scene& scene, const ModelCard& card, bool dialects, const Rect& bar) {
    const Ui& ui = scene.ui;
    const float y = bar.middle_y();
    float x = bar.x0 + ui.px(16);
    x += ui.text(x, y, "Locus", ui.theme->text, Face::brand) + ui.px(12);
    x = model_chip(ui, card, x, y) + ui.px(12);
    constexpr Dialect kDialects[] = {Dialect::paper, Dialect::official, Dialect::hf};
    std::size_t chosen = 0;
    while (kDialects[chosen] != scene.state.dialect) ++chosen;
    if (dialects) x = ui.choice("dialect", x, y, {"paper", "official", "hf"}, chosen);
    scene.state.dialect = kDialects[chosen];

    float right = bar.x1 - ui.px(16);
    const auto command = [&](const char* id, const std::string& label, const std::string& key, bool& open) {
        const float end = right;
        right = key_cap(ui, right, y, key) - ui.px(6);
        right -= ui.text(right, y, label, ui.theme->muted, Face::ui, Align::right);
        if (ui.touch(id, {right, bar.y0, end, bar.y1}).clicked) open = true;
        right -= ui.px(14);
    };
    command("keys", "Keys", "?", scene.state.key_overlay);
    command("commands", "Commands", "Ctrl P", scene.state.palette);
    if (const auto stand_in = stand_in_of(scene.state))
        draw_stand_in(ui, *stand_in, {x + ui.px(16), bar.y0, right, bar.y1});
}

void draw_rail(Scene& scene, const Rect& rail, const std::vector<std::unique_ptr<Page>>& pages) {
    const Ui& ui = scene.ui;
    float y = rail.y0 + ui.px(27);
    for (const auto& page : pages) {
        const Rect box{rail.x0 + ui.px(8), y - ui.px(15), rail.x1 - ui.px(9), y + ui.px(15)};
        const bool chosen = scene.state.page == page->name();
        const Touch mouse = ui.touch(page->name(), box);
        if (mouse.clicked) scene.state.page = page->name();
        if (chosen) ui.fill(box, ui.theme->chip, 6);
        ui.text(box.x0 + ui.px(10), y, page->title(),
                chosen || mouse.hovered ? ui.theme->text : faded(ui.theme->text, 0.85f),
                chosen ? Face::title : Face::ui);
        ui.text(box.x1 - ui.px(7), y, std::string(1, page->key()), ui.theme->muted, Face::mono_small, Align::right);
        y += ui.px(32);
    }
}

// The sentence: chips to look at and choose from, a text box to write in.

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

/// A piece that the model does not read as it is written.
void draw_unknown_chip(const Ui& ui, const Rect& box, bool hovered) {
    const Rect edge = box.inset(ui.px(1), ui.px(1));
    draw_dashed(ui, {edge.min(), {edge.x1, edge.y0}, edge.max(), {edge.x0, edge.y1}, edge.min()}, ui.theme->muted,
                ui.px(1), 3);
    if (hovered)
        draw_tooltip(ui, {{{"the vocabulary does not have this", ui.theme->text}},
                          {{"the model reads [UNK] in its place, as for every such piece", ui.theme->muted}}});
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
    const Rect area{bar.x0 + ui.px(16), bar.y0, right - ui.px(28), bar.y1};
    if (scene.state.editing)
        draw_box(scene, area);
    else
        draw_chips(scene, area);
    focus_ = !scene.state.editing;
}

void SentenceBar::click(Scene& scene, Index token, const Touch& mouse) {
    State& state = scene.state;
    const bool shift = ImGui::GetIO().KeyShift;
    if (mouse.double_clicked) {
        mask_or_restore(scene, token);
    } else if (mouse.clicked && ImGui::GetIO().KeyCtrl && state.page == "attention") {
        Selection& selection = state.attention.selection;
        toggle(shift ? selection.cols : selection.rows, token);
    } else if (mouse.clicked) {
        (shift ? state.cell.j : state.cell.i) = token;
        state.locked = true;
        followed_ = state.cell;
    }
}

void SentenceBar::draw_chips(Scene& scene, const Rect& area) {
    if (!scene.answer) return;
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    State& state = scene.state;
    const std::vector<Chip> chips = lay_out(ui, *scene.answer);
    const float whole = chips.empty() ? 0 : chips.back().x1;
    const auto reveal = [&](Index t) {
        if (t < 0 || t >= static_cast<Index>(chips.size())) return;
        const Chip& chip = chips[static_cast<std::size_t>(t)];
        scroll_ = std::clamp(scroll_, chip.x1 - area.width() + ui.px(24), chip.x0 - ui.px(24));
    };
    if (followed_ != state.cell) {
        reveal(state.cell.j);
        reveal(state.cell.i);
        followed_ = state.cell;
    }
    const Touch mouse = ui.touch("sentence", {area.x0, area.y0 + ui.px(8), area.x1, area.y1 - ui.px(8)});
    if (mouse.hovered) scroll_ -= Ui::scrolled_by(ui.px(60), true);
    scroll_ = std::clamp(scroll_, 0.0f, std::max(0.0f, whole - area.width()));

    ui.draw().push_clip({area.x0 - ui.px(1), area.y0}, {area.x1 + ui.px(1), area.y1});
    bool on_chip = false;
    for (std::size_t t = 0; t < chips.size(); ++t) {
        const Rect box{area.x0 + chips[t].x0 - scroll_, area.middle_y() - ui.px(12), area.x0 + chips[t].x1 - scroll_,
                       area.middle_y() + ui.px(12)};
        if (box.x1 < area.x0 || box.x0 > area.x1) continue;
        const auto at = static_cast<Index>(t);
        const bool under = mouse.hovered && box.holds(mouse.at);
        on_chip = on_chip || under;
        if (under) click(scene, at, mouse);
        ui.fill(box, theme.chip, 5);
        if (at == state.cell.i)
            ui.outline(box, theme.accent, 2, 5);
        else if (at == state.cell.j)
            ui.outline(box, theme.c2p, 2, 5);
        else if (under)
            ui.outline(box, theme.line, 1, 5);
        if (!scene.answer->behind[t].empty())
            draw_dashed(ui, {{box.x0 + ui.px(4), box.y1}, {box.x1 - ui.px(4), box.y1}}, theme.muted, ui.px(2), 3);
        const bool unknown = scene.answer->unknown[t];
        if (unknown) draw_unknown_chip(ui, box, under);
        if (under && !scene.answer->behind[t].empty())
            draw_tooltip(ui, {{{"[MASK] stands for ", theme.muted}, {scene.answer->behind[t], theme.text}},
                              {{"double click brings it back", theme.muted, Face::label}}});
        const Ui::Scrolled moved(ui);
        ui.text(box.middle_x(), box.middle_y(), scene.answer->labels[t],
                scene.answer->special[t] || unknown ? theme.muted : theme.text, Face::ui, Align::centre);
    }
    ui.draw().pop_clip();
    if (mouse.clicked && !on_chip) state.editing = true;
    const auto more = [&](float x, const char* arrow) {
        ui.text(x, area.middle_y(), arrow, theme.muted, Face::ui, Align::centre);
    };
    if (scroll_ > 0) more(area.x0 - ui.px(9), "\u2039");
    if (scroll_ < whole - area.width()) more(area.x1 + ui.px(12), "\u203a");
}

void SentenceBar::draw_box(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    std::string& text = edited_sentence(scene.state);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    ImGui::SetCursorScreenPos({area.x0, area.middle_y() - ImGui::GetFrameHeight() / 2});
    ImGui::SetNextItemWidth(area.width());
    if (focus_) ImGui::SetKeyboardFocusHere();
    ImGui::PushStyleColor(ImGuiCol_Border, ui.theme->accent);
    ui.fonts->require(text);
    const bool entered = ImGui::InputText("##text", &text, ImGuiInputTextFlags_EnterReturnsTrue);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    const bool left = !focus_ && ImGui::IsItemDeactivated();
    if (entered || left) scene.state.editing = false;
}

// One sentence of the tour at the bottom, and its buttons.

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
