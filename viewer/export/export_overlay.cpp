#include "viewer/export/export_overlay.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "viewer/ui/overlays.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include

namespace locus {

namespace {

constexpr std::array<const char*, 5> kRowNames = {"what", "as", "size", "background", "file"};
constexpr std::array<int, 3> kPixels = {1, 2, 4};

}  // namespace

void ExportOverlay::look_at(Scene& scene, Page& page) {
    if (open_) return;
    open_ = focus_ = true;
    regions_ = {"page", "screen", "layer"};
    const Trace* layer = page.layer_trace(scene);
    if (!layer || layer->stages().empty()) regions_.pop_back();
    for (const NamedMatrix& matrix : page.numbers(scene)) regions_.push_back(matrix.id);
    ExportChoice& choice = scene.state.exports;
    choice.region = std::min(choice.region, regions_.size() - 1);
    choice.name.clear();
}

std::string ExportOverlay::region(const ExportChoice& choice) const {
    return regions_.at(std::min(choice.region, regions_.size() - 1));
}

bool ExportOverlay::applies(const ExportChoice& choice, std::size_t row) const {
    const auto chosen = static_cast<ExportFormat>(choice.format);
    return row == pixels ? chosen == ExportFormat::png : row != background || is_picture(chosen);
}

std::string ExportOverlay::suggested(const State& state) const {
    const ExportChoice& choice = state.exports;
    const std::string part = region(choice), ending = to_string(static_cast<ExportFormat>(choice.format));
    return "locus-" + state.page + (part == "page" ? "" : "-" + part) + "." + ending;
}

void ExportOverlay::draw(Scene& scene, Page& page, const Rect& screen) {
    const Ui& ui = scene.ui;
    ExportChoice& choice = scene.state.exports;
    look_at(scene, page);
    const float width = ui.px(600), pitch = ui.px(36), pad = ui.px(20);
    const float height = pad * 2 + pitch * (static_cast<float>(rows) + 2.8f);
    const Rect box{screen.middle_x() - width / 2, screen.y0 + ui.px(110), screen.middle_x() + width / 2,
                   screen.y0 + ui.px(110) + height};
    const Overlay sheet(ui, screen, box);
    float y = box.y0 + pad + ui.px(6);
    ui.text(box.x0 + pad, y, "Export", ui.theme->text, Face::title);
    for (std::size_t row = 0; row < rows; ++row) {
        y += pitch;
        const Rect line{box.x0 + ui.px(10), y - pitch / 2 + ui.px(2), box.x1 - ui.px(10), y + pitch / 2 - ui.px(2)};
        if (row == choice.row) ui.fill(line, ui.theme->chip, 5);
        ui.text(box.x0 + pad, y, kRowNames[row], ui.theme->muted);
        draw_row(scene, row, box.x0 + ui.px(130), y, box.x1 - pad - box.x0 - ui.px(130));
    }
    y += pitch * 1.2f;
    const std::string folder = choice.folder.empty() ? std::filesystem::current_path().string() : choice.folder;
    ui.text_within(box.x0 + pad, y, width - 2 * pad,
                   "into " + folder + "; an existing file is kept, the new one gets a number", ui.theme->muted,
                   Face::label);
    y += pitch;
    if (ui.button("write", {box.x1 - pad - ui.px(90), y - ui.px(13), box.x1 - pad, y + ui.px(13)}, "Save", true))
        write(scene.state);
    if (ui.button("cancel", {box.x1 - pad - ui.px(190), y - ui.px(13), box.x1 - pad - ui.px(100), y + ui.px(13)},
                  "Cancel"))
        choice.open = false;
    ui.text(box.x0 + pad, y, "\u2191 \u2193 choose, \u2190 \u2192 change, Enter saves, Esc closes", ui.theme->muted,
            Face::label);
}

void ExportOverlay::draw_row(Scene& scene, std::size_t row, float x, float y, float width) {
    const Ui& ui = scene.ui;
    ExportChoice& choice = scene.state.exports;
    std::size_t chosen = 0;
    if (!applies(choice, row)) {
        ui.text(x, y, row == pixels ? "of PNG alone" : "of pictures alone", ui.theme->muted);
    } else if (row == what) {
        auto at = static_cast<Index>(std::min(choice.region, regions_.size() - 1));
        float area = 0;
        for (const std::string& name : regions_) area = std::max(area, ui.text_width(name, Face::mono) + ui.px(4));
        ui.stepper("region", x + area + ui.px(40), y, regions_[static_cast<std::size_t>(at)], at, 0,
                   static_cast<Index>(regions_.size()) - 1, area);
        choice.region = static_cast<std::size_t>(at);
    } else if (row == format) {
        ui.choice("format", x, y, {"PNG", "SVG", "CSV", "npy", "safetensors"}, choice.format);
    } else if (row == pixels) {
        ui.choice("pixels", x, y, {"1\u00d7", "2\u00d7", "4\u00d7"}, choice.pixels);
    } else if (row == background) {
        chosen = choice.transparent ? 1 : 0;
        ui.choice("background", x, y, {"as on screen", "transparent"}, chosen);
        choice.transparent = chosen == 1;
    } else {
        draw_file(scene, x, y, width);
    }
}

void ExportOverlay::draw_file(Scene& scene, float x, float y, float width) {
    const Ui& ui = scene.ui;
    ExportChoice& choice = scene.state.exports;
    std::string shown = choice.name.empty() ? suggested(scene.state) : choice.name;
    ui.fonts->require(shown);
    const Rect box{x, y - ui.px(14), x + width, y + ui.px(14)};
    if (choice.row != file) {
        ui.text_within(x, y, width, shown, ui.theme->text, Face::mono);
        if (ui.touch("file", box).clicked) {
            choice.row = file;
            focus_ = true;
        }
        return;
    }
    ImGui::PushFont(ui.fonts->font(Face::mono));
    ImGui::SetCursorScreenPos({x, y - ui.px(14)});
    ImGui::SetNextItemWidth(width);
    if (focus_) ImGui::SetKeyboardFocusHere();
    focus_ = false;
    if (ImGui::InputText("##file", &shown)) choice.name = shown;
    ImGui::PopFont();
}

void ExportOverlay::press(Scene& scene, const KeyPress& press) {
    ExportChoice& choice = scene.state.exports;
    if (regions_.empty()) return;
    const auto turn = [](std::size_t& value, std::size_t count, bool forth) {
        value = (value + (forth ? 1 : count - 1)) % count;
    };
    if (press.key == Key::enter) return write(scene.state);
    if (press.key == Key::down || press.key == Key::up || press.key == Key::tab) {
        do {
            turn(choice.row, rows, press.key != Key::up);
        } while (!applies(choice, choice.row));
        focus_ = choice.row == file;
    }
    if (press.key != Key::left && press.key != Key::right) return;
    const bool forth = press.key == Key::right;
    if (choice.row == what) turn(choice.region, regions_.size(), forth);
    if (choice.row == format) turn(choice.format, 5, forth);
    if (choice.row == pixels) turn(choice.pixels, kPixels.size(), forth);
    if (choice.row == background) choice.transparent = !choice.transparent;
}

void ExportOverlay::write(State& state) const {
    ExportChoice& choice = state.exports;
    const std::filesystem::path name = choice.name.empty() ? suggested(state) : choice.name;
    ExportRequest request;
    request.file =
        (choice.folder.empty() ? std::filesystem::current_path() : std::filesystem::path(choice.folder)) / name;
    // A name that the user wrote has an ending of its own, or takes the chosen one.
    const std::string ending = to_string(static_cast<ExportFormat>(choice.format));
    if (request.file.extension() != "." + ending) request.file += "." + ending;
    request.region = region(choice);
    request.pixels = applies(choice, pixels) ? kPixels[choice.pixels] : 1;
    request.transparent = applies(choice, background) && choice.transparent;
    request.replaces = false;
    choice.wanted = std::move(request);
    choice.open = false;
}

}  // namespace locus
