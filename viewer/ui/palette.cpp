// Commands by name: type a few letters, Enter does the chosen one.
#include <algorithm>

#include "viewer/ui/overlay.h"
#include "viewer/ui/panels_layout.h"

#include <imgui_stdlib.h>  // after imgui.h, which it does not include

namespace locus {

namespace {

constexpr std::size_t kShown = 12;
constexpr const char* kHint = "action, page, token, layer 3 head 2, go 3,5 \u2026";

CommandScope scope_of(const Scene& scene) {
    const DebertaConfig& config = scene.session.config();
    CommandScope scope{config.num_hidden_layers, config.num_attention_heads, {}, {}};
    if (!scene.answer) return scope;
    scope.labels = scene.answer->labels;
    scope.stages = scene.answer->compare.stages;
    return scope;
}

}  // namespace

std::optional<Command> Palette::draw(Scene& scene, const Rect& screen) {
    const Ui& ui = scene.ui;
    std::vector<Command> found = find_commands(scene.state, scope_of(scene), typed_);
    const std::size_t all = found.size();
    if (found.size() > kShown) found.resize(kShown);

    const float width = std::min(ui.px(560), screen.width() - ui.px(32)), pitch = ui.px(28), pad = ui.px(12);
    const float top = screen.y0 + std::min(ui.px(110), screen.height() / 8);
    const float height = ui.px(52) + pitch * static_cast<float>(std::max<std::size_t>(1, found.size())) +
                         (all > kShown ? pitch : 0) + pad;
    const Rect box{screen.middle_x() - width / 2, top, screen.middle_x() + width / 2, top + height};
    const Sheet sheet(ui, screen, box);
    ImGui::PushFont(ui.fonts->font(Face::ui));
    ImGui::SetCursorScreenPos({box.x0 + pad, box.y0 + pad});
    ImGui::SetNextItemWidth(width - 2 * pad);
    if (!open_) ImGui::SetKeyboardFocusHere();
    ui.fonts->require(typed_);
    ui.fonts->require(kHint);
    const std::string before = typed_;
    const bool entered = ImGui::InputTextWithHint("##command", kHint, &typed_, ImGuiInputTextFlags_EnterReturnsTrue);
    if (typed_ != before) chosen_ = 0;
    ImGui::PopFont();
    chosen_ = std::min(chosen_, found.empty() ? 0 : found.size() - 1);

    float y = box.y0 + ui.px(52) + pitch / 2;
    if (found.empty()) ui.text(box.x0 + ui.px(22), y, "nothing of that name", ui.theme->muted);
    std::optional<std::size_t> run;
    const Ui::Group group(ui, "palette");
    for (std::size_t n = 0; n < found.size(); ++n, y += pitch) {
        const Rect line{box.x0 + pad, y - pitch / 2, box.x1 - pad, y + pitch / 2};
        if (n == chosen_) ui.fill(line, ui.theme->chip, 5);
        if (ui.touch(found[n].title.c_str(), line).clicked) run = n;
        const float key =
            ui.text(line.x1 - ui.px(10), y, found[n].key, ui.theme->muted, Face::mono_small, Align::right);
        ui.text_within(line.x0 + ui.px(10), y, line.width() - ui.px(36) - key, found[n].title, ui.theme->text);
    }
    if (all > kShown)
        ui.text(box.x0 + ui.px(22), y, std::to_string(all - kShown) + " more: go on typing", ui.theme->muted,
                Face::label);
    // Enter also comes as a key: one that is pressed and let go within a frame is lost to the box.
    if ((entered || entered_) && !found.empty()) run = chosen_;
    entered_ = false;
    open_ = !entered;  // the box lets go of the keyboard on Enter: it takes it back while the list is open
    if (!run) return std::nullopt;
    close(scene.state);
    return found[*run];
}

void Palette::press(const KeyPress& press) {
    if (press.key == Key::enter) entered_ = true;
    if (press.key == Key::down) ++chosen_;
    if (press.key == Key::up && chosen_ > 0) --chosen_;
}

void Palette::close(State& state) {
    state.palette = false;
    open_ = entered_ = false;
    typed_.clear();
    chosen_ = 0;
}

}  // namespace locus
