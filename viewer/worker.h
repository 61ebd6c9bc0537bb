#pragma once
// Work away from the window: the latest request wins, the window never waits.
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace locus {

/// One thread that turns requests into answers.  `make` must not throw; it runs on the thread.
template <class Request, class Answer>
class Worker {
public:
    Worker(std::function<std::shared_ptr<const Answer>(const Request&)> make, std::function<void()> answered)
        : make_(std::move(make)), answered_(std::move(answered)), thread_([this] { work(); }) {}
    ~Worker() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Takes the place of a request that is still waiting.
    void submit(Request request) {
        {
            const std::lock_guard lock(mutex_);
            next_ = std::move(request);
        }
        changed_.notify_one();
    }
    /// The newest answer, once.
    std::shared_ptr<const Answer> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(answer_, nullptr);
    }
    /// True while a request waits or is worked on, or an answer has not been taken.
    bool busy() const {
        const std::lock_guard lock(mutex_);
        return next_ || working_ || answer_;
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return stop_ || next_; });
            if (stop_) return;
            const Request request = std::move(*next_);
            next_.reset();
            working_ = true;
            lock.unlock();
            std::shared_ptr<const Answer> answer = make_(request);
            lock.lock();
            working_ = false;
            answer_ = std::move(answer);
            answered_();
        }
    }

    std::function<std::shared_ptr<const Answer>(const Request&)> make_;
    std::function<void()> answered_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Request> next_;
    std::shared_ptr<const Answer> answer_;
    bool working_ = false, stop_ = false;
    std::thread thread_;  // last: it starts with everything above in place
};

}  // namespace locus
