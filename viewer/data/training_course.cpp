#include "viewer/data/training_course.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "core/io/input_file.h"
#include "core/text/corpus/corpus_text.h"
#include "core/training/trainer.h"
#include "core/training/training_run.h"

namespace locus {

bool SnapshotSchedule::due(Index step, double share) {
    // Sixteenths of whole numbers of steps are exact up to rounding.
    const int ended = static_cast<int>(std::floor(std::clamp(share, 0.0, 1.0) * kParts + 1e-9));
    const bool part_ends = ended > parts_;
    parts_ = std::max(parts_, ended);
    const bool doubles = step >= 0 && (step & (step - 1)) == 0;  // 0, 1, 2, 4, ...
    return part_ends || (doubles && ended == 0);
}

namespace {

constexpr double kBetweenNews = 0.1;  // seconds
constexpr Index kFirstGuess = 1000;   // steps in a run by time, until its pace is known
constexpr Index kPaceKnown = 10;      // steps
constexpr std::size_t kMeanSteps = 10, kOpening = 12;

/// More than this makes the small model no faster.
int team_size() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u)); }

TrainingTask task_of(const CourseQuery& query) {
    TrainingTask task;
    task.corpus = query.corpus.empty() ? corpus_that_comes_along() : std::filesystem::path(query.corpus);
    task.config = small_training_config();
    task.plan.steps = query.steps > 0 ? query.steps : kFirstGuess;
    task.plan.warmup = std::min<Index>(60, task.plan.steps / 8);
    task.plan.rate = 2e-3;
    task.batch_tokens = 512;  // in a minute many small steps reach further than few large ones
    task.plan.seed = query.seed;
    return task;
}

std::shared_ptr<const CourseSubject> subject_of(TrainingRun& run, std::shared_ptr<const ScratchFolder> folder) {
    auto subject = std::make_shared<CourseSubject>();
    subject->config = run.task().config;
    // One of its own: the run keeps using its tokenizer on another thread.
    subject->tokenizer = open_tokenizer(folder->path());
    subject->folder = std::move(folder);
    subject->sentences = run.sentences();
    subject->pieces = run.vocabulary().pieces;
    subject->weights = run.trainer().words().values.size();
    const std::string text = read_corpus_text(run.task().corpus);
    for (const std::string_view line : short_lines(text, 400)) {
        if (subject->opening.size() == kOpening) break;
        subject->opening.emplace_back(line);
    }
    return subject;
}

double mean_of_last(const std::vector<CourseStep>& steps) {
    const std::size_t count = std::min(kMeanSteps, steps.size());
    double sum = 0;
    for (std::size_t n = steps.size() - count; n < steps.size(); ++n) sum += steps[n].loss;
    return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::filesystem::path corpus_that_comes_along() { return asset_path("corpus/positions.txt"); }

double Course::seconds_left() const {
    if (done) return 0;
    if (query.steps == 0) return std::max(0.0, query.seconds - seconds());
    return share > 0 ? seconds() * (1 - share) / share : 0;
}

void CourseBoard::publish(const Course& course) {
    auto copy = std::make_shared<const Course>(course);
    {
        const std::lock_guard lock(mutex_);
        newest_ = std::move(copy);
    }
    if (published_) published_();
}

std::shared_ptr<const Course> CourseBoard::newest() const {
    const std::lock_guard lock(mutex_);
    return newest_;
}

Courses::Courses() : pool_(team_size()) {}
Courses::~Courses() = default;

std::shared_ptr<const Course> Courses::run(const CourseQuery& query, CourseBoard& board, const CancelToken& stop) {
    for (const auto& known : remembered_)
        if (known->query == query) {
            board.publish(*known);
            return known;
        }
    Running running;
    const auto stopped = [&] { return stop && stop(); };
    if (start(query, running, board))
        refused(running.course, [&] {
            while (step(running, board, stopped())) {
            }
        });
    return finish(running, board, !stopped());
}

void Courses::begin(const CourseQuery& query, std::shared_ptr<CourseBoard> board) {
    board_ = std::move(board);
    running_.reset();
    for (const auto& known : remembered_)
        if (known->query == query) return board_->publish(*known);
    running_.emplace();
    if (!start(query, *running_, *board_)) {
        finish(*running_, *board_, false);
        running_.reset();
    }
}

std::shared_ptr<const Course> Courses::advance(double seconds) {
    if (!running_) return nullptr;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    bool more = true;
    const bool fine = refused(running_->course, [&] {
        do more = step(*running_, *board_, false);
        while (more && Clock::now() < end);
    });
    if (fine && more) return nullptr;
    const auto finished = finish(*running_, *board_, true);
    running_.reset();
    return finished;
}

bool Courses::refused(Course& course, const std::function<void()>& work) {
    try {
        work();
        return true;
    } catch (const Error& error) {
        course.error = error.what();
        course.fault = error.fault();
    } catch (const std::bad_alloc&) {
        course.error = "this training needs more memory than there is, expected a smaller corpus";
        course.fault = Fault::memory;
    }
    return false;
}

bool Courses::start(const CourseQuery& query, Running& running, CourseBoard& board) {
    running.course.query = query;
    if (!refused(running.course, [&] { prepare(query, running.course); }) || !query.train) return false;
    keep_freed_memory();
    running.schedule.due(0, 0);  // prepare() took it
    board.publish(running.course);
    running.start = running.told = Clock::now();
    return true;
}

std::shared_ptr<const Course> Courses::finish(Running& running, CourseBoard& board, bool remembers) {
    Course& course = running.course;
    course.done = true;
    board.publish(course);
    auto finished = std::make_shared<const Course>(std::move(course));
    if (finished->query.train && finished->subject && remembers) {
        remembered_.push_front(finished);
        if (remembered_.size() > kRemembered) remembered_.pop_back();
    }
    return finished;
}

void Courses::prepare(const CourseQuery& query, Course& course) {
    CourseQuery fresh = query;
    fresh.train = false;
    if (!run_ || prepared_for_ != fresh || run_->trainer().steps() > 0) {
        run_.reset();
        auto folder = std::make_shared<const ScratchFolder>("view");
        run_ = std::make_unique<TrainingRun>(task_of(query), folder->path(), pool_);
        subject_ = subject_of(*run_, std::move(folder));
        prepared_for_ = fresh;
    }
    course.subject = subject_;
    take_snapshot(course);
}

void Courses::take_snapshot(Course& course) {
    CourseSnapshot snapshot;
    snapshot.step = run_->trainer().steps();
    snapshot.seconds = course.seconds();
    snapshot.loss = mean_of_last(course.steps);
    snapshot.heldout = run_->heldout_loss();
    snapshot.values = std::make_shared<const Parameters<float>>(run_->trainer().words().values);
    course.snapshots.push_back(std::move(snapshot));
}

bool Courses::step(Running& running, CourseBoard& board, bool stop) {
    Course& course = running.course;
    const CourseQuery& query = course.query;
    const auto since = [](Clock::time_point from) {
        return std::chrono::duration<double>(Clock::now() - from).count();
    };
    const auto end = [&] {
        if (course.snapshots.back().step != run_->trainer().steps()) take_snapshot(course);
        return false;
    };
    if (board.stop_asked() || stop) {
        course.stopped = true;
        return end();
    }
    const StepReport report = run_->step();
    running.tokens += report.tokens;
    course.steps.push_back({report.step, since(running.start), report.loss});
    course.tokens_per_second = static_cast<double>(running.tokens) / std::max(1e-9, course.seconds());
    course.share = std::min(1.0, query.steps > 0 ? static_cast<double>(report.step) / static_cast<double>(query.steps)
                                                 : course.seconds() / query.seconds);
    // The learning rate falls to 0 where the time is likely to end.
    if (query.steps == 0 && report.step >= kPaceKnown && course.share < 1)
        run_->trainer().set_steps(std::max(
            report.step + 1, static_cast<Index>(std::llround(static_cast<double>(report.step) / course.share))));
    const bool due = running.schedule.due(report.step, course.share);
    if (due) take_snapshot(course);
    if (due || since(running.told) >= kBetweenNews) {
        running.told = Clock::now();
        board.publish(course);
    }
    return course.share < 1 || end();
}

}  // namespace locus
