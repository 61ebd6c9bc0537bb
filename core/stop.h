#pragma once
// How long work is given up: it asks between its steps whether anybody still wants the result.
#include <exception>
#include <functional>

namespace locus {

/// True: nobody wants the result any more.  Empty: nobody ever says so.  Called on the thread that works.
using StopAsked = std::function<bool()>;

/// Thrown out of work that was given up; nothing is wrong.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "this work was stopped before its end"; }
};

inline void give_up_if(const StopAsked& stop) {
    if (stop && stop()) throw Stopped();
}

}  // namespace locus
