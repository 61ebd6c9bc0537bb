#pragma once
// The viewer as a program, on a display nobody sees.
#include "tests/run_program.h"
#include "tests/sanitizers.h"

namespace locus::test {

inline bool has_virtual_display() {
    return std::system("command -v xvfb-run >/dev/null && command -v xauth >/dev/null") == 0;
}

/// xvfb-run ends with a status of its own when its clean-up fails, so the viewer's is handed out through stderr.
inline Outcome own_status(Outcome outcome) {
    const std::size_t at = outcome.err.find("status ");
    if (at == std::string::npos) return outcome;
    outcome.status = std::atoi(outcome.err.c_str() + at + 7);
    outcome.err.erase(at);
    return outcome;
}

inline const char* hidden_display() { return "xvfb-run -a -n $((200 + $$ % 5000)) -s '-screen 0 2560x1600x24' "; }

/// In front of a program in a shell: one that crashes says where (crash_trace.cpp). A sanitizer says it by itself, and
/// the loader takes no path with a blank or a colon.
inline std::string traced() {
    const std::string library = LOCUS_CRASH_TRACE;
    if (kSanitized || library.find_first_of(" :'\"$\\") != std::string::npos) return "";
    return "LD_PRELOAD=" + library + " ";
}

/// `folder`: where it runs; empty: here.  `limits` is shell for the viewer alone, such as "ulimit -v 1000; ".
inline Outcome view(const std::vector<std::string>& arguments, const fs::path& folder = {},
                    const std::string& limits = "") {
    return own_status(run("locus-view", arguments,
                          (folder.empty() ? "" : "cd " + quoted(folder.string()) + " && ") + hidden_display() +
                              "sh -c '(" + limits + traced() + "exec \"$0\" \"$@\"); echo \"status $?\" >&2' "));
}

/// A whole line "locus view ..." as a shell reads it, with more after it; `display` false: the program needs none.
inline Outcome view_line(const std::string& line, const fs::path& folder, bool display = true) {
    const std::string program = (fs::path(LOCUS_BINARY_DIR) / "bin" / "locus-view").string();
    const std::string script = "cd " + quoted(folder.string()) + "; locus() { shift; " + traced() + quoted(program) +
                               " \"$@\"; }; " + line + "; echo \"status $?\" >&2";
    return own_status(run_file("/bin/bash", {"-c", script}, display ? hidden_display() : ""));
}

}  // namespace locus::test
