#pragma once
// The frame: a list of calls.
#include "viewer/model_opener.h"
#include "viewer/rooms.h"
#include "viewer/worker.h"

namespace locus {

class App {
public:
    /// Draws into `window`; starts computing at once.  `session` outlives the App, which may open others.
    App(Window& window, const Session& session, State state);

    /// One picture.  Returns true while another should follow soon: an answer is on its way or characters were missing.
    bool draw_frame();
    /// True if what is on screen answers what the state asks for.
    bool settled() const;
    /// Seconds until the picture changes by itself: a caret, a film, a toast that goes, a clock that runs.
    double rest() const;
    /// True once after Ctrl+Q.
    bool wants_to_close() const { return close_; }

    /// Every later frame is written into `log` as well; nullptr: nowhere.
    void write_down(FrameLog* log) { log_ = log; }

    State& state() { return state_; }
    /// Why there is nothing to see: one sentence, or empty.
    const std::string& error() const { return page_error_.empty() ? error_ : page_error_; }
    Fault fault() const { return page_error_.empty() ? fault_ : page_fault_; }
    /// Writes the last picture.  Throws Error(unreadable) that names the file and the reason.
    void save_picture(const std::string& file) const;

private:
    /// A request goes to the model that was open when it was made.
    struct Job {
        std::shared_ptr<const Session> session;
        Request request;
    };

    Request wanted() const;
    void open_wanted();
    void exchange_models();
    void exchange_answers();
    bool stop_work();
    Progress progress() const;
    double now() const;
    /// True while changed cells still glow.
    bool flashes() const;
    Scene scene_for(Ui& ui, const Page& shown);
    void take_keys(Ui& ui);
    void draw_rooms(Scene& scene, Page& shown);
    void draw_overlays(Scene& scene, const Rect& screen);
    void draw_message(const Ui& ui, const Rect& room, const std::string& title, const std::string& sentence) const;
    Page& page() const;

    Window& window_;
    State state_;
    Fonts fonts_;
    std::vector<std::unique_ptr<Page>> pages_;
    SentenceBar sentence_bar_;
    Palette palette_;
    std::vector<FlatPanel> panels_;
    std::shared_ptr<const Answer> answer_;  // the newest that holds numbers
    std::string error_;                     // what the newest one says instead
    std::string page_error_;                // why the shown page cannot be opened
    Fault fault_ = Fault::usage, page_fault_ = Fault::unreadable;
    std::optional<Request> asked_;
    bool stopped_ = false;  // what was asked for was given up
    std::string opening_;   // the model that is being opened
    Toasts toasts_;
    FrameLog* log_ = nullptr;
    bool close_ = false;
    bool save_ = false;
    float styled_scale_ = 0;
    ThemeName styled_theme_ = ThemeName::dark;
    std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
    std::shared_ptr<const Session> session_;
    ModelOpener opener_;
    Worker<Job, Answer> worker_;  // last: its thread ends before what it reads
};

/// What a key does on every page.  Returns false for keys that mean nothing here.
bool press_common_key(Scene& scene, const KeyPress& press, bool& close, bool& save);

}  // namespace locus
