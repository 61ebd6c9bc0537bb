// The report of locus-bench-cuda that grows row by row, and its tests in processes of their own.  Needs no device.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/check.h"
#include "core/io/atomic_file.h"
#include "tests/bench/cuda/device_tests.h"
#include "tests/bench/cuda/processes.h"

namespace locus::test::test_cuda_report {

using namespace locus::bench;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

/// A program that lists five tests as Catch2 does, and runs them as no test should be.
fs::path stand_in(const ScratchFolder& folder) {
    const fs::path file = folder / "tests";
    std::ofstream(file) << "#!/bin/sh\n"
                           "case \"$*\" in\n"
                           "  *--list-test-names-only) printf 'a, passes [x]\\nb fails\\nc hangs\\nd crashes\\ne is "
                           "skipped\\n'; exit 5;;\n"
                           "  'a\\, passes \\[x]') exit 0;;\n"
                           "  'b fails') echo 'REQUIRE( false )'; exit 1;;\n"
                           "  'c hangs') sleep 60 & wait;;\n"
                           "  'd crashes') kill -SEGV $$;;\n"
                           "  'e is skipped') echo 'skipped: no CUDA device';;\n"
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
                                                        {"e is skipped", "skipped"}});
    for (const ordered_json& row : written)
        if (row["test"] == "b fails") CHECK(row["output"] == "REQUIRE( false )\n");
    CHECK(count_results(written) == ordered_json{{"passed", 1}, {"failed", 3}, {"skipped", 1}});
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
    CHECK(count_results(report.all()["tests"])["failed"] == 5);
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

}  // namespace locus::test::test_cuda_report
