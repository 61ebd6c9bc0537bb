// locus bench cuda beside others, rehearsed on the processor, and under the sanitizer; no device is needed.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/conformance/run_program.h"
#include "tests/temporary_folder.h"

using namespace locus;
using namespace locus::test;
using nlohmann::json;

namespace {

/// A program that stands in for a Python with peers.py, or for the sanitizer.
std::string program(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
    const fs::path file = folder / name;
    write_file(file, "#!/bin/sh\n" + text);
    fs::permissions(file, fs::perms::owner_exec, fs::perm_options::add);
    return file.string();
}

json rehearsal(const std::string& python, const std::vector<std::string>& rows = {"forward"}) {
    std::vector<std::string> arguments = {"--against", "torch", "--rehearse", "--json", "--python", python, "--rows"};
    arguments.insert(arguments.end(), rows.begin(), rows.end());
    const Outcome outcome = run("locus-bench-cuda", arguments);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return json::parse(outcome.out)["against"];
}

/// Why each peer was not measured; ours always are.
std::vector<std::string> reasons(const json& row) {
    std::vector<std::string> found;
    for (const json& way : row["ways"]) {
        if (way["name"] == "ours") {
            CHECK(way["error"].get<double>() < 1e-5);
            CHECK(way["ms"].get<double>() > 0);
            continue;
        }
        CHECK_FALSE(way.contains("ms"));
        found.push_back(way["not_measured"]);
    }
    return found;
}

const std::string kAnswers =
    "while read -r line; do case $line in\n"
    "  *versions*) echo '{\"torch\": \"0\", \"transformers\": \"0\"}';;\n"
    "  *packages*) echo '{\"torch\": \"0\"}';;\n"
    "  *close*) echo '{}';;\n";

}  // namespace

TEST_CASE("bench cuda: a peer that is missing, refuses, ends or has other tensors is a row without a number", "[cli]") {
    const TemporaryFolder folder;
    for (const auto& [name, text, reason] : std::vector<std::array<std::string, 3>>{
             {"missing", "echo '{\"missing\": \"No module named torch\"}'\n", "No module named torch"},
             {"refuses", kAnswers + "*open*) echo '{\"refused\": \"no room\"}';; esac; done\n", "no room"},
             {"ends", kAnswers + "*open*) exit 1;; esac; done\n", "the peer ended instead of answering"},
             {"others", kAnswers + "*open*) echo '{\"how\": \"eager\", \"checksums\": {\"k\": 5}}';; esac; done\n",
              "the checksums differ"},
             {"talks", kAnswers + "*open*) echo nonsense;; esac; done\n", "the peer ended instead of answering"}}) {
        INFO(name);
        const json against = rehearsal(program(folder, name, text));
        REQUIRE(against["rows"].size() == 2);
        for (const json& row : against["rows"]) {
            const std::vector<std::string> found = reasons(row);
            CHECK(found.size() == 6);
            for (const std::string& one : found) CHECK_THAT(one, Catch::Contains(reason));
        }
    }
}

TEST_CASE("bench cuda: a peer that ended works again on the next shape", "[cli]") {
    const TemporaryFolder folder;
    const std::string mark = quoted((folder / "mark").string());
    const json against = rehearsal(program(folder, "ends once",
                                           kAnswers + "*open*) [ -e " + mark + " ] || { : >" + mark +
                                               "; exit 1; }; echo '{\"refused\": \"no room\"}';; esac; done\n"));
    CHECK_THAT(reasons(against["rows"][0]).front(), Catch::Contains("ended"));
    CHECK(reasons(against["rows"][1]).front() == "no room");
}

TEST_CASE("bench cuda: every kind of row is rehearsed, and the model's has ours once it can be timed", "[cli]") {
    const TemporaryFolder folder;
    const json against = rehearsal(program(folder, "none", "exit 0\n"), {"forward", "packed", "backward", "model"});
    std::vector<std::string> kinds;
    for (const json& row : against["rows"]) kinds.push_back(row["what"]);
    CHECK(kinds == std::vector<std::string>{"forward", "forward", "packed forward", "backward", "whole forward"});
}

TEST_CASE("bench cuda: options that belong together are asked for together", "[cli]") {
    CHECK(run("locus-bench-cuda", {"--rehearse"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--python", "python3"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--only", "peers"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--only", "everything"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--against", "nobody"}).status == 2);
}

TEST_CASE("bench cuda: the sanitizer's word is clean, not clean, or why there is none", "[cli]") {
    const auto sanitized = [](const std::string& text) {
        const TemporaryFolder folder;
        if (!text.empty()) program(folder, "compute-sanitizer", text);
        return run("locus-bench-cuda", {"--only", "sanitizer", "--json"},
                   "PATH=" + quoted(folder.path().string()) + ":$PATH; ");
    };
    const Outcome clean = sanitized("echo '========= ERROR SUMMARY: 0 errors'\n");
    CHECK(clean.status == 0);
    for (const char* tool : {"memcheck", "racecheck"}) {
        const json one = json::parse(clean.out)["sanitizer"][tool];
        CHECK(one["clean"] == true);
        CHECK(one["summary"] == "ERROR SUMMARY: 0 errors");
    }
    const Outcome dirty = sanitized("echo '========= RACECHECK SUMMARY: 1 hazard displayed'; exit 86\n");
    CHECK(dirty.status == 1);
    CHECK(json::parse(dirty.out)["sanitizer"]["racecheck"]["clean"] == false);
    const Outcome broken = sanitized("echo 'Error: no symbols'; exit 1\n");
    CHECK(broken.status == 4);
    CHECK_THAT(std::string(json::parse(broken.out)["sanitizer"]["memcheck"]["not_available"]),
               Catch::Contains("without a summary"));
    // It watched nothing: the tests themselves were skipped.
    const Outcome skipped = sanitized("echo 'skipped: no CUDA device (none)'; echo 'ERROR SUMMARY: 0 errors'\n");
    CHECK(skipped.status == 4);
    CHECK_THAT(std::string(json::parse(skipped.out)["sanitizer"]["memcheck"]["not_available"]),
               Catch::Contains("skipped"));
}
