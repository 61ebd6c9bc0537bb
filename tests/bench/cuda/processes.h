#pragma once
// Other programs, run to their end or to the end of their time.
#include <functional>
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

/// The same, but `line` is called with every line of standard output as it comes, and standard error is this program's.
/// `limit` is asked before each line: so many seconds it may take.  The text is that of a last line without an end.
Captured follow(const std::vector<std::string>& command, const std::function<double()>& limit,
                const std::function<void(const std::string&)>& line);

/// To be called at the beginning of main: where SIGTERM, SIGINT or SIGHUP ends this program, they also end what capture
/// and follow have started, which would otherwise keep the device.
void end_children_with_us();

}  // namespace locus::bench
