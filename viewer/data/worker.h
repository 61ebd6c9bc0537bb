#pragma once
// Work away from the window: the latest request wins, the window never waits.  Where there are no threads, in a
// browser, work runs on a fiber that pauses for a frame as often as the work asks whether to stop.  Where there are no
// fibers either, take() works: a slice of the work, where that can be cut into slices, with a frame after each; else
// the window waits for the answer, and a frame before that says so where answers take long.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/cancel.h"
#include "core/check.h"
#include "core/threads.h"
#include "viewer/data/fiber.h"

namespace locus {

/// True: this slice of the work is over.  Empty: it is not cut into slices.
using SliceEnd = std::function<bool()>;

/// Thrown out of work whose slice is over.  It is asked for again with the same request and goes on where it was.
struct Paused {};

/// Of the work under way on this thread; nullptr: none is.
inline thread_local const CancelToken* asked_by_work = nullptr;

/// For work that was not handed a CancelToken: whether anybody still wants the answer.  Outside of a worker, yes.
inline bool work_is_unwanted() { return asked_by_work && *asked_by_work && (*asked_by_work)(); }

/// The same between two steps.  Throws Cancelled where nobody does, which the worker takes for no answer.
inline void poll_work() { throw_if_cancelled(work_is_unwanted); }

/// One thread, if there are threads, that turns requests into answers.  `make` runs on the thread; it should say in its
/// answer what went wrong. What it throws all the same is thrown by take(): the thread, and with it the program, goes
/// on.
template <class Request, class Answer>
class Worker {
public:
    /// Work that took less than this is finished although a newer request waits: there is something to see meanwhile.
    static constexpr double kPatience = 0.3;  // seconds

    /// Where there are no threads: a frame is drawn after so much of an answer.
    static constexpr double kSlice = 0.03;  // seconds

    /// `make` takes a request, and where it likes to know when to give up, a CancelToken.  What it returns after that
    /// is thrown away; it may then be nullptr.  Where it can throw Paused and go on later, it takes a SliceEnd as well.
    template <class Make>
    Worker(Make make, std::function<void()> answered, bool threaded = kHasThreads)
        : answered_(std::move(answered)),
          way_(threaded              ? Way::thread
               : Fiber::available()  ? Way::fiber
               : Slices<Make>::value ? Way::slices
                                     : Way::whole) {
        if constexpr (Slices<Make>::value) {
            make_ = std::move(make);
        } else if constexpr (std::is_invocable_v<Make, const Request&, const CancelToken&>) {
            make_ = [make = std::move(make)](const Request& request, const CancelToken& stop, const SliceEnd&) {
                return make(request, stop);
            };
        } else {
            make_ = [make = std::move(make)](const Request& request, const CancelToken&, const SliceEnd&) {
                return make(request);
            };
        }
        if (way_ == Way::thread) thread_ = std::thread([this] { work(); });
    }
    /// Waits for work that is given up; a fiber cannot be waited for, so in a browser a worker lives as long as the
    /// program.
    ~Worker() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = dropped_ = true;
        }
        changed_.notify_one();
        if (thread_.joinable()) thread_.join();
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Takes the place of a request that is still waiting; one that is worked on for long is given up for it.
    void submit(Request request) {
        {
            const std::lock_guard lock(mutex_);
            next_ = std::move(request);
            superseded_ = working_;
            shown_waiting_ = false;
        }
        changed_.notify_one();
    }
    /// Gives up what waits and what is worked on: neither is answered.
    void cancel() {
        const std::lock_guard lock(mutex_);
        next_.reset();
        answer_.reset();
        dropped_ = working_;
    }
    /// The same for what has been worked on for so long that one wonders; false where nothing has.
    bool cancel_long_work() {
        constexpr double kWondered = 0.3;  // seconds
        if (seconds() < kWondered) return false;
        cancel();
        return true;
    }
    /// The newest answer, once.  Throws, once, what the work threw.
    std::shared_ptr<const Answer> take() {
        std::unique_lock lock(mutex_);
        if (way_ != Way::thread) work_here(lock);
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        return std::exchange(answer_, nullptr);
    }
    /// True while a request waits or is worked on, or an answer has not been taken; not for work that was given up.
    bool busy() const {
        const std::lock_guard lock(mutex_);
        return next_ || (working_ && !dropped_) || answer_;
    }
    /// How long what is worked on has taken so far; 0 where that is nothing, or was given up.  Without threads and
    /// slices: how long the last one took, while a request waits.
    double seconds() const {
        const std::lock_guard lock(mutex_);
        if (way_ == Way::whole) return next_ ? last_seconds_ : 0;
        return working_ && !dropped_ ? since_start() : 0;
    }
    /// True between two slices: take() goes on, and should be called soon.
    bool paused() const {
        const std::lock_guard lock(mutex_);
        return way_ == Way::slices && working_ && !dropped_;
    }

private:
    using Clock = std::chrono::steady_clock;
    enum class Way { thread, fiber, slices, whole };
    template <class Make>
    using Slices = std::is_invocable<Make, const Request&, const CancelToken&, const SliceEnd&>;

    double since_start() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
    bool asked_to_stop() const { return dropped_ || (superseded_ && since_start() > kPatience); }

    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return stop_ || next_; });
            if (stop_) return;
            answer(lock);
        }
    }

    /// What a program of one thread does of it in one frame.
    void work_here(std::unique_lock<std::mutex>& lock) {
        if (way_ == Way::fiber) {
            if (next_ && !std::exchange(on_fiber_, true)) Fiber::start([this] { work_on_fiber(); });
            return;
        }
        if (working_ && asked_to_stop()) give_up();
        if (working_ ||
            (next_ && (way_ == Way::slices || std::exchange(shown_waiting_, true) || last_seconds_ < kUnnoticed)))
            answer(lock);
    }

    void work_on_fiber() {
        std::unique_lock lock(mutex_);
        if (next_) answer(lock);  // it may have been given up since
        on_fiber_ = false;
    }

    /// What work is told that asks whether to stop; on a fiber the time for a frame.
    bool ask() {
        if (way_ == Way::fiber && std::chrono::duration<double>(Clock::now() - slice_).count() > kSlice) {
            const CancelToken* const mine = std::exchange(asked_by_work, nullptr);
            Fiber::pause();
            asked_by_work = mine;
            slice_ = Clock::now();
        }
        return asked_to_stop();
    }

    /// Of work that is paused nothing more is done.
    void give_up() {
        current_.reset();
        working_ = false;
    }

    /// Turns the request that waits into an answer, or goes on with one that paused; unlocked while it works.
    void answer(std::unique_lock<std::mutex>& lock) {
        if (!working_) {
            current_ = std::exchange(next_, std::nullopt);
            working_ = true;
            superseded_ = dropped_ = false;
            start_ = Clock::now();
        }
        slice_ = Clock::now();
        SliceEnd over;
        if (way_ == Way::slices)
            over = [this] { return std::chrono::duration<double>(Clock::now() - slice_).count() > kSlice; };
        const CancelToken stop = [this] { return ask(); };
        lock.unlock();
        std::shared_ptr<const Answer> answer;
        std::exception_ptr failure;
        bool ended = true;
        const CancelToken* const before = std::exchange(asked_by_work, &stop);
        try {
            answer = make_(*current_, stop, over);
        } catch (const Paused&) {
            ended = false;
        } catch (const Cancelled&) {
        } catch (...) {
            failure = std::current_exception();
        }
        asked_by_work = before;
        lock.lock();
        if (!ended) return answered_();
        if (!dropped_) failure_ = failure;
        give_up();
        last_seconds_ = since_start();
        if (!dropped_ && answer) answer_ = std::move(answer);
        answered_();
    }

    static constexpr double kUnnoticed = 0.1;  // seconds for which a window may stand still without a word

    std::function<std::shared_ptr<const Answer>(const Request&, const CancelToken&, const SliceEnd&)> make_;
    std::function<void()> answered_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Request> next_, current_;  // current_: what is worked on
    std::shared_ptr<const Answer> answer_;
    std::exception_ptr failure_;
    const Way way_;
    bool on_fiber_ = false;             // one was started and has not ended
    Clock::time_point start_, slice_;   // of what is worked on, of its slice
    double last_seconds_ = kUnnoticed;  // of the last answer; the first may take long
    bool working_ = false, stop_ = false, shown_waiting_ = false;
    std::atomic<bool> superseded_ = false, dropped_ = false;  // read while it works
    std::thread thread_;                                      // last: it starts with everything above in place
};

/// Keeps up with what a page asks: the newest answer, or why there is none.
/// Answer needs the members `request`, `error` (one sentence instead of the rest) and, where fault() is asked, `fault`.
template <class Request, class Answer>
class AnswerSource {
public:
    using Make = std::function<std::shared_ptr<const Answer>(const Request&)>;

    /// `make` must not throw; it runs on the worker's thread.  `answered` is called from there too: it wakes the
    /// window.
    AnswerSource(Make make, std::function<void()> answered) : make_(std::move(make)), answered_(std::move(answered)) {}
    /// Answer::make does the work.
    explicit AnswerSource(std::function<void()> answered) : AnswerSource(Answer::make, std::move(answered)) {}

    /// Once a frame.
    void update(const Request& request) {
        if (asked_ != request) {
            asked_ = request;
            stopped_ = false;
            if (!worker_) worker_.emplace(make_, answered_);
            worker_->submit(request);
        }
        auto answer = worker_->take();
        if (!answer) return;
        stopped_ = false;
        newest_ = answer;
        if (!answer->error.empty()) return;
        shown_ = std::move(answer);
        ++serial_;
    }
    /// As Worker::cancel_long_work; what was asked then counts as settled.
    bool stop() {
        if (!worker_ || !worker_->cancel_long_work()) return false;
        return stopped_ = true;
    }
    /// The newest without an error; nullptr before the first.
    const Answer* shown() const { return shown_.get(); }
    /// Changes whenever shown() does, from 1.
    std::uint64_t serial() const { return serial_; }
    const std::string& error() const { return newest_ ? newest_->error : nothing_; }
    Fault fault() const { return newest_ ? newest_->fault : Fault::usage; }
    /// True if what is shown, or error(), belongs to the newest request, or to this one, or that one was stopped.
    bool settled() const { return asked_ && settled(*asked_); }
    bool settled(const Request& request) const {
        return (newest_ && newest_->request == request) || (stopped_ && asked_ == request);
    }

private:
    Make make_;
    std::function<void()> answered_;
    std::optional<Request> asked_;
    std::shared_ptr<const Answer> newest_, shown_;
    std::uint64_t serial_ = 0;
    std::string nothing_;
    bool stopped_ = false;                           // what is asked was given up
    std::optional<Worker<Request, Answer>> worker_;  // last: ends before what it uses
};

}  // namespace locus
