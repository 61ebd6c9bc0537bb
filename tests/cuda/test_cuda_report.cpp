// The report of locus-bench-cuda that grows row by row, and its tests in processes of their own.  Needs no device.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "core/check.h"
#include "core/io/atomic_file.h"
#include "tests/bench/cuda/device_tests.h"
#include "tests/bench/cuda/processes.h"
#include "tests/bench/cuda/rows_apart.h"

namespace locus::test::test_cuda_report {

using namespace locus::bench;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// A program that lists six tests as Catch2 does, and runs them as no test should be.
fs::path stand_in(const ScratchFolder& folder) {
    const fs::path file = folder / "tests";
    std::ofstream(file) << "#!/bin/sh\n"
                           "case \"$*\" in\n"
                           "  *--list-test-names-only) printf 'a, passes [x]\\nb fails\\nc hangs\\nd crashes\\ne is "
                           "skipped\\nf sees less\\n'; exit 6;;\n"
                           "  'a\\, passes \\[x]') exit 0;;\n"
                           "  'b fails') echo 'REQUIRE( false )'; exit 1;;\n"
                           "  'c hangs') sleep 60 & wait;;\n"
                           "  'd crashes') kill -SEGV $$;;\n"
                           "  'e is skipped') echo 'skipped: no CUDA device';;\n"
                           "  'f sees less') echo 'skipped: no recorded models beside this program';;\n"
                           "  *) exit 9;;\n"
                           "esac\n";
    fs::permissions(file, fs::perms::owner_exec, fs::perm_options::add);
    return file;
}

ordered_json read_json(const fs::path& file) { return ordered_json::parse(std::ifstream(file)); }

}  // namespace

TEST_CASE("report: a test that fails, hangs or crashes costs one row, and every row is in the file", "[emulation]") {
    const ScratchFolder folder("report");
    Report report(folder / "report.json");
    const Rows rows = report.rows("/tests", 60);
    run_device_tests(stand_in(folder), {}, {2, 1}, rows);
    const ordered_json written = read_json(folder / "report.json")["tests"];
    CHECK(written == report.all()["tests"]);
    std::map<std::string, std::string> results;
    for (const ordered_json& row : written) results[row["test"]] = row["result"];
    CHECK(results == std::map<std::string, std::string>{{"a, passes [x]", "passed"},
                                                        {"b fails", "failed"},
                                                        {"c hangs", "timed out"},
                                                        {"d crashes", "ended by a signal"},
                                                        {"e is skipped", "skipped"},
                                                        {"f sees less", "passed in part"}});
    for (const ordered_json& row : written)
        if (row["test"] == "b fails") CHECK(row["output"] == "REQUIRE( false )\n");
    CHECK(count_results(written) == ordered_json{{"passed", 1}, {"passed in part", 1}, {"failed", 3}, {"skipped", 1}});
}

TEST_CASE("report: tests are narrowed by name, and none at all is said", "[emulation]") {
    const ScratchFolder folder("report");
    Report report("");
    const fs::path program = stand_in(folder);
    run_device_tests(program, {{}, {}, {}, "passes"}, {}, report.rows("/tests", 60));
    CHECK(report.all()["tests"].size() == 1);
    CHECK_THROWS_WITH(run_device_tests(program, {{}, {}, {}, "packed"}, {}, report.rows("/tests", 60)),
                      Catch::Contains("no test for a device with \"packed\""));
}

TEST_CASE("report: when a part's time is over no row begins", "[emulation]") {
    const ScratchFolder folder("report");
    Report report("");
    run_device_tests(stand_in(folder), {}, {}, report.rows("/tests", 0));
    for (const ordered_json& row : report.all()["tests"]) CHECK(row["result"] == "not run");
    CHECK(count_results(report.all()["tests"])["failed"] == 6);
}

TEST_CASE("report: what is narrowed keeps the rows that are named", "[emulation]") {
    const Narrowing all, some{{512}, {"packed"}, {"flashdeberta"}, ""};
    CHECK((all.wants_tokens(7) && all.wants_row("backward") && all.wants_peer("anyone")));
    CHECK((some.wants_tokens(512) && !some.wants_tokens(8192)));
    CHECK((some.wants_row("packed forward") && !some.wants_row("forward")));
    CHECK((some.wants_peer("flashdeberta") && !some.wants_peer("Hugging Face eager")));
}

TEST_CASE("report: a program that cannot be started is said so", "[emulation]") {
    CHECK_THROWS_AS(capture({"/nowhere/at all"}), Error);
    const Captured quick = capture({"sh", "-c", "echo out; echo err >&2; exit 3"}, 30);
    CHECK((quick.status == 3 && !quick.timed_out));
    CHECK(quick.text == "out\nerr\n");
}

TEST_CASE("report: lines are read as they come, and a program that falls silent is ended", "[emulation]") {
    std::vector<std::string> lines;
    const auto keep = [&](const std::string& line) { lines.push_back(line); };
    const Captured whole = follow(
        {"sh", "-c", "echo one; sleep 0.2; echo two; printf three"}, [] { return 30.0; }, keep);
    CHECK((lines == std::vector<std::string>{"one", "two"}));
    CHECK((whole.status == 0 && whole.text == "three"));
    // Two lines in 0.8 s each keep it alive for longer than the limit of 1.2 s; then it says nothing.
    const Captured silent = follow(
        {"sh", "-c", "sleep 0.8; echo a; sleep 0.8; echo b; sleep 60"}, [] { return 1.2; }, keep);
    CHECK((silent.timed_out && silent.status == 128 + 9));
    CHECK((lines == std::vector<std::string>{"one", "two", "a", "b"}));
    CHECK(silent.seconds < 30);
}

TEST_CASE("report: a row that crashes or hangs costs one row, and what was known of it stays", "[emulation]") {
    // A program that measures rows 0 ... 6 from the one named on: 1 crashes after it has said something, 3 hangs, after
    // 4 the device is lost, and 5 says nothing and ends.
    const ScratchFolder folder("report");
    const fs::path program = folder / "measure";
    std::ofstream(program)
        << "#!/bin/sh\n"
           "n=$1; echo $n >>"
        << (folder / "starts").string()
        << "\n"
           "while [ $n -lt 7 ]; do case $n in\n"
           "  1) echo '{\"so_far\": {\"T\": 1, \"ways\": [5]}}'; kill -SEGV $$;;\n"
           "  3) sleep 60;;\n"
           "  5) exit 0;;\n"
           "  *) echo 'a library prints'; echo \"{\\\"row\\\": {\\\"T\\\": $n, \\\"ms\\\": $n}}\";;\n"
           "esac; [ $n -ne 4 ] || exit 75; n=$((n + 1)); done\n";
    fs::permissions(program, fs::perms::owner_exec, fs::perm_options::add);
    Plan plan;
    for (int n = 0; n < 7; ++n) plan.rows.push_back({{"T", n}});
    plan.seconds = 1;
    Report report(folder / "report.json");
    measure_apart(
        plan,
        [&](std::size_t first, double) {
            return std::vector<std::string>{program.string(), std::to_string(first)};
        },
        report.rows("/measured", 600));
    const ordered_json rows = read_json(folder / "report.json")["measured"];
    REQUIRE(rows.size() == 7);
    for (const int n : {0, 2, 4, 6}) CHECK(rows[n] == ordered_json{{"T", n}, {"ms", n}});
    CHECK(
        rows[1] ==
        ordered_json{{"T", 1}, {"ways", {5}}, {"not_measured", "its process was ended by signal 11"}, {"ended", true}});
    CHECK(rows[3]["not_measured"] == "it did not end within 1 seconds");
    CHECK(rows[5]["not_measured"] == "its process ended with status 0");
    CHECK_FALSE(report.all().contains("measured_so_far"));
    std::ifstream starts(folder / "starts");
    CHECK((std::vector<int>(std::istream_iterator<int>(starts), {}) == std::vector<int>{0, 2, 4, 5, 6}));
}

TEST_CASE("report: rows that no time was left for are named", "[emulation]") {
    Plan plan;
    plan.rows = {{{"T", 1}}, {{"T", 2}}};
    Report report("");
    measure_apart(
        plan, [](std::size_t, double) { return std::vector<std::string>{"/nowhere"}; }, report.rows("/measured", 0));
    for (const ordered_json& row : report.all()["measured"]) CHECK(row.contains("not_measured"));
    CHECK(report.all()["measured"].size() == 2);
    // What is known of a row that is not there yet is in the report until it is.
    const Rows rows = report.rows("/against/rows", 60);
    rows.add_so_far({{"T", 3}});
    CHECK(report.all()["against"]["rows_so_far"]["T"] == 3);
    rows.add({{"T", 3}});
    CHECK_FALSE(report.all()["against"].contains("rows_so_far"));
}

TEST_CASE("report: the process that measures prints rows and stops when its device is lost", "[emulation]") {
    Plan plan;
    plan.rows = {{{"T", 0}}, {{"T", 1}}, {{"T", 2}}};
    plan.measure = [](std::size_t n, const Plan::SoFar& so_far) {
        so_far({{"T", n}});
        return ordered_json{{"T", n}, {"ms", 1}};
    };
    std::ostringstream printed;
    std::streambuf* before = std::cout.rdbuf(printed.rdbuf());
    int calls = 0;
    const int lost = print_rows(plan, 1, 60, [&] { return ++calls > 1; });
    const int whole = print_rows(plan, 2, 60, [] { return true; });
    const int late = print_rows(plan, 0, 0, [] { return true; });
    std::cout.rdbuf(before);
    CHECK((lost == kDeviceLost && whole == 0 && late == 0));
    CHECK(printed.str() ==
          "{\"so_far\":{\"T\":1}}\n{\"row\":{\"T\":1,\"ms\":1}}\n"
          "{\"so_far\":{\"T\":2}}\n{\"row\":{\"T\":2,\"ms\":1}}\n");
}

}  // namespace locus::test::test_cuda_report
