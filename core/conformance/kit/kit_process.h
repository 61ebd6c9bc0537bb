#pragma once
// A program that somebody else wrote, run for what it prints: it may fail, hang, or never stop writing.
#include <string>

namespace locus::conformance {

struct PortOutput {
    enum class End { itself, too_late, too_long };
    End end = End::itself;  // otherwise it was killed, with everything it had started
    int status = 0;         // of its exit; 128 + the signal that ended it
    std::string bytes;      // standard output
};

/// Runs `command` with the shell, `argument` behind it as one word, without any input, and waits until it has closed
/// its output, at most `seconds`.  It runs in a process group of its own, which is killed if it takes longer or writes
/// more than 1 GiB, and if SIGINT, SIGTERM or SIGHUP reaches this process meanwhile.  Throws Error(unreadable) if no
/// process can be started.
PortOutput output_of(const std::string& command, const std::string& argument, double seconds);

}  // namespace locus::conformance
