// One line per side: which model, which sentence, which formulas, which numbers, where in the model.
#include <algorithm>
#include <filesystem>

#include "viewer/pages/compare/compare.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include

namespace locus {

namespace {

constexpr float kLine = 30, kGap = 6;  // design pixels

/// A box with a word and a mark that more is behind it; opens the popup `id` when clicked.
Rect draw_picker(const Ui& ui, const char* id, float x, float y, float width, const std::string& label, bool own) {
    const Rect box{x, y - ui.px(12), x + width, y + ui.px(12)};
    const Touch mouse = ui.touch(id, box);
    if (mouse.clicked) ImGui::OpenPopup(id);
    ui.fill(box, mouse.hovered ? ui.theme->chip : ui.theme->panel, 5);
    ui.outline(box, own ? ui.theme->accent : ui.theme->line, 1, 5);
    ui.text_within(box.x0 + ui.px(8), y, width - ui.px(26), label, ui.theme->text, Face::label);
    const float tip = box.x1 - ui.px(11);
    ui.draw().triangle({tip - ui.px(3.5f), y - ui.px(2)}, {tip + ui.px(3.5f), y - ui.px(2)}, {tip, y + ui.px(2.5f)},
                       ui.theme->muted);
    return box;
}

/// A popup below a box, in the viewer's own face; the entries are drawn by `fill`.
template <class Fill>
void draw_popup(const Ui& ui, const char* id, const Rect& box, Fill&& fill) {
    ImGui::SetNextWindowPos({box.x0, box.y1 + ui.px(4)});
    ImGui::SetNextWindowSizeConstraints({std::max(box.width(), ui.px(120)), 0}, {ui.px(420), ui.px(420)});
    for (const ImGuiCol each : {ImGuiCol_Header, ImGuiCol_HeaderHovered, ImGuiCol_HeaderActive})
        ImGui::PushStyleColor(each, ui.theme->chip);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    if (ImGui::BeginPopup(id)) {
        fill();
        ImGui::EndPopup();
    }
    ImGui::PopFont();
    ImGui::PopStyleColor(3);
}

/// A box to write in at the end of a popup; true once Enter is pressed, and the popup closes.
bool draw_box(const Ui& ui, const char* id, const char* hint, std::string& typed) {
    ImGui::SetNextItemWidth(ui.px(300));
    if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
    ui.fonts->require(typed);
    const bool entered = ImGui::InputTextWithHint(id, hint, &typed, ImGuiInputTextFlags_EnterReturnsTrue);
    if (entered) ImGui::CloseCurrentPopup();
    return entered;
}

std::string formulas_in_words(const CompareSide& side) {
    return side.mistake.empty() ? to_string(side.dialect) : "mistake " + side.mistake;
}

}  // namespace

float ComparePage::draw_sides(Scene& scene, const Rect& room) {
    if (scene.state.compare.report) return 0;
    const Ui& ui = scene.ui;
    for (std::size_t side = 0; side < 2; ++side)
        draw_side_line(scene, room, room.y0 + ui.px(22) + static_cast<float>(side) * ui.px(kLine), side);
    const float height = ui.px(12 + 2 * kLine);
    ui.hairline_across(room.x0, room.x1, room.y0 + height - ui.px(1));
    return height;
}

void ComparePage::draw_side_line(Scene& scene, const Rect& room, float y, std::size_t side) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    CompareSide& source = side == 0 ? state.a : state.b;
    const ImGuiID scope = side == 0 ? 1 : 2;
    const Ui::Group group(ui, side == 0 ? "of A" : "of B");
    ImGui::PushID(static_cast<int>(scope));
    float x = room.x0 + ui.px(16);
    ui.text(x, y, side == 0 ? "A" : "B", ui.theme->text, Face::title);
    x += ui.px(18);
    if (!source.file.empty()) {
        const float end = room.x1 - ui.px(16);
        const std::string label = "use the model";
        const float wide = ui.text_width(label) + ui.px(20);
        if (ui.button("model again", {end - wide, y - ui.px(12), end, y + ui.px(12)}, label)) source = {};
        ui.text_within(x, y, end - wide - ui.px(12) - x, source.file, ui.theme->text, Face::mono_small);
    } else {
        const float right = draw_place(scene, room.x1 - ui.px(16), y, side) - ui.px(12);
        const float model = ui.px(96), formulas = ui.px(108), numbers = ui.px(92), gap = ui.px(kGap);
        draw_model_picker(scene, x, y, model, source);
        x += model + gap;
        const float sentence = std::max(ui.px(60), right - x - formulas - numbers - 2 * gap);
        draw_sentence_picker(scene, x, y, sentence, source);
        x += sentence + gap;
        draw_formula_picker(scene, x, y, formulas, side);
        x += formulas + gap;
        draw_number_picker(scene, x, y, numbers, source);
    }
    ImGui::PopID();
}

void ComparePage::draw_model_picker(Scene& scene, float x, float y, float width, CompareSide& source) {
    const Ui& ui = scene.ui;
    const std::string folder = std::filesystem::path(source.model).filename().string();
    const std::string label = source.model.empty() ? scene.session.name() : folder.empty() ? source.model : folder;
    const Rect box = draw_picker(ui, "model", x, y, width, label, !source.model.empty());
    draw_popup(ui, "model", box, [&] {
        if (ImGui::IsWindowAppearing()) typed_ = source.model;
        if (draw_box(ui, "##folder", "folder of another DeBERTa, then Enter", typed_)) source.model = typed_;
        if (ImGui::Selectable(("the opened one: " + scene.session.name()).c_str(), source.model.empty()))
            source.model.clear();
    });
}

void ComparePage::draw_sentence_picker(Scene& scene, float x, float y, float width, CompareSide& source) {
    const Ui& ui = scene.ui;
    const std::string label = source.text.empty() ? "the sentence above" : source.text;
    const Rect box = draw_picker(ui, "sentence", x, y, width, label, !source.text.empty());
    draw_popup(ui, "sentence", box, [&] {
        if (ImGui::IsWindowAppearing()) typed_ = source.text;
        if (draw_box(ui, "##sentence", "a sentence of its own, then Enter", typed_)) source.text = typed_;
        if (ImGui::Selectable("the sentence above", source.text.empty())) source.text.clear();
    });
}

void ComparePage::draw_formula_picker(Scene& scene, float x, float y, float width, std::size_t side) {
    CompareState& state = scene.state.compare;
    CompareSide& source = side == 0 ? state.a : state.b;
    const Rect box = draw_picker(scene.ui, "formulas", x, y, width, formulas_in_words(source), false);
    draw_popup(scene.ui, "formulas", box, [&] {
        for (const Dialect dialect : {Dialect::paper, Dialect::official, Dialect::hf})
            if (ImGui::Selectable(to_string(dialect), dialect == source.dialect)) source.dialect = dialect;
        ImGui::Separator();
        if (!source.mistake.empty() && ImGui::Selectable("no mistake")) source.mistake.clear();
        if (side == 1 && ImGui::Selectable("a mistake of the bug zoo \u2026")) state.zoo = true;
    });
}

void ComparePage::draw_number_picker(Scene& scene, float x, float y, float width, CompareSide& source) {
    const std::string label = std::string(source.exact ? "f64" : "f32") + (source.gpu ? " \u00b7 GPU" : " \u00b7 CPU");
    const Rect box = draw_picker(scene.ui, "numbers", x, y, width, label, false);
    draw_popup(scene.ui, "numbers", box, [&] {
        if (ImGui::Selectable("f32, single precision", !source.exact)) source.exact = false;
        if (ImGui::Selectable("f64, double precision", source.exact)) source.exact = true;
        ImGui::Separator();
        if (ImGui::Selectable("on the CPU", !source.gpu)) source.gpu = false;
        if (ImGui::Selectable("on the GPU (CUDA)", source.gpu)) source.gpu = true;
    });
}

/// Layer and head at the right end of a line; returns where they begin.
float ComparePage::draw_place(Scene& scene, float right, float y, std::size_t side) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    CompareSide& source = side == 0 ? state.a : state.b;
    const Index layers = scene.session.config().num_hidden_layers, first = layer_of(state.stage);
    if (first < 0) return right;
    Index layer = source.layer < 0 ? first : source.layer;
    Index head = std::min(side == 0 ? state.head : state.head_of_b(), std::max<Index>(1, sheets_.heads) - 1);
    const Index layer_before = layer, head_before = head;
    float left = right;
    if (sheets_.heads > 1) {
        left = ui.layer_and_head(right, y, layers, layer, sheets_.heads, head);
    } else {
        left = ui.stepper("layer", right, y, std::to_string(layer), layer, 0, layers - 1) - ui.px(6);
        left -= ui.text(left, y, "layer", ui.theme->muted, Face::ui, Align::right);
    }
    if (layer != layer_before && side == 0) state.stage = at_layer(state.stage, layer);
    if (layer != layer_before && side == 1) source.layer = layer == first ? -1 : layer;
    if (head != head_before && side == 0) state.head = head;
    if (head != head_before && side == 1) state.other_head = head == state.head ? -1 : head;
    return left;
}

}  // namespace locus
