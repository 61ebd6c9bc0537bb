// locus view: a window that draws every term, or one picture of it.
#include <CLI/CLI.hpp>

#include <iostream>

#include "core/cli/program.h"
#include "viewer/app.h"
#include "viewer/bench.h"
#include "viewer/loop.h"
#include "viewer/options.h"
#include "viewer/state_fields.h"

namespace {

using namespace locus;

void run_window(const Session& session, State state, const Options& options) {
    Window window({"Locus", options.width, options.height, false});
    App app(window, session, std::move(state));
    app.opened_as(options.model);
    run_loop(window, app);
}

void write_files(const Session& session, State state, const Options& options) {
    Window window({"Locus", options.width, options.height, true});
    App app(window, session, std::move(state));
    app.opened_as(options.model);
    settle(window, app);
    check_kept(options, app.state());
    if (options.screenshot) app.save_picture(*options.screenshot);
    for (const ExportRequest& request : export_requests(options)) app.export_file(request);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Draws every term of position-aware attention.\n"
        "  locus view\n"
        "  locus view path/to/model --text \"the capital of france is [MASK].\" --layer 2 --head 3\n"
        "  locus view --report report.json\n"
        "  locus view --compare my-port.safetensors --text \"the capital of france is [MASK].\"",
        "locus view");
    Options options;
    add_options(app, options);
    return cli::run_program(app, argc, argv, [&] {
        if (options.list_pages) {
            for (const PageName& page : page_names()) std::cout << page.name << '\n';
            return 0;
        }
        State state = state_of(options);
        export_requests(options);  // refused before anything is opened
        open_sources(options, state);
        if (options.list_fields) {
            for (const StateField& field : state_fields()) std::cout << field.name << '=' << field.get(state) << '\n';
            return 0;
        }
        const Session session(options.model);
        fit_to_model(options, session, state);
        if (options.bench)
            std::cout << run_bench(session, state, options.width, options.height) << '\n';
        else if (options.screenshot || !options.exports.empty())
            write_files(session, std::move(state), options);
        else
            run_window(session, std::move(state), options);
        return 0;
    });
}
