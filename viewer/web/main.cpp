// The viewer in a browser: opened by a link, drawn frame by frame from the browser's own loop.  The page around it
// (page/locus.js) fetches files before they are read and keeps what was written.
#include <emscripten.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>

#include "core/cli/program.h"
#include "viewer/app.h"
#include "viewer/options.h"
#include "viewer/state/link.h"

namespace {

using namespace locus;

/// False: the page fetches first what a page of the viewer, or a built-in model, is made of.
EM_JS(bool, is_there, (const char* page, const char* model),
      { return Module.locus.ready(UTF8ToString(page), UTF8ToString(model)); });
EM_JS(void, say_drawn, (const char* page, bool settled), { Module.locus.drawn(UTF8ToString(page), settled); });

constexpr const char* kSettings = "/settings";  // there where the browser keeps it from one visit to the next
constexpr const char* kExports = "/exports";    // handed by the page to whom the browser downloads for
constexpr int kFramesAfterInput = 3;
constexpr double kUnsettled = 0.1;  // seconds between frames while something is on its way

/// Everything that lives as long as the page is open.
class Viewer {
public:
    Viewer(const Options& options, State state)
        : session_(state.model),
          window_({"Locus", options.width, options.height}),
          app_(window_, session_, std::move(state)) {
        app_.copy_as("copied: the link that leads to this screen",
                     [](const std::vector<std::string>& words) { return "#" + link_of(words); });
        if (std::filesystem::is_directory(kSettings)) app_.keep_settings(SettingsFile(kSettings));
    }

    /// Called by the browser before it paints; draws where there is a reason to.
    void frame() {
        if (!is_there(app_.state().page.c_str(), app_.state().wanted_model.c_str())) return;
        if (window_.take_activity()) frames_ = kFramesAfterInput;
        const double delay = std::min(app_.next_frame_delay(), app_.settled() ? 3600 : kUnsettled);
        const auto now = Clock::now();
        if (frames_ == 0 && std::chrono::duration<double>(now - last_).count() < delay) return;
        frames_ = std::max(0, frames_ - 1);
        last_ = now;
        app_.draw_frame();
        say_drawn(app_.state().page.c_str(), app_.settled());
    }

    App& app() { return app_; }
    void turn_wheel(float steps) { window_.turn_wheel(steps); }

private:
    using Clock = std::chrono::steady_clock;

    const DebertaSession session_;
    Window window_;
    App app_;
    int frames_ = kFramesAfterInput;
    Clock::time_point last_;
};

std::unique_ptr<Viewer> viewer;  // there is one per program; the page calls it through the functions below

/// Opens what the words of a command line say.  Returns its exit status.
int open_viewer(std::vector<std::string> words, bool embedded) {
    cli::Command program("", "locus");
    Options options;
    add_options(program, options);
    return cli::run_program(program, std::move(words), [&] {
        State state = state_of(options);
        open_sources(options, state);
        state.model = place_model(options, state);
        const Settings known = SettingsFile(kSettings).peek();
        recall(known, options, state);
        {
            const DebertaSession session(state.model);
            fit_to_model(options, session, state);
        }
        state.embedded = embedded;
        viewer = std::make_unique<Viewer>(options, std::move(state));
        return 0;
    });
}

}  // namespace

extern "C" {

/// A file or a folder of the program's own file system that was dropped on the page, or chosen.
EMSCRIPTEN_KEEPALIVE void locus_drop(const char* path) {
    if (!viewer) return;
    viewer->app().state().dropped.emplace_back(path);
    Window::wake();
}

/// Upwards by so many steps of a wheel, at the pointer.
EMSCRIPTEN_KEEPALIVE void locus_wheel(double steps) {
    if (viewer) viewer->turn_wheel(static_cast<float>(steps));
}

/// Fonts or models arrived.
EMSCRIPTEN_KEEPALIVE void locus_files_changed() {
    if (viewer) viewer->app().reload_fonts();
    Window::wake();
}

/// The link to what is on screen, without "#"; valid until the next call.
EMSCRIPTEN_KEEPALIVE const char* locus_link() {
    static std::string link;
    link = viewer ? link_of(viewer->app().words_of_command()) : "";
    return link.c_str();
}
}

int main(int argc, char** argv) {
    std::filesystem::create_directories(kExports);
    std::filesystem::current_path(kExports);
    const std::string link = argc > 1 ? argv[1] : "";
    const bool embedded = argc > 2 && std::string(argv[2]) == "embed";
    // Where a link says what cannot be, the page shows the sentence, and the viewer opens without it.
    if (open_viewer(words_of_link(link), embedded) != 0 && open_viewer({}, embedded) != 0) return 1;
    emscripten_set_main_loop([] { viewer->frame(); }, 0, false);
    return 0;
}
