#pragma once
// A program run to its end, and all that it printed.
#include <string>
#include <vector>

namespace locus::bench {

struct Captured {
    int status = 0;    // 128 + n if signal n ended it
    std::string text;  // standard output and standard error
};

/// Throws Error(unreadable) if it cannot be started.
Captured capture(const std::vector<std::string>& command);

}  // namespace locus::bench
