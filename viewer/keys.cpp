// What the keyboard does on every page: it looks the key up among the actions.
#include "viewer/app.h"

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
    if (!command.id.empty()) remember(state_.recent_commands, command.id, kRecentCommands);
    by_hand_ = true;
    if (command.change) command.change(state_);
    if (!command.action) return;
    if (!command.action->page.empty()) state_.page = command.action->page;
    if (!perform(*command.action)) given_ = key_named(command.action->key);
}

void App::travel(bool back) {
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
    const bool above = state_.palette || state_.key_sheet || state_.editing;
    if (press.key == Key::escape && !above && (stop_work() || toasts_.dismiss())) return;
    if (state_.palette) palette_.press(press);
    const NamedAction* action = action_of(press, state_.page);
    const bool anywhere = press.key == Key::escape || press.key == Key::f12;
    // The text box and the list read the keyboard themselves: letters, and undo of what is written.
    const bool writes = state_.editing || state_.palette;
    const bool of_box = action && (action->id == "undo" || action->id == "redo");
    if (writes && !anywhere && (!press.ctrl || of_box)) return;
    if (state_.key_sheet && !anywhere && !press.ctrl) {
        state_.key_sheet = false;
        return;
    }
    if (!action || perform(*action)) return;
    Page& shown = page();
    Scene scene = scene_for(ui, shown);
    if (shown.ready()) shown.press(scene, press);
}

}  // namespace locus
