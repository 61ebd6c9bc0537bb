#pragma once
// The running viewer: its state, and one frame of it as a list of calls.  app.cpp is the frame, app_input.cpp what
// comes from the user, app_layout.cpp where everything is drawn, app_export.cpp what is written to files.
#include <limits>

#include "viewer/data/dropped.h"
#include "viewer/data/model_opener.h"
#include "viewer/data/worker.h"
#include "viewer/export/export_overlay.h"
#include "viewer/state/history.h"
#include "viewer/ui/overlays.h"
#include "viewer/ui/panels.h"

namespace locus {

class App {
public:
    /// Draws into `window`; starts computing at once.  `session` outlives the App, which may open others.
    App(Window& window, const DebertaSession& session, State state);

    /// One picture.  Returns true while another should follow soon: an answer is on its way or characters were missing.
    bool draw_frame();
    /// True if what is on screen answers what the state asks for; `beside_runs`: what a page runs for long may go on.
    bool settled(bool beside_runs = false) const;
    /// True while the page runs something for long.
    bool runs() const;
    /// Seconds until the picture changes by itself: a caret, an animation, a toast that goes, a clock that runs.
    double next_frame_delay() const;
    /// Remembers theme, size and recent models from now on.  Without this nothing is read or written.
    void keep_settings(SettingsFile file);
    /// Writes what is not yet written, at the end.
    void save_settings();
    /// True once after Ctrl+Q.
    bool wants_to_close() const { return close_; }

    /// What Ctrl+Shift+C copies instead of the command that draws the screen, made of its words, and what is said of
    /// it.
    void copy_as(std::string notice, std::function<std::string(const std::vector<std::string>&)> made) {
        copied_notice_ = std::move(notice);
        copied_ = std::move(made);
    }
    /// The command that draws what is on screen.
    std::vector<std::string> words_of_command() const;
    /// Looks for fonts again that were not there before.
    void reload_fonts() { fonts_.find_files(); }

    /// Every later frame is written into `log` as well; nullptr: nowhere.
    void record(DrawRecorder* log) { log_ = log; }

    State& state() { return state_; }
    /// Why there is nothing to see: one sentence, or empty.
    const std::string& error() const { return page_error_.empty() ? error_ : page_error_; }
    Fault fault() const { return page_error_.empty() ? fault_ : page_fault_; }
    /// Why the page Compare has two sides of a dump or a pass and yet no matrices, which it says in their place;
    /// nothing where it has them, or beside a report, which it shows all the same.
    std::optional<Error> nothing_compared() const;
    /// The last error that a page let out while it drew: a fault of the page, shown in its place.  Empty: none.
    const std::string& escaped() const { return escaped_; }
    /// Writes the last picture.  Throws Error(unreadable) that names the file and the reason.
    void save_picture(const std::string& file) const;
    /// Writes a figure of what is on screen, or its numbers, and returns where.  Not before everything is on screen.
    /// Throws Error(usage) for a region that the page does not have, Error(unreadable) that names file and reason.
    std::filesystem::path export_file(ExportRequest request);

private:
    /// A frame that no window showed.
    struct Aside {
        Pixels pixels;
        DrawRecorder log;
    };
    /// A request goes to the model that was open when it was made.
    struct Job {
        std::shared_ptr<const DebertaSession> session;
        Request request;
    };

    Request wanted() const;
    void open_wanted();
    void exchange_models();
    void exchange_answers();
    void exchange_drops();
    void exchange_settings();
    void show(const Dropped& dropped);
    Settings settings() const;
    bool stop_work();
    ActionScope action_scope();
    bool perform(const NamedAction& action);
    void perform(const Command& command);
    void travel(bool back);
    void take_key(Ui& ui, const KeyPress& press);
    bool used_by_hand() const;
    Progress progress() const;
    double now() const;
    /// True while changed cells still glow.
    bool flashes() const;
    Scene scene_for(Ui& ui, Page& shown);
    void take_keys(Ui& ui);
    /// The areas of this frame.
    struct Places {
        Rect top, rail, sentence, formula, side, area;
    };
    void draw_parts(Scene& scene, Page& shown);
    void draw_bars(Scene& scene, Page& shown, const Places& at, bool opens, bool edits);
    /// What the page and the bars around it draw; true if the page had something to show.
    bool draw_page(Scene& scene, Page& shown, const Places& at);
    void draw_overlays(Scene& scene, const Rect& screen);
    void draw_message(const Ui& ui, const Rect& area, const std::string& title, const std::string& sentence) const;
    Page& page() const;
    void serve_exports();
    Aside draw_aside(const PictureSetup& setup, float scale, const std::function<void(Ui&)>& draw);
    void export_screen(const ExportRequest& request, const std::string& command);
    void export_matrix(const ExportRequest& request, const std::string& command);
    void export_numbers(const ExportRequest& request, const std::string& command);
    void write_figure(const ExportRequest& request, const Aside& drawn, const Rect& part, float units,
                      const std::string& title, const std::string& command);
    NamedMatrix matrix_named(const std::string& region);

    Window& window_;
    State state_;
    Fonts fonts_;
    std::vector<std::unique_ptr<Page>> pages_;
    SentenceBar sentence_bar_;
    Palette palette_;
    ExportOverlay export_overlay_;
    Rect page_area_;  // of the page, in the last frame
    std::vector<FlatPanel> panels_;
    std::shared_ptr<const Answer> answer_;  // the newest that holds numbers
    std::string error_;                     // what the newest one says instead
    std::string escaped_;
    std::string page_error_;  // why the shown page cannot be opened
    Fault fault_ = Fault::usage, page_fault_ = Fault::unreadable;
    std::optional<Request> asked_;
    bool stopped_ = false;           // what was asked for was given up
    std::string opening_;            // the model that is being opened
    std::optional<State> waiting_;   // what is seen once it is open, where that is known
    std::optional<KeyPress> given_;  // the key of a command, for the page that it belongs to
    bool by_hand_ = false;           // the user did something in this frame
    bool travelled_ = false;         // the same by undo or redo
    Toasts toasts_;
    History history_;
    std::optional<SettingsKeeper> keeper_;
    std::optional<WindowPlace> place_;  // of the window, as it was last
    DrawRecorder* log_ = nullptr;
    std::string copied_notice_ = "copied: the command that draws this screen";
    std::function<std::string(const std::vector<std::string>&)> copied_;
    bool close_ = false;
    bool save_ = false;
    float styled_scale_ = 0;
    ThemeName styled_theme_ = ThemeName::dark;
    std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
    std::shared_ptr<const DebertaSession> session_;
    ModelOpener opener_;
    Worker<std::vector<std::string>, std::vector<Dropped>> observer_;
    Worker<Job, Answer> worker_;  // last: its thread ends before what it reads
};

/// The wished scale, or the largest at which nothing on a page runs into its neighbour; in steps, because every new
/// scale builds the fonts anew.
float fitting_scale(ImVec2 window, float wished);

// The loop: a frame is drawn after something happened, and not otherwise.

/// Until the window closes, or `seconds` have passed.
void run_loop(Window& window, App& app, double seconds = std::numeric_limits<double>::infinity());

/// Draws until everything that was asked for is on screen.  Throws the error that is on the screen instead, if any.
void settle(Window& window, App& app);

}  // namespace locus
