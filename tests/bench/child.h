#pragma once
// What a program costs when it runs in a process of its own.
#include <filesystem>
#include <string>
#include <vector>

namespace locus::bench {

struct ChildCost {
    double seconds = 0, megabytes = 0;  // peak resident memory
};

/// Runs a command to its end; what it prints goes to `output`.  Throws Error(unreadable) if it does not end with this
/// status.
ChildCost run_child(const std::vector<std::string>& command, const std::filesystem::path& output = "/dev/null",
                    int expected_status = 0);

/// A program of this build, beside the one that runs.
std::filesystem::path program_beside(const std::string& name);

}  // namespace locus::bench
