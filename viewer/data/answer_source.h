#pragma once
// What a page asks of its exhibit, worked out away from the window: the newest answer, or why there is none.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "viewer/data/worker.h"

namespace locus {

/// Answer needs `static std::shared_ptr<const Answer> make(const Request&)` that does not throw, and the members
/// `request` and `error` (one sentence instead of the rest).
template <class Request, class Answer>
class AnswerSource {
public:
    /// `answered` is called from the worker's thread: it wakes the window.
    explicit AnswerSource(std::function<void()> answered) : answered_(std::move(answered)) {}

    /// Once a frame.
    void update(const Request& request) {
        if (asked_ != request) {
            asked_ = request;
            if (!worker_) worker_.emplace(Answer::make, answered_);
            worker_->submit(request);
        }
        auto answer = worker_->take();
        if (!answer) return;
        error_ = answer->error;
        answered_request_ = answer->request;
        if (!error_.empty()) return;
        shown_ = std::move(answer);
        ++serial_;
    }
    /// The newest without an error; nullptr before the first.
    const Answer* shown() const { return shown_.get(); }
    /// Changes whenever shown() does, from 1.
    std::uint64_t serial() const { return serial_; }
    const std::string& error() const { return error_; }
    bool settled() const { return asked_ && answered_request_ == asked_; }

private:
    std::function<void()> answered_;
    std::optional<Request> asked_, answered_request_;
    std::shared_ptr<const Answer> shown_;
    std::uint64_t serial_ = 0;
    std::string error_;
    std::optional<Worker<Request, Answer>> worker_;  // last: ends before what it uses
};

}  // namespace locus
