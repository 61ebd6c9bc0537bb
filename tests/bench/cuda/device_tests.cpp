#include "tests/bench/cuda/device_tests.h"

#include <atomic>
#include <sstream>
#include <thread>

#include "core/check.h"
#include "tests/bench/cuda/processes.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;

std::vector<std::string> test_names(const std::filesystem::path& program, const std::string& part) {
    // The number of tests is its exit status, so that says nothing.
    std::istringstream lines(capture({program.string(), "[cuda]", "--list-test-names-only"}, 60).text);
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);)
        if (!line.empty() && line.find(part) != std::string::npos) names.push_back(line);
    return names;
}

/// As Catch2 wants a name on its command line: commas and brackets would be its own.
std::string as_filter(const std::string& name) {
    std::string filter;
    for (const char c : name) filter += (c == ',' || c == '[' || c == '\\' ? "\\" : "") + std::string(1, c);
    return filter;
}

ordered_json run_test(const std::filesystem::path& program, const std::string& name, double seconds) {
    const Captured ran = capture({program.string(), as_filter(name)}, seconds);
    const auto said = [&](const char* words) { return ran.text.find(words) != std::string::npos; };
    const std::string result = ran.timed_out                     ? "timed out"
                               : ran.status >= 128               ? "ended by a signal"
                               : ran.status != 0                 ? "failed"
                               : said("skipped: no CUDA device") ? "skipped"
                               : said("skipped: ")               ? "passed in part"
                                                                 : "passed";
    ordered_json row = {{"test", name}, {"result", result}, {"seconds", ran.seconds}};
    if (result != "passed") row["output"] = ran.text.substr(0, 4000);
    return row;
}

/// In a thread of its own an error has nobody to catch it.
ordered_json try_test(const std::filesystem::path& program, const std::string& name, double seconds) {
    try {
        return run_test(program, name, seconds);
    } catch (const std::exception& error) {
        return {{"test", name}, {"result", "failed"}, {"output", error.what()}};
    }
}

}  // namespace

void run_device_tests(const std::filesystem::path& program, const Narrowing& narrowing, const TestLimits& limits,
                      const Rows& rows) {
    const std::vector<std::string> names = test_names(program, narrowing.tests);
    if (names.empty())
        throw Error(Fault::unreadable,
                    program.string() + " has no test for a device" +
                        (narrowing.tests.empty() ? "" : " with \"" + narrowing.tests + "\" in its name"));
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t n; (n = next++) < names.size();)
            rows.add(rows.is_over() ? ordered_json{{"test", names[n]}, {"result", "not run"}, {"output", rows.over()}}
                                    : try_test(program, names[n], limits.seconds));
    };
    std::vector<std::thread> team;
    for (int n = 1; n < limits.jobs; ++n) team.emplace_back(work);
    work();
    for (std::thread& one : team) one.join();
}

ordered_json count_results(const ordered_json& rows) {
    ordered_json counts = {{"passed", 0}, {"passed in part", 0}, {"failed", 0}, {"skipped", 0}};
    for (const ordered_json& row : rows) {
        const std::string result = row["result"], counted = counts.contains(result) ? result : "failed";
        counts[counted] = counts[counted].get<int>() + 1;
    }
    return counts;
}

}  // namespace locus::bench
