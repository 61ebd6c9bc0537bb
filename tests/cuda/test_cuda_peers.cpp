// The processes of those whom our kernels are compared with: what one peer's end costs the others, and whether it is
// asked again.  A script that speaks their language stands for Python with its packages; no device is needed.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "tests/bench/cuda/against_peers.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_cuda_peers {

using namespace locus::bench;
using nlohmann::ordered_json;

namespace {

constexpr std::size_t kWell = 2, kIll = 3;  // of kPeers

/// A peer that is ill loses its device, and answers nothing else from then on, where `ills` names the request: with a
/// CUDA graph, or ("always") without one too.
constexpr const char* kScript = R"(#!/usr/bin/env python3
import json, os, struct, sys
ills = "ILLS".split()
lost = "AcceleratorError: an illegal memory access"
dead = ill = False
for line in sys.stdin:
    request = json.loads(line)
    do = request["do"]
    if do == "open":
        graphs = request.get("graphs", True)
        ill = request["peer"] == "PEER" and (graphs or "always" in ills)
    dead = dead or (ill and do in ills)
    if dead and "abort" in ills:
        os.abort()
    answer = {}
    if dead and do != "close":
        answer = {"error": lost}
    elif do == "versions":
        answer = {"torch": "0"}
    elif do == "open":
        answer = {"how": "its tuning, CUDA graph" if graphs else "its tuning", "checksums": {}}
    elif do == "take":
        with open(request["file"] + ".context", "wb") as file:
            file.write(struct.pack("f", 1))
        answer = {"tensors": ["context"]}
    elif do == "call":
        answer = {"ms": 1.0}
    print(json.dumps(answer), flush=True)
)";

struct Machine {
    TemporaryFolder folder;
    std::string python;

    explicit Machine(const std::string& ills) : python((folder.path() / "python").string()) {
        std::string script = kScript;
        script.replace(script.find("ILLS"), 4, ills);
        script.replace(script.find("PEER"), 4, kPeers[kIll]);
        std::ofstream(python) << script;
        std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    }
    /// Two peers, timed: what the table has of the well one, and of the ill one.
    static std::pair<ordered_json, ordered_json> row(Peers& peers, bool backward = false) {
        const ordered_json request = {{"do", "open"}, {"device", "cuda"}, {"backward", backward}};
        std::vector<TimedWay> ways;
        for (const std::size_t n : {kWell, kIll})
            ways.push_back(open_peer_way(peers, n, request, {}, 0, {{"context", {1}}}));
        time_ways(ways);
        peers.rest();
        return {ways[0].row, ways[1].row};
    }
};

void check_measured(const ordered_json& row, const std::string& how) {
    INFO(row.dump());
    CHECK(row.value("how", "") == how);
    CHECK(row.value("ms", 0.0) == 1.0);
    CHECK(row.value("error", 1.0) == 0);
    CHECK(!row.contains("not_measured"));
}

const std::string kLost = "AcceleratorError: an illegal memory access";

}  // namespace

TEST_CASE("emulation: a peer whose CUDA graph loses the device is asked once more without, and says so",
          "[emulation][peers]") {
    for (const std::string ills : {"open", "take", "take abort"}) {
        INFO(ills);
        const Machine machine(ills);
        Peers peers(machine.python, 100);
        for (int number = 0; number < 2; ++number) {  // and so it is in the next row
            const auto [well, ill] = Machine::row(peers);
            check_measured(well, "its tuning, CUDA graph");
            const std::string how = ill.value("how", "");
            check_measured(ill, how);
            CHECK_THAT(how, Catch::StartsWith("its tuning, no CUDA graph: "));
            if (ills != "take abort") CHECK_THAT(how, Catch::Contains(kLost));
        }
    }
}

TEST_CASE("emulation: a peer that fails both ways, or backward, is not measured, and costs no other row",
          "[emulation][peers]") {
    const Machine machine("take always");
    Peers peers(machine.python, 100);
    for (const bool backward : {false, true}) {
        const auto [well, ill] = Machine::row(peers, backward);
        check_measured(well, "its tuning, CUDA graph");
        CHECK_THAT(ill.value("not_measured", ""), Catch::Contains(kLost));
    }
    const Machine graphs_alone("take");
    Peers others(graphs_alone.python, 100);
    const auto [well, ill] = Machine::row(others, true);
    check_measured(well, "its tuning, CUDA graph");
    CHECK_THAT(ill.value("not_measured", ""), Catch::Contains(kLost));  // backward has no graph to blame
}

TEST_CASE("emulation: a peer that ends while it is timed has a new process for the next row", "[emulation][peers]") {
    const Machine machine("call");
    Peers peers(machine.python, 100);
    for (int number = 0; number < 2; ++number) {
        const auto [well, ill] = Machine::row(peers);
        check_measured(well, "its tuning, CUDA graph");
        CHECK(ill.value("how", "") == "its tuning, CUDA graph");  // it opened
        CHECK_THAT(ill.value("not_measured", ""), Catch::Contains(kLost));
    }
}

}  // namespace locus::test::test_cuda_peers
