// locus view: a window that draws every term, or one picture of it.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

#include "core/cli/program.h"
#include "viewer/app.h"
#include "viewer/automation/automation.h"
#include "viewer/data/stand_in.h"
#include "viewer/options.h"
#include "viewer/state/state_fields.h"

#if defined(__SANITIZE_ADDRESS__)
/// The system's OpenGL driver is unloaded before leaks are looked for, so what it leaks bears no name that could be
/// left out.  The tests of the pages, which need no driver, look for leaks.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace {

using namespace locus;

/// The display is gone: what is remembered is written, and the program ends here, inside the platform's code.
[[noreturn]] void leave_without_display(App* app) {
    if (app) app->save_settings();
    std::cerr << "locus view: the display went away; the settings are kept" << std::endl;
    std::_Exit(static_cast<int>(Fault::unreadable));
}

void run_window(const DebertaSession& session, State state, const Options& options) {
    // The only place that reads the environment; pictures, scripts and measurements never do.
    const auto folder = settings_folder(std::getenv("XDG_CONFIG_HOME"), std::getenv("HOME"));
    const Settings known = folder ? SettingsFile(*folder).peek() : Settings{};
    recall(known, options, state);
    App* running = nullptr;
    WindowSetup setup{"Locus", options.width, options.height, false};
    if (!options.size) setup.place = known.window;
    setup.lost = [&running] { leave_without_display(running); };
    Window window(setup);
    App app(window, session, std::move(state));
    running = &app;
    if (folder) app.keep_settings(SettingsFile(*folder));
    run_loop(window, app);
    app.save_settings();
}

void write_files(const cli::Command& program, const DebertaSession& session, State state, const Options& options) {
    Window window({"Locus", options.width, options.height, true});
    App app(window, session, std::move(state));
    settle(window, app);
    if (const auto refusal = app.nothing_compared()) throw *refusal;
    // A part of the screen may leave out the bar that says it, and a file of numbers has no place for it.
    if (const auto stand_in = stand_in_of(app.state())) cli::say(program, stand_in->sentence());
    check_kept(options, app.state());
    for (const std::string& note : without_effect(options, app.state().page)) cli::say(program, note);
    if (options.screenshot) app.save_picture(*options.screenshot);
    for (const ExportRequest& request : export_requests(options)) app.export_file(request);
}

/// What the script says of the window and the model, unless the command line says it.
void take_over(const cli::Command& program, const Script& script, Options& options) {
    if (script.size && !options.size) options.size = script.size;
    if (script.scale && !program.given("--scale")) options.scale = *script.scale;
    if (script.model && !program.given("model")) options.model = *script.model;
}

/// Status 1 where something else is seen than the script expects.
int run_script(const cli::Command& program, const DebertaSession& session, State state, const Options& options,
               const Script& script) {
    Window window({"Locus", options.width, options.height, !options.window});
    App viewer(window, session, std::move(state));
    const auto print = [](const std::string& line) { std::cout << line << '\n'; };
    const std::optional<std::string> mismatch = play_script(script, window, viewer, options.window, print);
    if (mismatch) cli::say(program, *mismatch);
    return mismatch ? 1 : 0;
}

/// Status 1 where something was wrong.
int run_monkey(const cli::Command& program, const DebertaSession& session, State state, const Options& options) {
    Window window({"Locus", options.width, options.height, true});
    App viewer(window, session, std::move(state));
    const MonkeyReport report =
        let_monkey_play({*options.monkey, options.actions, options.monkey_pages}, window, viewer);
    std::cout << report.summary << '\n';
    if (report.fault) cli::say(program, *report.fault);
    return report.fault ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    cli::Command program(
        "Draws every term of position-aware attention.\n"
        "  locus view\n"
        "  locus view --model path/to/model --text \"the capital of france is [MASK].\" --layer 2 --head 3\n"
        "  locus view --report report.json\n"
        "  locus view --compare my-port.safetensors --text \"the capital of france is [MASK].\"",
        "locus view");
    Options options;
    add_options(program, options);
    return cli::run_program(program, argc, argv, [&] {
        if (options.list_pages) {
            for (const PageName& page : page_names()) std::cout << page.name << '\n';
            return 0;
        }
        std::optional<Script> script;
        if (options.script) {
            script = read_script(*options.script);
            take_over(program, *script, options);
        }
        State state = state_of(options);
        export_requests(options);  // refused before anything is opened
        check_written(options);
        open_sources(options, state);
        if (!state.wanted_model.empty()) options.model = std::exchange(state.wanted_model, {});
        state.model = place_model(options, state);
        if (options.list_fields) {
            for (const StateField& field : state_fields()) std::cout << field.name << '=' << field.get(state) << '\n';
            return 0;
        }
        const DebertaSession session(state.model);
        fit_to_model(options, session, state);
        if (script) return run_script(program, session, std::move(state), options, *script);
        if (options.monkey) return run_monkey(program, session, std::move(state), options);
        if (options.bench)
            std::cout << run_bench(session, state, options.width, options.height) << '\n';
        else if (options.screenshot || !options.exports.empty())
            write_files(program, session, std::move(state), options);
        else
            run_window(session, std::move(state), options);
        return 0;
    });
}
