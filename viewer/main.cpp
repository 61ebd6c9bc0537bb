// locus view: a window that draws every term, or one picture of it.
#include <CLI/CLI.hpp>

#include <iostream>

#include "core/cli/program.h"
#include "viewer/app.h"
#include "viewer/bench.h"
#include "viewer/options.h"

namespace {

using namespace locus;

constexpr int kFramesAfterInput = 3;  // Dear ImGui needs a frame to notice the pointer and one to answer it

void run_window(const Session& session, State state, const Options& options) {
    Window window({"Locus", options.width, options.height, false});
    App app(window, session, std::move(state));
    int frames = kFramesAfterInput;
    while (!window.should_close() && !app.wants_to_close()) {
        // Nothing moves by itself, so nothing is drawn until something happens; a caret blinks.
        window.wait(frames > 0 ? 0 : app.state().editing ? 0.25 : 3600);
        if (window.take_activity()) frames = kFramesAfterInput;
        if (frames > 0 || app.state().editing || !app.settled()) {
            frames = std::max(0, frames - 1);
            app.draw_frame();
        }
    }
}

void take_screenshot(const Session& session, State state, const Options& options) {
    Window window({"Locus", options.width, options.height, true});
    App app(window, session, std::move(state));
    int still = 0;  // frames since everything was there
    while (still < kFramesAfterInput) {
        window.wait(still > 0 ? 0 : 0.02);
        still = app.draw_frame() ? 0 : still + 1;
        if (!app.error().empty()) throw Error(app.fault(), app.error());
    }
    app.save_picture(options.screenshot);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Draws every term of position-aware attention.\n"
        "  locus view\n"
        "  locus view path/to/model --text \"the capital of france is [MASK].\" --layer 2 --head 3",
        "locus view");
    Options options;
    add_options(app, options);
    return cli::run_program(app, argc, argv, [&] {
        if (options.list_pages) {
            for (const PageName& page : page_names()) std::cout << page.name << "  " << page.about << '\n';
            return 0;
        }
        State state = state_of(options);
        const Session session(options.model);
        fit_to_model(options, session, state);
        if (options.bench)
            run_bench(session, state, options.width, options.height);
        else if (!options.screenshot.empty())
            take_screenshot(session, std::move(state), options);
        else
            run_window(session, std::move(state), options);
        return 0;
    });
}
