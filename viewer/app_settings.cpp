// The frame and the desktop around it: what is dropped on it, what it remembers.
#include "viewer/app.h"

namespace locus {

void App::exchange_drops() {
    for (const std::filesystem::path& path : window_.take_drops()) state_.dropped.push_back(path.string());
    if (!state_.dropped.empty()) observer_.submit(std::exchange(state_.dropped, {}));
    const auto looked = observer_.take();
    if (!looked) return;
    by_hand_ = true;
    for (const Dropped& dropped : *looked) show(dropped);
}

void App::show(const Dropped& dropped) {
    try {
        show_dropped(dropped, state_);
    } catch (const Error& error) {  // it changed since it was looked at
        state_.refusal = error.what();
    }
    // Several may come at once; each says what became of it.
    toasts_.add(std::exchange(state_.notice, {}), false, now());
    toasts_.add(std::exchange(state_.refusal, {}), true, now());
}

void App::keep_settings(SettingsFile file) {
    std::string trouble;
    const Settings known = file.read(trouble);
    toasts_.add(trouble, true, now());
    state_.recent.models = known.recent;
    state_.recent.commands = known.commands;
    remember(state_.recent.models, lasting_name(state_.model), kRecentModels);
    place_ = known.window;
    keeper_.emplace(std::move(file), known);
}

Settings App::settings() const {
    Settings settings;
    settings.recent = state_.recent.models;
    settings.commands = state_.recent.commands;
    settings.theme = kThemeNames[static_cast<std::size_t>(state_.theme)];
    settings.zoom = static_cast<double>(state_.zoom);
    settings.reduce_motion = state_.reduce_motion;
    settings.window = place_;
    return settings;
}

void App::exchange_settings() {
    if (!keeper_) return;
    if (const auto place = window_.place()) place_ = place;
    toasts_.add(keeper_->keep(settings(), now()), true, now());
}

void App::save_settings() {
    if (keeper_) keeper_->keep_at_once(settings());
}

bool App::used_by_hand() const {
    const ImGuiIO& io = ImGui::GetIO();
    bool released = false;
    for (const bool button : io.MouseReleased) released = released || button;
    return released || ImGui::IsAnyMouseDown() || io.MouseWheel != 0;
}

}  // namespace locus
