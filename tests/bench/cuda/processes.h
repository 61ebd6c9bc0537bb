#pragma once
// Other programs, run to their end or to the end of their time.
#include <string>
#include <vector>

namespace locus::bench {

/// A program that ended, and all that it printed.
struct Captured {
    int status = 0;          // 128 + n if signal n ended it
    bool timed_out = false;  // it was ended, and all that it had started
    std::string text;        // standard output and standard error
    double seconds = 0;
};

/// The first word is looked for in PATH.  `limit`: seconds; 0: none.  Throws Error(unreadable) if it cannot be started.
Captured capture(const std::vector<std::string>& command, double limit = 0);

}  // namespace locus::bench
