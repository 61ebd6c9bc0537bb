#pragma once
// A training that is watched: when snapshots are taken, how it runs beside the window and publishes its progress.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "core/check.h"
#include "core/fast/thread_pool.h"
#include "core/io/atomic_file.h"
#include "core/models/deberta_config.h"
#include "core/tensor.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/training/parameters.h"

namespace locus {

/// When a snapshot is taken: often at first, where everything changes, then evenly.
/// Snapshots at steps 0, 1, 2, 4, 8, ... during the first sixteenth of a run, then one as each further sixteenth ends.
class SnapshotSchedule {
public:
    static constexpr int kParts = 16;

    /// Once per step, in order.  share: how much of the run is done, 0 ... 1, by steps or by time.
    bool due(Index step, double share);

private:
    int parts_ = 0;  // that have ended
};

class TrainingRun;

/// What decides a course, and nothing else.
struct CourseQuery {
    std::string corpus;  // a text file; empty: the one that comes along
    Index steps = 0;     // 0: as many as `seconds` give
    double seconds = 60;
    std::uint64_t seed = 1;
    bool train = false;  // false: fresh weights alone
    bool operator==(const CourseQuery&) const = default;
};

/// What all snapshots of a course share.
struct CourseSubject {
    DebertaConfig config;
    std::shared_ptr<const ScratchFolder> folder;  // with the tokenizer's files
    std::unique_ptr<const Tokenizer> tokenizer;
    Index sentences = 0, pieces = 0, weights = 0;
    std::vector<std::string> opening;  // the first lines of the corpus
};

/// Loss of one step on its own batch, in nats per masked word.
struct CourseStep {
    Index step = 0;      // 1 is the first
    double seconds = 0;  // since the first began
    double loss = 0;
};

struct CourseSnapshot {
    Index step = 0;  // 0: fresh weights
    double seconds = 0;
    double loss = 0;     // mean of the last steps on their batches; NaN at step 0
    double heldout = 0;  // of sentences that are never learnt from
    std::shared_ptr<const Parameters<float>> values;
};

/// A moment of a course; the next moment is another Course.
struct Course {
    CourseQuery query;
    std::string error;  // one sentence: why there is none, or why it ended early
    Fault fault = Fault::usage;
    std::shared_ptr<const CourseSubject> subject;  // nullptr: there is none
    std::vector<CourseStep> steps;
    std::vector<CourseSnapshot> snapshots;  // fresh weights first
    double share = 0;                       // of the run that is done, 0 ... 1
    double tokens_per_second = 0;
    bool done = false, stopped = false;  // stopped: done before its end, because the user stopped it

    double seconds() const { return steps.empty() ? 0 : steps.back().seconds; }
    /// From how fast it has been so far; 0 once done.
    double seconds_left() const;
};

/// Where a course is put up while it runs: both threads look here.
class CourseBoard {
public:
    /// `published` is called from the thread that trains: it wakes the window.
    explicit CourseBoard(std::function<void()> published) : published_(std::move(published)) {}

    void publish(const Course& course);
    /// nullptr before the first.
    std::shared_ptr<const Course> newest() const;
    /// Ends the course after the step under way; what was learnt stays.
    void ask_to_stop() { stop_ = true; }
    bool stop_asked() const { return stop_; }

private:
    std::function<void()> published_;
    mutable std::mutex mutex_;
    std::shared_ptr<const Course> newest_;
    std::atomic<bool> stop_ = false;
};

/// Runs courses, one at a time, and remembers the last ones.
class Courses {
public:
    static constexpr std::size_t kRemembered = 2;

    Courses();
    ~Courses();
    Courses(const Courses&) = delete;
    Courses& operator=(const Courses&) = delete;

    /// Publishes a course until it is done, and returns it.  Never throws: a refusal becomes Course::error.  Once
    /// `stop` says yes it ends like one that was stopped.
    std::shared_ptr<const Course> run(const CourseQuery& query, CourseBoard& board, const CancelToken& stop = {});

    /// The same in slices, where there is no thread for it: begin() prepares, and every advance() works on for so many
    /// seconds, one step at least, until it returns the course that is done.  nullptr: there is more to do.
    void begin(const CourseQuery& query, std::shared_ptr<CourseBoard> board);
    std::shared_ptr<const Course> advance(double seconds);

private:
    using Clock = std::chrono::steady_clock;
    /// A course that runs.
    struct Running {
        Course course;
        SnapshotSchedule schedule;
        Clock::time_point start, told;
        Index tokens = 0;
    };

    /// Prepares; true: there is something to train.
    bool start(const CourseQuery& query, Running& running, CourseBoard& board);
    void prepare(const CourseQuery& query, Course& course);
    /// One step of the training, published where it is time for that.  False: the course is at its end.
    bool step(Running& running, CourseBoard& board, bool stop);
    std::shared_ptr<const Course> finish(Running& running, CourseBoard& board, bool remembers);
    /// Calls work(); what it throws becomes the error of the course, and false.
    static bool refused(Course& course, const std::function<void()>& work);
    void take_snapshot(Course& course);

    ThreadPool pool_;
    CourseQuery prepared_for_;
    std::unique_ptr<TrainingRun> run_;
    std::shared_ptr<const CourseSubject> subject_;
    std::list<std::shared_ptr<const Course>> remembered_;  // the newest first
    std::optional<Running> running_;                       // of begin()
    std::shared_ptr<CourseBoard> board_;
};

/// assets/corpus/positions.txt of this source tree.
std::filesystem::path corpus_that_comes_along();

}  // namespace locus
