// The page: the course it follows, layout, controls, keys.
#include "viewer/pages/training/training.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"
#include "viewer/ui/animation_controls.h"

namespace locus {

namespace {

constexpr double kSnapshotsPerSecond = 3;
constexpr double kSlice = 0.012;  // seconds of training between two frames, where there is no thread for it

CourseQuery query_of(const TrainingPageState& state) {
    return {state.corpus, state.steps, state.seconds, static_cast<std::uint64_t>(state.seed), state.run};
}

std::string per_second(double tokens) {
    return grouped(static_cast<std::int64_t>(std::round(tokens / 100) * 100)) + " tokens/s";
}

}  // namespace

void TrainingPage::update(const State& state) {
    if (!observer_) {
        observer_ = std::make_unique<Worker<LookQuery, TrainingLook>>(
            [this](const LookQuery& query, const CancelToken& stop) { return looks_.answer(query, stop); },
            Window::wake);
        if constexpr (kHasThreads)
            trainer_ = std::make_unique<Worker<CourseJob, Course>>(
                [this](const CourseJob& job, const CancelToken& stop) {
                    return courses_.run(job.query, *job.board, stop);
                },
                Window::wake);
    }
    const CourseQuery query = query_of(state.training);
    if (asked_ != query) {
        asked_ = query;
        board_ = std::make_shared<CourseBoard>(Window::wake);
        if (trainer_)
            trainer_->submit({query, board_});
        else
            courses_.begin(query, board_);
    }
    if (!trainer_) {
        courses_.advance(kSlice);
        if (!board_->newest() || !board_->newest()->done) Window::wake();  // the next slice, with the next frame
    }
    if (const auto newest = board_->newest()) {
        course_error_ = newest->subject ? std::string() : newest->error;
        course_fault_ = newest->fault;
        if (newest->subject) course_ = newest;
    }
    if (!course_) return;
    LookQuery look{course_->subject, {}, state.training.text, state.training.masked};
    for (const CourseSnapshot& snapshot : course_->snapshots) look.snapshots.push_back(snapshot.values);
    if (look_asked_ != look) {
        look_asked_ = look;
        observer_->submit(look);
    }
    const auto answer = observer_->take();
    if (!answer) return;
    look_answered_ = answer->query;
    look_error_ = answer->error;
    look_fault_ = answer->fault;
    if (answer->error.empty()) look_ = answer;
}

std::string TrainingPage::error() { return course_error_.empty() ? look_error_ : course_error_; }

bool TrainingPage::settled(const State& state) const {
    if (asked_ != query_of(state.training) || !board_) return false;
    const auto newest = board_->newest();
    if (!newest || !newest->done) return false;
    if (!newest->subject) return true;
    return course_ == newest && look_asked_ && look_answered_ == look_asked_ &&
           look_asked_->text == state.training.text && look_asked_->masked == state.training.masked;
}

std::string TrainingPage::stop() {
    if (!trains() || board_->stop_asked()) return {};
    board_->ask_to_stop();
    return "Stopped: what was learned stays.";
}

ModelCard TrainingPage::card(const Scene&) {
    if (!course_) return {"a small model", ""};
    const DebertaConfig& config = course_->subject->config;
    return {course_->query.train ? "learnt here" : "a small model",
            size_line(config.num_hidden_layers, config.num_attention_heads)};
}

Animation TrainingPage::history_of(const TrainingPageState& state) const {
    Animation animation = state.animation;
    animation.at = std::clamp(animation.at, 0.0, last_frame());
    return animation;
}

void TrainingPage::keep_animation(TrainingPageState& state, const Animation& animation) const {
    // A place that no snapshot has yet is kept until the user moves the animation.
    const Animation before = history_of(state);
    if (animation.at == before.at && animation.playing == before.playing && animation.speed == before.speed) return;
    state.animation = animation;
    if (animation.at >= last_frame() && !animation.playing) state.animation.at = kNewestSnapshot;
}

std::size_t TrainingPage::shown_snapshot(const TrainingPageState& state) const {
    return static_cast<std::size_t>(whole_frame(history_of(state)));
}

const CourseSnapshot& TrainingPage::photographed(const TrainingPageState& state) const {
    // The look may be one snapshot behind the course.
    return course_->snapshots[std::min(shown_snapshot(state), course_->snapshots.size() - 1)];
}

void TrainingPage::fit(TrainingPageState& state) const {
    const DebertaConfig& config = course_->subject->config;
    state.layer = std::min(state.layer, config.num_hidden_layers - 1);
    state.head = std::min(state.head, config.num_attention_heads - 1);
    if (!look_) return;
    const Index last = look_->length() - 1;
    state.cell = {std::min(state.cell.i, last), std::min(state.cell.j, last)};
    state.view.clamp(look_->length());
}

void TrainingPage::refresh(Scene& scene) {
    State& screen = scene.state;
    TrainingPageState& state = screen.training;
    fit(state);
    Animation animation = history_of(state);
    clock_.advance(animation, ImGui::GetTime(), last_frame(), kSnapshotsPerSecond, screen.reduce_motion);
    keep_animation(state, animation);
    const std::array<Index, 3> wanted = {static_cast<Index>(look_->serial), state.layer, state.head};
    if (history_of_head_ != wanted) {
        history_of_head_ = wanted;
        head_ = head_history(*look_, state.layer, state.head);
    }
    const std::size_t shown = shown_snapshot(state);
    for (std::size_t n = 0; n < panels_.size(); ++n) {
        const auto part = ((state.layer * 64 + state.head) * 4096 + static_cast<Index>(shown)) * 2 + state.own_scale;
        const auto values = look_->snapshots[shown]
                                ->trace.at("layer." + std::to_string(state.layer) + "." + kTrainingPanels[n].stem)
                                .as<float>()
                                .matrix(state.head);
        std::optional<ValueRange> range;
        if (!state.own_scale) range = ValueRange{-head_.widest[n], head_.widest[n]};
        panels_[n].show({look_->serial, part, screen.theme}, Matrix<float>(values), {}, MapKind::diverging, range);
    }
}

void TrainingPage::train(TrainingPageState& state) const {
    if (state.run) ++state.seed;  // other fresh weights, other masks
    state.run = true;
    state.animation.at = kNewestSnapshot;
    state.animation.playing = false;
}

void TrainingPage::next_sentence(TrainingPageState& state) const {
    std::size_t next = 0;
    for (std::size_t n = 0; n < std::size(kTrainingSentences); ++n)
        if (state.text == kTrainingSentences[n].text) next = (n + 1) % std::size(kTrainingSentences);
    state.text = kTrainingSentences[next].text;
    state.masked = {kTrainingSentences[next].hidden};
    state.cell = {kTrainingSentences[next].hidden, 3};
}

void TrainingPage::hide(TrainingPageState& state, Index token) const {
    const auto at = std::lower_bound(state.masked.begin(), state.masked.end(), token);
    if (at != state.masked.end() && *at == token)
        state.masked.erase(at);
    else if (!look_->sentence.special[static_cast<std::size_t>(token)])
        state.masked.insert(at, token);
}

std::string TrainingPage::run_words(const TrainingPageState& state) const {
    const std::string verb = state.run ? "Train again" : "Train";
    if (state.steps > 0) return verb + ", " + grouped(state.steps) + " steps";
    if (state.run) return verb;
    return verb + (state.seconds == 60 ? " for a minute" : " for " + brief(state.seconds) + " s");
}

float TrainingPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    TrainingPageState& state = scene.state.training;
    if (!course_) return bar.x1;
    fit(state);
    const float y = bar.middle_y();
    const DebertaConfig& config = course_->subject->config;
    const float end = ui.layer_and_head(bar.x1 - ui.px(16), y, config.num_hidden_layers, state.layer,
                                        config.num_attention_heads, state.head) -
                      ui.px(18);
    const float left = bar.x0 + ui.px(16);
    const std::string label = trains() ? "Stop" : run_words(state);
    const Rect box{left, y - ui.px(14), left + ui.text_width(label) + ui.px(28), y + ui.px(14)};
    if (ui.button(trains() ? "stop" : "train", box, label, !trains())) {
        if (trains())
            scene.state.notice = stop();
        else
            train(state);
    }
    draw_run(scene, {box.x1 + ui.px(16), bar.y0, end, bar.y1}, box.x1 + ui.px(16));
    return end;
}

void TrainingPage::draw_run(const Scene& scene, const Rect& area, float x) const {
    const Ui& ui = scene.ui;
    const TrainingPageState& state = scene.state.training;
    const float y = area.middle_y();
    std::string words;
    if (course_->query != query_of(state)) {
        words = "reading the corpus and learning its words \u2026";
    } else if (course_->query.train) {
        const auto steps = static_cast<std::int64_t>(course_->steps.size());
        const double left = course_->seconds_left();
        words = course_->query.steps > 0 && !course_->done
                    ? grouped(steps) + " of " + grouped(course_->query.steps) + " steps"
                    : grouped(steps) + (steps == 1 ? " step" : " steps");
        if (course_->done)
            words += " in " + fixed(course_->seconds(), 0) + " s" + (course_->stopped ? ", stopped" : "");
        if (steps > 0) words += "  \u00b7  " + per_second(course_->tokens_per_second);
        if (left > 0) words += "  \u00b7  " + fixed(left, 0) + " s left";
    } else {
        words = grouped(course_->subject->sentences) + " sentences, " + grouped(course_->subject->pieces) + " words, " +
                grouped(course_->subject->weights) + " weights, all random";
    }
    ui.text_within(x, y, area.x1 - x, words, ui.theme->muted, Face::mono_small);
    if (!trains() || course_->query != *asked_) return;
    const Rect done{area.x0, area.y1 - ui.px(9), area.x1, area.y1 - ui.px(6)};
    ui.fill(done, ui.theme->chip, 1.5f);
    ui.fill({done.x0, done.y0, done.x0 + done.width() * static_cast<float>(course_->share), done.y1}, ui.theme->accent,
            1.5f);
}

void TrainingPage::draw(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    if (!course_ || !look_) {
        ui.text(inside.x0, inside.y0 + ui.px(8), "reading the corpus and learning its words \u2026", ui.theme->muted);
        return;
    }
    refresh(scene);
    const float labels = ui.px(58), gap = ui.px(18), title = ui.px(22), legend = ui.px(20), row = ui.px(30);
    const float by_width = std::floor((inside.width() - labels - 2 * gap) / 3);
    // What is above and below the matrices shares what they leave.
    const float fixed_part = 2 * row + title + legend + ui.px(6);
    const float side = std::floor(std::min(by_width, (inside.height() - fixed_part) * 0.44f));
    const float spare = inside.height() - fixed_part - side;
    const float loss = std::floor(spare * 0.55f);
    float y = inside.y0;
    const Rect top{inside.x0, y, inside.x1, y + loss};
    if (course_->steps.empty())
        draw_opening(scene, top);
    else
        draw_loss(scene, top);
    y = top.y1;
    draw_animation(scene, {inside.x0, y, inside.x1, y + row});
    y += row;
    draw_sentence(scene, {inside.x0, y, inside.x1, y + row});
    y += row + title;
    const float left = inside.x0 + labels;
    const float between = std::floor((inside.x1 - left - 3 * side) / 2);
    draw_panels(scene, {left, y, left + side, y + side}, std::min(between, ui.px(60)));
    y += side + legend + ui.px(6);
    draw_curves(scene, {inside.x0, y, inside.x1, inside.y1}, ui.px(22));
}

bool TrainingPage::press(Scene& scene, const KeyPress& press) {
    if (!course_ || !look_) return false;
    TrainingPageState& state = scene.state.training;
    fit(state);
    if (press.key == Key::enter) {
        if (trains())
            scene.state.notice = stop();
        else
            train(state);
        return true;
    }
    Animation animation = history_of(state);
    if (press_animation(animation, last_frame(), press)) {
        keep_animation(state, animation);
        return true;
    }
    const char32_t letter = press.key == Key::character && !press.ctrl ? press.character : U'\0';
    switch (letter) {
        case 'x':
            next_sentence(state);
            return true;
        case 'm':
            hide(state, state.cell.i);
            return true;
        case 'r':
            state.own_scale = !state.own_scale;
            return true;
        default:
            break;
    }
    const DebertaConfig& config = course_->subject->config;
    return step_head(press, config.num_hidden_layers, config.num_attention_heads, state.layer, state.head) ||
           move_cell(state.cell, state.locked, state.view, look_->length(), press);
}

std::unique_ptr<Page> make_training_page() { return std::make_unique<TrainingPage>(); }

}  // namespace locus
