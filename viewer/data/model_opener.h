#pragma once
// Another model while the window is open: read away from the window, taken when it is whole.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "viewer/data/deberta_session.h"
#include "viewer/data/worker.h"
#include "viewer/state/state.h"

namespace locus {

/// What came of opening a model: a session, or why there is none.
struct OpenedSession {
    std::string model;  // as it was asked for
    std::shared_ptr<const DebertaSession> session;
    std::string error;  // one sentence; empty where there is a session
};

/// Never throws: a refusal becomes OpenedSession::error.
OpenedSession open_session(const std::string& model, std::uint64_t first_serial);

class ModelOpener {
public:
    /// `opened` is called on another thread.
    explicit ModelOpener(std::function<void()> opened);

    /// Begins to open a folder or a built-in model, instead of one that is being opened.
    void open(const std::string& model);
    /// What is being opened will not be taken.
    void cancel() { worker_.cancel(); }
    /// Once, when it is there.
    std::shared_ptr<const OpenedSession> take() { return worker_.take(); }
    bool busy() const { return worker_.busy(); }
    /// How long it has taken so far.
    double seconds() const { return worker_.seconds(); }

private:
    struct Order {
        std::string model;
        std::uint64_t first_serial = 0;
    };
    std::uint64_t opened_ = 0;  // how many sessions were asked for; each numbers its answers in a range of its own
    Worker<Order, OpenedSession> worker_;
};

/// Layer, head and token ids that the model has; what it has not is brought to the nearest it has, or dropped.  Returns
/// what was dropped in one sentence, or nothing.
std::string fit_to_session(const DebertaSession& session, State& state);

}  // namespace locus
