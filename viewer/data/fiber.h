#pragma once
// Work on a stack of its own, which can be left in the middle and gone on with later, on the one thread that a program
// in a browser has.  The stack is the browser's: WebAssembly's JavaScript Promise Integration, which Chromium has from
// 137.
#include <functional>

namespace locus {

class Fiber {
public:
    /// False: there are none here, and work runs to its end.
    static bool available();
    /// Runs `work`, which must not throw, from before the next frame on.
    static void start(std::function<void()> work);
    /// Called by such work: it goes on before the frame after next has been drawn.  Does nothing outside of it.
    static void pause();
};

}  // namespace locus
