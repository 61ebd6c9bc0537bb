#include "viewer/app.h"

#include <algorithm>
#include <chrono>

#include "core/cli/program.h"
#include "viewer/data/model_session.h"
#include "viewer/export/picture_file.h"
#include "viewer/plots/stage_slice.h"

namespace locus {

float fitting_scale(ImVec2 window, float wished) {
    constexpr float kNarrowest = 1200, kLowest = 770;  // design pixels
    const float largest = std::min(window.x / kNarrowest, window.y / kLowest);
    return largest >= wished ? wished : std::max(0.5f, std::floor(largest * 20) / 20);
}

App::App(Window& window, const DebertaSession& session, State state)
    : window_(window),
      state_(std::move(state)),
      pages_(make_pages()),
      session_(std::shared_ptr<const void>(), &session),
      opener_(Window::wake),
      observer_(
          [](const std::vector<std::string>& paths) {
              auto all = std::make_shared<std::vector<Dropped>>();
              for (const std::string& path : paths) all->push_back(classify_drop(path));
              return std::shared_ptr<const std::vector<Dropped>>(std::move(all));
          },
          Window::wake),
      worker_([](const Job& job, const CancelToken& stop,
                 const SliceEnd& over) { return job.session->answer(job.request, stop, over); },
              Window::wake) {}

double App::now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time_).count();
}

Request App::wanted() const {
    Request request{state_.text, state_.tokens, state_.mask, state_.dialect, state_.layer};
    if (state_.page == "start") request.decoder = session_->has_decoder();  // its pictures are of every page
    request.masked = state_.masked;
    if (state_.page == "attention") {
        request.overview = state_.attention.picture == AttentionPicture::all_heads;
        if (state_.attention.picture == AttentionPicture::stage)
            request.stage = at_layer(state_.attention.stage, state_.layer);
    }
    if (state_.page == "decoder") {
        request.decoder = true;
        request.strength = state_.strength;
        request.at_input = state_.decoder.at_input;
        request.layer = 0;  // its pictures do not depend on the layer, so turning it costs nothing here
    }
    if (state_.page == "compare") {
        request.compare = state_.compare.request();
        request.layer = 0;  // these are the sides' own
        request.dialect = Dialect::official;
    }
    return request;
}

void App::open_wanted() {
    const std::string model = std::exchange(state_.wanted_model, {});
    try {
        if (show_model(state_, model)) {
            remember(state_.recent.models, lasting_name(model), kRecentModels);
            state_.notice = "opened " + model + " on its page";
            return;
        }
    } catch (const Error& error) {
        state_.refusal = error.what();
        return;
    } catch (const std::bad_alloc&) {
        state_.refusal = "the model " + model + " needs more memory than there is, expected a smaller one";
        return;
    }
    opening_ = model;
    opener_.open(opening_);
}

void App::exchange_models() {
    if (!state_.wanted_model.empty()) open_wanted();
    const std::shared_ptr<const OpenedSession> opened = opener_.take();
    if (!opened) return;
    opening_.clear();
    std::optional<State> waiting = std::exchange(waiting_, std::nullopt);
    if (!opened->session) {
        state_.refusal = opened->error;
        return;
    }
    if (waiting) {
        state_ = std::move(*waiting);
        state_.wanted_model.clear();
    } else {
        state_.view = {};
        by_hand_ = true;  // the user asked for it: undo goes back to the model before
    }
    worker_.cancel();
    session_ = opened->session;
    answer_.reset();
    asked_.reset();
    error_.clear();
    state_.masked.clear();  // places among the tokens of another model
    state_.model = lasting_name(opened->model);
    state_.asked_model = state_.model;
    remember(state_.recent.models, state_.model, kRecentModels);
    state_.notice = fit_to_session(*session_, state_);
    if (state_.notice.empty()) state_.notice = "opened " + session_->name();
}

void App::exchange_answers() {
    // Places of [MASK] belong to the text that they were chosen in.
    if (asked_ && asked_->masked == state_.masked && (asked_->text != state_.text || asked_->tokens != state_.tokens))
        state_.masked.clear();
    const Request request = wanted();
    if (asked_ != request) {
        asked_ = request;
        stopped_ = false;
        worker_.submit({session_, request});
    }
    const std::shared_ptr<const Answer> answer = worker_.take();
    if (!answer) return;
    error_ = answer->error;
    fault_ = answer->fault;
    if (!error_.empty()) return;
    answer_ = answer;
    const Index last = answer_->length() - 1;
    state_.cell = {std::min(state_.cell.i, last), std::min(state_.cell.j, last)};
}

bool App::settled(bool beside_runs) const {
    if (!state_.wanted_model.empty() || opener_.busy() || !state_.dropped.empty() || observer_.busy() || given_)
        return false;
    return (page().settled(state_) || (beside_runs && runs())) && asked_ == wanted() && !worker_.busy() &&
           (stopped_ || !error_.empty() || (answer_ && answer_->request == *asked_));
}

std::optional<Error> App::nothing_compared() const {
    if (state_.page != "compare" || state_.compare.report || !answer_ || answer_->compare.error.empty())
        return std::nullopt;
    return Error(answer_->compare.fault, answer_->compare.error);
}

bool App::runs() const { return page().runs(); }

Progress App::progress() const {
    constexpr double kWorthTelling = 0.3;
    if (observer_.seconds() > kWorthTelling) return {"looking at what was dropped \u2026", observer_.seconds()};
    if (opener_.seconds() > kWorthTelling) return {"opening " + opening_ + " \u2026", opener_.seconds()};
    if (worker_.seconds() > kWorthTelling) return {"computing \u2026  " + session_->progress(), worker_.seconds()};
    return {};
}

bool App::stop_work() {
    if (std::string ended = page().stop(); !ended.empty()) {
        state_.notice = std::move(ended);
        return true;
    }
    if (progress().what.empty()) return false;
    if (observer_.busy()) {
        observer_.cancel();
        state_.notice = "What was dropped is left alone.";
        return true;
    }
    if (opener_.busy()) {
        opener_.cancel();
        waiting_.reset();
        state_.notice = "Stopped opening " + std::exchange(opening_, {}) + "; " + session_->name() + " stays open.";
        return true;
    }
    worker_.cancel();
    stopped_ = true;
    state_.notice = answer_ ? "Stopped: the picture is the one before. Any change computes again."
                            : "Stopped before there was a picture. Any change computes again.";
    return true;
}

double App::next_frame_delay() const {
    constexpr double kCaret = 0.25, kClock = 0.1, kAnimationFrame = 1.0 / 30, kFlash = 0.03;  // seconds between frames
    double rest = toasts_.next_change(now(), state_.reduce_motion);
    if (state_.editing || state_.palette || state_.exports.open) rest = std::min(rest, kCaret);
    if (state_.animation_runs()) rest = std::min(rest, kAnimationFrame);
    if (worker_.busy() || opener_.busy() || observer_.busy()) rest = std::min(rest, kClock);
    if (worker_.paused()) rest = 0;
    if (flashes()) rest = std::min(rest, kFlash);
    if (keeper_) rest = std::min(rest, keeper_->wait(now()));  // in a browser no end of the program writes them
    return rest;
}

bool App::flashes() const { return ImGui::GetTime() < state_.flash_until; }

Page& App::page() const {
    for (const auto& page : pages_)
        if (state_.page == page->name()) return *page;
    return *pages_.front();
}

namespace {

/// What needs more memory than there is becomes a sentence in the window, which goes on.
template <class Work>
void with_memory(State& state, Work work) {
    try {
        work();
    } catch (const std::bad_alloc&) {
        state.refusal = "there is not enough memory for this, expected a shorter text or a smaller model";
    }
}

}  // namespace

Scene App::scene_for(Ui& ui, Page& shown) {
    // The decoder's numbers and both sides of a comparison come with their own kinds of request: another page's answer
    // has none of them.
    const std::string name = shown.name();
    const bool fits = answer_ && (answer_->request.decoder == (name == "decoder") || name == "start") &&
                      answer_->request.compare.has_value() == (name == "compare");
    const std::vector<std::string> warnings =
        shown.ready() ? shown.warnings(answer_.get()) : std::vector<std::string>();
    return {ui,
            state_,
            *session_,
            fits ? answer_.get() : nullptr,
            worker_.busy() || opener_.busy(),
            warnings.empty()       ? ""
            : warnings.size() == 1 ? warnings.front()
                                   : warnings.front() + " (and " + std::to_string(warnings.size() - 1) + " more)"};
}

bool App::draw_frame() {
    cli::keep_memory_reserve();  // a refusal for want of memory used it
    by_hand_ = travelled_ = false;
    with_memory(state_, [&] {
        exchange_drops();
        exchange_models();
        exchange_answers();
    });
    exchange_settings();
    toasts_.add(std::exchange(state_.notice, {}), false, now());
    toasts_.add(std::exchange(state_.refusal, {}), true, now());
    toasts_.update(now());
    const float scale = fitting_scale(window_.size(), window_.content_scale() * state_.zoom);
    for (int attempt = 0; attempt < 3; ++attempt) {
        if (fonts_.update(scale)) window_.reload_fonts();
        if (styled_scale_ != scale || styled_theme_ != state_.theme || attempt == 0)
            apply_theme(theme_of(state_.theme), scale);
        styled_scale_ = scale;
        styled_theme_ = state_.theme;
        window_.begin_frame();
        Ui ui(fonts_, theme_of(state_.theme), scale);
        ui.pooling = state_.pooling;
        if (log_) log_->clear();
        ui.log = log_;
        if (attempt == 0) take_keys(ui);
        // A click may choose another page in the middle of a frame: this frame is still drawn with the page it began
        // with.
        Page& shown = page();
        with_memory(state_, [&] { shown.update(state_); });
        Scene scene = scene_for(ui, shown);
        draw_parts(scene, shown);
        by_hand_ = by_hand_ || used_by_hand();
        if (!fonts_.stale() || attempt == 2) break;
        window_.discard_frame();  // a character was missing: once more, with it
    }
    window_.present(theme_of(state_.theme).background, panels_);
    const bool changing = opener_.busy() || !state_.wanted_model.empty();
    // What a page keeps inside its numbers after undo is no step of its own, which undo would come back to for ever.
    if (!changing) history_.observe(state_, now(), by_hand_ && !travelled_, ImGui::IsAnyMouseDown());
    if (save_) {
        save_ = false;
        try {
            save_picture("locus-" + state_.page + ".png");
            state_.notice = "saved as locus-" + state_.page + ".png in the current folder";
        } catch (const Error& error) {
            state_.refusal = error.what();
        } catch (const std::bad_alloc&) {
            state_.refusal = "a picture of this size needs more memory than there is";
        }
    }
    serve_exports();
    return !settled() || fonts_.stale() || !state_.notice.empty() || !state_.refusal.empty() || flashes();
}

void App::save_picture(const std::string& file) const { write_picture(file, window_.read_pixels()); }

namespace {

constexpr int kFramesAfterInput = 3;  // Dear ImGui needs a frame to notice the pointer and one to answer it
constexpr double kAsleep = 3600;

}  // namespace

void run_loop(Window& window, App& app, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto left = [&] { return seconds - std::chrono::duration<double>(Clock::now() - start).count(); };
    int frames = 0;
    while (!window.should_close() && !app.wants_to_close() && left() > 0) {
        const double delay = app.next_frame_delay();
        window.wait(frames > 0 ? 0 : std::min({left(), delay, kAsleep}));
        if (window.take_activity()) frames = kFramesAfterInput;
        if (frames == 0 && delay > kAsleep && app.settled()) continue;
        frames = std::max(0, frames - 1);
        app.draw_frame();
    }
}

void settle(Window& window, App& app) {
    for (int still = 0; still < kFramesAfterInput;) {
        window.wait(still > 0 ? 0 : 0.02);
        still = app.draw_frame() ? 0 : still + 1;
        if (!app.error().empty()) throw Error(app.fault(), app.error());
    }
}

}  // namespace locus
