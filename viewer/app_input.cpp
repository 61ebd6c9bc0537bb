// What comes from outside: keys, which are looked up among the actions; dropped files; the settings of earlier days.
#include "viewer/app.h"
#include "viewer/ui/popup.h"

namespace locus {

ActionScope App::action_scope() {
    const DebertaConfig& config = session_->config();
    return {state_, config.num_hidden_layers, config.num_attention_heads};
}

bool App::perform(const NamedAction& action) {
    if (!action.run) return false;
    ActionScope scope = action_scope();
    if (!action.run(scope)) return false;
    close_ = close_ || scope.close;
    save_ = save_ || scope.save;
    if (scope.undo || scope.redo) travel(scope.undo);
    return true;
}

void App::perform(const Command& command) {
    if (!command.id.empty()) remember(state_.recent.commands, command.id, kRecentCommands);
    by_hand_ = true;
    if (command.change) command.change(state_);
    if (!command.action) return;
    if (!command.action->page.empty()) state_.page = command.action->page;
    if (!perform(*command.action)) given_ = key_named(command.action->key);
}

void App::travel(bool back) {
    travelled_ = true;
    std::optional<State> then = back ? history_.undo(state_) : history_.redo(state_);
    if (!then) {
        state_.refusal = back ? "There is nothing to undo." : "There is nothing to redo.";
        return;
    }
    if (then->wanted_model.empty())
        state_ = std::move(*then);
    else {  // its layers and heads are the other model's: they wait for it
        state_.wanted_model = then->wanted_model;
        waiting_ = std::move(*then);
    }
}

void App::take_keys(Ui& ui) {
    for (const KeyPress& press : window_.take_keys()) {
        by_hand_ = true;
        take_key(ui, press);
    }
    if (!given_) return;
    // A page takes the key of a command once it has something to show.
    Page& shown = page();
    Scene scene = scene_for(ui, shown);
    if (shown.needs_answer() && !scene.answer && error_.empty()) return;
    by_hand_ = true;
    const KeyPress press = *std::exchange(given_, std::nullopt);
    if (shown.ready()) shown.press(scene, press);
}

void App::take_key(Ui& ui, const KeyPress& press) {
    if (press.key == Key::escape && is_popup_open()) return;
    const bool sheets = state_.palette || state_.key_overlay || state_.exports.open;
    const bool anywhere = press.key == Key::escape || press.key == Key::f12;
    if (press.key == Key::escape && !sheets && !state_.editing && (stop_work() || toasts_.dismiss())) return;
    if (state_.palette) palette_.press(press);
    Page& shown = page();
    Scene scene = scene_for(ui, shown);
    if (state_.exports.open) export_overlay_.press(scene, press);
    // A tour takes Enter for itself, whatever the page does with it.
    const bool tours = state_.tour.step >= 0 && press.key == Key::enter;
    const NamedAction* action = action_of(press, tours ? std::string() : state_.page);
    // The text box and the list read the keyboard themselves: letters, and undo and copies of what is written.
    const bool writes = state_.editing || state_.palette || state_.exports.open || ImGui::GetIO().WantTextInput;
    const bool of_box = action && (action->id == "undo" || action->id == "redo" || !action->page.empty());
    if (writes && !anywhere && (!press.ctrl || of_box)) return;
    if (state_.key_overlay && !anywhere && !press.ctrl) {
        state_.key_overlay = false;
        return;
    }
    if (!action || perform(*action)) return;
    if (shown.ready()) shown.press(scene, press);
}

// Dropped files and remembered settings.

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
    } catch (const std::bad_alloc&) {
        state_.refusal = dropped.path.string() + " needs more memory than there is, expected a smaller file";
    }
    // Several may come at once; each says what became of it.
    toasts_.add(std::exchange(state_.notice, {}), false, now());
    toasts_.add(std::exchange(state_.refusal, {}), true, now());
}

void App::keep_settings(SettingsFile file) {
    std::string problem;
    const Settings known = file.read(problem);
    toasts_.add(problem, true, now());
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
