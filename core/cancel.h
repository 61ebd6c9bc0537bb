#pragma once
// How long work is given up: it asks between its steps whether anybody still wants the result.
#include <exception>
#include <functional>

namespace locus {

/// True: nobody wants the result any more.  Empty: nobody ever says so.  Called on the thread that works.
using CancelToken = std::function<bool()>;

/// Thrown out of work that was given up; nothing is wrong.
struct Cancelled : std::exception {
    const char* what() const noexcept override { return "this work was stopped before its end"; }
};

inline void throw_if_cancelled(const CancelToken& stop) {
    if (stop && stop()) throw Cancelled();
}

}  // namespace locus
