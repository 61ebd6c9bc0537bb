// locus view: options, one window, and pictures without one.
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "core/cli/program.h"
#include "core/io/checkpoint.h"
#include "viewer/app.h"
#include "viewer/bench.h"

namespace {

using namespace locus;
using namespace locus::view;

struct Options {
    State state;
    std::string page = "attention", theme = "dark", dialect = "official", cell, screenshot, size = "1280x800";
    bool list_pages = false, bench = false;
    int width = 1280, height = 800;
};

/// "3,5" or "1280x800": two whole numbers around a separator.
bool parse_pair(const std::string& text, char separator, int& a, int& b) {
    char between = 0, rest = 0;
    return std::sscanf(text.c_str(), "%d%c%d%c", &a, &between, &b, &rest) == 3 && between == separator;
}

void read_options(Options& options) {
    State& state = options.state;
    state.page = parse_page(options.page);
    state.dialect = parse_dialect(options.dialect);
    LOCUS_CHECK(options.theme == "dark" || options.theme == "light",
                "--theme is \"" + options.theme + "\", expected dark or light");
    state.dark = options.theme == "dark";
    if (!options.cell.empty())
        LOCUS_CHECK(parse_pair(options.cell, ',', state.cell.i, state.cell.j) && state.cell.i >= 0 && state.cell.j >= 0,
                    "--cell is \"" + options.cell + "\", expected I,J such as 3,5");
    LOCUS_CHECK(parse_pair(options.size, 'x', options.width, options.height) && options.width >= 640 &&
                    options.height >= 480 && options.width <= 7680 && options.height <= 4320,
                "--size is \"" + options.size + "\", expected WIDTHxHEIGHT from 640x480 to 7680x4320");
    LOCUS_CHECK(state.text.find_first_not_of(" \t\r\n") != std::string::npos,
                "--text is empty, expected at least one word");
    resolve_model(state.model);
}

/// What was asked for on the command line must exist in the model; later the viewer keeps selections inside.
void check_selection(const Snapshot& shown, const State& asked, bool cell_given) {
    if (!shown.error.empty()) throw Error(shown.fault, shown.error);
    const auto outside = [](int value, Index count) { return value < 0 || value >= count; };
    LOCUS_CHECK(
        !outside(asked.head, shown.heads()),
        "--head is " + std::to_string(asked.head) + ", the model has heads 0 to " + std::to_string(shown.heads() - 1));
    LOCUS_CHECK(!cell_given || (!outside(asked.cell.i, shown.tokens()) && !outside(asked.cell.j, shown.tokens())),
                "--cell is " + std::to_string(asked.cell.i) + "," + std::to_string(asked.cell.j) +
                    ", the text has tokens 0 to " + std::to_string(shown.tokens() - 1));
}

void take_screenshot(Window& window, App& app, const Options& options) {
    const State asked = options.state;
    for (int frame = 0; frame < 3 || !app.settled(); ++frame) {
        app.frame();
        window.wait_events(app.settled() ? 0 : 0.005);
        if (app.snapshot() && !app.session().busy() && !app.snapshot()->error.empty()) break;
    }
    check_selection(*app.snapshot(), asked, !options.cell.empty());
    app.frame();
    Picture picture;
    app.frame(&picture);
    write_png(options.screenshot, picture);
}

void run_window(Window& window, App& app) {
    for (Pacer pacer; !window.should_close();) {
        window.wait_events(pacer.wait_seconds());
        pacer.drawn(app.frame());
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Draws every term of attention, for your sentence and checkpoint.\n"
        "  locus view\n"
        "  locus view DIR --text \"a new [MASK] opened beside the new [MASK].\" --layer 2 --head 3 --cell 3,5\n"
        "  locus view --page decoder --theme light --screenshot decoder.png",
        "locus view");
    Options options;
    State& state = options.state;
    app.add_option("model", state.model, "model folder, or the name of a built-in one")->capture_default_str();
    app.add_option("--text", state.text, "the sentence");
    app.add_option("--tokens", state.tokens, "token ids instead of text: 1,2,3");
    app.add_option("--page", options.page, "positions, attention or decoder")->capture_default_str();
    app.add_option("--layer", state.layer, "layer, from 0")->check(CLI::NonNegativeNumber);
    app.add_option("--head", state.head, "head, from 0")->check(CLI::NonNegativeNumber);
    app.add_option("--cell", options.cell, "I,J: the locked query and key");
    app.add_option("--theme", options.theme, "dark or light")->capture_default_str();
    app.add_option("--dialect", options.dialect, "official, hf or paper")->capture_default_str();
    app.add_option("--screenshot", options.screenshot, "write the page to this PNG file and end");
    app.add_option("--size", options.size, "WIDTHxHEIGHT of the window")->capture_default_str();
    app.add_flag("--list-pages", options.list_pages, "print the page names");
    app.add_flag("--bench", options.bench, "measure frames and print JSON");
    return cli::run_program(app, argc, argv, [&] {
        if (options.list_pages) {
            for (const PageInfo& info : pages()) std::cout << info.name << '\n';
            return 0;
        }
        read_options(options);
        if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY"))
            throw Error(Fault::unreadable,
                        "there is no display to open a window on; ./locus view draws the pages into PNG files instead");
        Window window(options.width, options.height, options.screenshot.empty() && !options.bench);
        App view(window, state);
        if (options.bench)
            std::cout << run_bench(window, view, state) << '\n';
        else if (!options.screenshot.empty())
            take_screenshot(window, view, options);
        else
            run_window(window, view);
        return 0;
    });
}
