#pragma once
// The viewer on a display nobody sees.
#include "tests/conformance/run_program.h"

namespace locus::test {

inline bool has_virtual_display() {
    return std::system("command -v xvfb-run >/dev/null && command -v xauth >/dev/null") == 0;
}

/// xvfb-run ends with a status of its own when its clean-up fails, so the viewer's is handed out through stderr.
/// `folder`: where it runs; empty: here.
inline Outcome view(const std::vector<std::string>& arguments, const fs::path& folder = {}) {
    Outcome outcome = run("locus-view", arguments,
                          (folder.empty() ? "" : "cd " + quoted(folder.string()) + " && ") +
                              "xvfb-run -a -n $((200 + $$ % 5000)) -s '-screen 0 2560x1600x24' "
                              "sh -c '\"$0\" \"$@\"; echo \"status $?\" >&2' ");
    const std::size_t at = outcome.err.find("status ");
    if (at == std::string::npos) return outcome;
    outcome.status = std::atoi(outcome.err.c_str() + at + 7);
    outcome.err.erase(at);
    return outcome;
}

}  // namespace locus::test
