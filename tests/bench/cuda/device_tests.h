#pragma once
// The tests that need a device, each in a process of its own: one that crashes or hangs costs one row.
#include <filesystem>

#include "tests/bench/cuda/report.h"

namespace locus::bench {

struct TestLimits {
    int jobs = 4;          // processes at once
    double seconds = 120;  // for each
};

/// Runs every test of the program that is tagged [cuda] and has the narrowing's text in its name.  A row for each:
/// {"test", "result": "passed", "passed in part" (it says what it could not look at), "failed", "skipped", "timed out"
/// or "ended by a signal", "seconds"}, and what it printed where it did not pass.  Throws Error(unreadable) if the
/// program has no such test.
void run_device_tests(const std::filesystem::path& program, const Narrowing& narrowing, const TestLimits& limits,
                      const Rows& rows);

/// {"passed", "passed in part", "failed", "skipped"} of these rows; whatever has another name failed.
nlohmann::ordered_json count_results(const nlohmann::ordered_json& rows);

}  // namespace locus::bench
