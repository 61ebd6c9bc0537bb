#pragma once
// Another program, run for what it prints.  It may fail, hang, or never stop writing.
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/cancel.h"

namespace locus {

struct ProgramOutput {
    enum class End { itself, cancelled, too_late, too_long };
    End end = End::itself;  // otherwise it was killed, with everything it had started
    int status = 0;         // of its exit; 128 + the signal that ended it
    std::string out, err;   // standard output and error, as far as they came

    bool succeeded() const { return end == End::itself && status == 0; }
    /// What went wrong in one sentence that begins with the program's name: its own last line on stderr where it wrote
    /// one, else how it ended.  Empty where it succeeded.
    std::string error(const std::string& name) const;
};

/// As the shell of a user reads it: bare where that is safe, else in quotes that keep every character (bash, zsh, ksh).
std::string shell_quoted(const std::string& word);

/// The program of that name in the folder of the running one, e.g. "locus-kit".
/// Throws Error(unsupported) with one sentence where there is none.
std::filesystem::path sibling_program(const std::string& name);

/// Runs `file` with `arguments`, which no shell reads, without any input and in a process group of its own, and waits
/// until it has ended.  It is killed when `stop` says yes, after `seconds`, or when it has written more than 256 MiB.
/// Several threads may call this at once.  Throws Error(unreadable) if it cannot be started.
ProgramOutput run_subprocess(const std::filesystem::path& file, const std::vector<std::string>& arguments,
                             const CancelToken& stop = {}, double seconds = std::numeric_limits<double>::infinity());

/// Runs a command line that somebody else wrote: the shell reads `command`, and `argument` follows it as one word.
/// Standard error goes where ours goes; ProgramOutput::err stays empty.  Waits until the command has ended and
/// everybody it started has closed standard output, at most `seconds`; killed, with everything it started, if it takes
/// longer or writes more than 1 GiB, and if SIGINT, SIGTERM or SIGHUP reaches this process meanwhile. Throws
/// Error(unreadable) if no process can be started.
ProgramOutput run_shell_command(const std::string& command, const std::string& argument, double seconds);

}  // namespace locus
