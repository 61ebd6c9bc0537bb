// locus bench cuda beside others, rehearsed on the processor, and under the sanitizer; no device is needed.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/conformance/shim_case.h"
#include "tests/run_program.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_bench_cuda {

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

TEST_CASE("bench cuda: every kind of row is rehearsed", "[cli]") {
    const TemporaryFolder folder;
    const json against = rehearsal(program(folder, "none", "exit 0\n"), {"forward", "packed", "backward", "model"});
    std::vector<std::string> kinds;
    for (const json& row : against["rows"]) {
        kinds.push_back(row["what"]);
        CHECK(reasons(row).size() == (row["what"] == "whole forward" ? 4 : 6));
    }
    CHECK(kinds == std::vector<std::string>{"forward", "forward", "packed forward", "backward", "whole forward"});
}

TEST_CASE("bench cuda: a peer's whole forward counts if weights and ids arrived, with its error beside ours", "[cli]") {
    const TemporaryFolder folder;
    const auto ways = [&](const std::string& name, const std::string& text) {
        return rehearsal(program(folder, name, kAnswers + text + "esac; done\n"), {"model"})["rows"][0]["ways"];
    };
    const json others = ways("others", "*model*) echo '{\"how\": \"eager\", \"checksums\": {\"ids\": 5}}';;\n");
    REQUIRE(others.size() == 5);
    CHECK(others[0]["error"].get<double>() < 1e-5);
    for (std::size_t n = 1; n < others.size(); ++n)
        CHECK_THAT(std::string(others[n]["not_measured"]), Catch::Contains("the checksums differ"));
    if (!installed("python3")) return;  // the stand-in below reads files
    // Whoever answers with the right checksums, and rows of zeros, is wrong by all there is.
    const std::string sums = quoted((folder / "sums.py").string());
    write_file(folder / "sums.py",
               "import json, os, struct, sys, zlib\n"
               "folder = json.loads(sys.argv[1])['folder']\n"
               "bytes_of = lambda name: open(os.path.join(folder, name), 'rb').read()\n"
               "model = bytes_of('model.safetensors')\n"
               "values = 8 + struct.unpack('<Q', model[:8])[0]\n"
               "found = {'ids': zlib.crc32(bytes_of('ids'))}\n"
               "for name, tensor in json.loads(model[8:values]).items():\n"
               "    start, end = tensor['data_offsets']\n"
               "    found[name] = zlib.crc32(model[values + start:values + end])\n"
               "print(json.dumps({'how': 'eager', 'checksums': found}))\n");
    const std::string zeros = quoted((folder / "zeros.py").string());
    write_file(folder / "zeros.py",
               "import json, sys\n"
               "request = json.loads(sys.argv[1])\n"
               "assert request['which'] == 1\n"
               "open(request['file'] + '.hidden', 'wb').write(bytes(4 * 24 * 96))\n"
               "print(json.dumps({'tensors': ['hidden']}))\n");
    const json right = ways("right", "*take*) python3 " + zeros + " \"$line\";;\n*model*) python3 " + sums +
                                         " \"$line\";;\n*call*) echo '{\"ms\": 3}';;\n");
    REQUIRE(right.size() == 5);
    for (std::size_t n = 1; n < right.size(); ++n) {
        INFO(right[n].dump());
        CHECK(right[n]["error"] == 1);
        CHECK(right[n]["ms"] == 3);
    }
}

TEST_CASE("bench cuda: a peer and a length can be asked for alone, and the report is written on the way", "[cli]") {
    const TemporaryFolder folder;
    const std::string file = (folder / "report.json").string();
    const Outcome outcome =
        run("locus-bench-cuda", {"--against", "torch", "--rehearse", "--python", program(folder, "none", "exit 0\n"),
                                 "--peer", "flashdeberta", "--tokens", "24", "40", "--report", file});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const json rows = json::parse(read_file(file))["against"]["rows"];
    REQUIRE(rows.size() == 3);
    CHECK(rows[0]["what"] == "packed forward");
    CHECK(rows[1]["what"] == "backward");
    CHECK(rows[2]["what"] == "whole forward");
    for (const json& row : rows) {
        REQUIRE(row["ways"].size() == 2);
        CHECK(row["ways"][1]["name"] == "flashdeberta");
    }
}

TEST_CASE("bench cuda: options that belong together are asked for together", "[cli]") {
    CHECK(run("locus-bench-cuda", {"--rehearse"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--python", "python3"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--only", "peers"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--only", "everything"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--against", "nobody"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--peer", "flashdeberta"}).status == 2);
    CHECK(run("locus-bench-cuda", {"--against", "torch", "--rehearse", "--peer", "nobody"}).status == 2);
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

TEST_CASE("bench cuda: what the sanitizer found first is in the report while it goes on", "[cli]") {
    const TemporaryFolder folder;
    const std::string report = (folder / "report.json").string(), mark = (folder / "child").string();
    // memcheck finds something; racecheck does not end, and with it must end whatever it has started.
    program(folder, "compute-sanitizer",
            "case $2 in memcheck) echo 'Invalid read'; echo '= ERROR SUMMARY: 1 error'; exit 86;; esac\n"
            "sleep 60 & echo $! >" +
                quoted(mark) + "; wait\n");
    const Outcome outcome =
        shell("PATH=" + quoted(folder.path().string()) + ":$PATH; export PATH; timeout -k 5 3 " +
              quoted((fs::path(LOCUS_BINARY_DIR) / "bin/locus-bench-cuda").string()) + " --only sanitizer --report " +
              quoted(report) + "; sleep 0.2; cut -d' ' -f3 /proc/$(cat " + quoted(mark) + ")/stat");
    INFO(outcome.err);
    CHECK((outcome.out.empty() || outcome.out == "Z\n"));  // ended, whether or not anybody has asked how
    const json found = json::parse(read_file(report))["sanitizer"];
    CHECK(found["memcheck"]["clean"] == false);
    CHECK_THAT(std::string(found["memcheck"]["output"]), Catch::Contains("Invalid read"));
    CHECK_FALSE(found.contains("racecheck"));
}

namespace {

/// A folder as `bench cuda --pack` makes it, with shell scripts for the two programs; the xz in its PATH does not work.
struct Session {
    const TemporaryFolder folder;
    const fs::path pack = folder / "pack", bin = folder / "bin";

    Session() {
        fs::create_directories(pack);
        fs::create_directories(bin);
        fs::copy_file(fs::path(LOCUS_SOURCE_DIR) / "tests/bench/cuda/session.sh", pack / "session.sh");
        for (const char* name : {"locus-bench-cuda", "locus-tests-cuda"}) {
            write_file(pack / name,
                       "#!/bin/sh\n"
                       "echo \"$@\" | cut -c1-60\n"
                       "for last; do :; done; echo '{}' >\"$last\"\n"
                       "case \"$*\" in *ladder*) echo 'the ladder broke' >&2; exit 1;; esac\n");
            REQUIRE(shell("xz " + quoted((pack / name).string())).status == 0);
        }
        write_file(bin / "xz", "#!/bin/sh\nexit 127\n");
        fs::permissions(bin / "xz", fs::perms::owner_exec, fs::perm_options::add);
    }
    Outcome run(const std::string& words, const std::string& before = "") const {
        return shell(before + " PATH=" + quoted(bin.string()) + ":$PATH bash " +
                     quoted((pack / "session.sh").string()) + " " + words);
    }
};

}  // namespace

TEST_CASE("session.sh: unpacks without xz, keeps earlier reports, says why a part failed, and refuses an unknown one",
          "[cli]") {
    if (!installed("xz") || !installed("python3")) return;
    const Session session;
    const Outcome unknown = session.run("tests walk");
    CHECK(unknown.status == 2);
    CHECK(unknown.out.empty());
    CHECK_THAT(unknown.err, Catch::Contains("there is no part \"walk\""));

    write_file(session.pack / "locus-tests-cuda.new", "half");  // of an unpacking that was ended
    const Outcome first = session.run("kernels ladder");
    INFO(first.err);
    CHECK(first.status == 0);
    CHECK_THAT(first.out, Catch::Contains("--minutes 7 --only kernels encoders"));
    CHECK_THAT(first.out, Catch::Contains("the ladder broke\n   status 1"));
    CHECK(fs::exists(session.pack / "reports/kernels.json"));

    const Outcome second = session.run("kernels", "MINUTES=3 REPORTS=" + quoted((session.folder / "out").string()));
    CHECK_THAT(second.out, Catch::Contains("--minutes 3 --only kernels"));
    CHECK(listing(session.folder / "out") == std::vector<std::string>{"kernels.json", "kernels.log", "kernels.txt"});
    session.run("kernels", "REPORTS=" + quoted((session.folder / "out").string()));
    CHECK(listing(session.folder / "out").size() == 6);
}

}  // namespace locus::test::test_bench_cuda
