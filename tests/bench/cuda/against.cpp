#include "tests/bench/cuda/against.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <memory>

#include "cuda/timed_problem.h"
#include "tests/bench/cuda/against_problem.h"
#include "tests/bench/cuda/against_ratios.h"
#include "tests/bench/peer.h"
#include "tests/temporary_folder.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int kToOpen = 400, kToCall = 120;  // seconds; what opens compiles and tunes
const std::vector<std::string> kPeers = {"Hugging Face eager", "torch.compile",     "flashdeberta",
                                         "disentangled-flash", "SDPA, no position", "FlexAttention"};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A process for each peer.  One that ended is started again for the next shape.
class Peers {
public:
    explicit Peers(const std::string& python) : python_(python) {
        std::vector<std::future<std::unique_ptr<Peer>>> starting;
        for (std::size_t n = 0; n < kPeers.size(); ++n)
            starting.push_back(std::async(std::launch::async, [&] { return std::make_unique<Peer>(python_); }));
        for (auto& one : starting) peers_.push_back(one.get());
    }
    /// Everyone frees what the last problem took.
    void rest() {
        for (const auto& one : peers_) try {
                if (one->runs()) one->ask({{"do", "close"}}, kToCall);
            } catch (const Error&) {  // it ended; at() starts another
            }
    }
    Peer& at(std::size_t n) {
        if (!peers_[n]->runs()) peers_[n] = std::make_unique<Peer>(python_);
        if (!peers_[n]->runs()) throw Error(Fault::unreadable, peers_[n]->missing());
        return *peers_[n];
    }

private:
    std::string python_;
    std::vector<std::unique_ptr<Peer>> peers_;
};

/// Who is timed: a row of the table that grows.
struct Way {
    ordered_json row;
    std::function<double()> call;  // milliseconds; empty: it is not measured
    std::vector<double> times;

    void refuse(const std::string& why) {
        row["not_measured"] = why;
        call = nullptr;
    }
};

/// Our kernels, or in a rehearsal the readable functions in float32.
class Ours {
public:
    Ours(const AgainstProblem& problem, cuda::FusedPrecision precision, bool rehearse) : problem_(problem) {
        if (!rehearse)
            device_ = std::make_unique<cuda::TimedProblem>(problem.input(), problem.longest_line(), precision,
                                                           problem.d_context());
    }
    double call() {
        if (!device_) {
            const double start = seconds();
            for (Index h = 0; h < problem_.shape().heads; ++h) found_ = problem_.head<float>(h, true);
            return (seconds() - start) * 1e3;
        }
        return problem_.shape().backward() ? device_->backward() : device_->forward();
    }
    HeadRows<float> head(Index h) {
        if (!device_) return problem_.head<float>(h, true);
        device_->forward();
        if (!problem_.shape().backward()) return problem_.head_of(device_->context(), h);
        device_->backward();
        return problem_.head_of(device_->gradients(), h);
    }
    std::string how() const {
        if (!device_) return "readable, float32";
        return problem_.shape().backward() ? device_->backward_choice() : device_->forward_choice();
    }

private:
    const AgainstProblem& problem_;
    std::unique_ptr<cuda::TimedProblem> device_;
    HeadRows<float> found_;
};

HeadRows<float> read_head(const fs::path& file, const ordered_json& names) {
    HeadRows<float> found;
    for (const std::string name : names) {
        const fs::path one = file.string() + "." + name;
        std::vector<float>& rows = found[name];
        rows.resize(static_cast<std::size_t>(fs::file_size(one)) / sizeof(float));
        std::ifstream(one, std::ios::binary)
            .read(reinterpret_cast<char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof(float)));
    }
    return found;
}

/// Medians of each way over rounds in which all take their turn.
void time_in_turn(std::vector<Way>& ways) {
    constexpr int kLeast = 7, kMost = 50;
    constexpr double kEnough = 2;
    const double start = seconds();
    for (int round = 0; round < kLeast || (round < kMost && seconds() - start < kEnough); ++round)
        for (Way& way : ways) {
            if (!way.call) continue;
            try {
                const double ms = way.call();
                if (round > 0) way.times.push_back(ms);  // the first round warms up
            } catch (const Error& error) {
                way.refuse(error.what());
            }
        }
    for (Way& way : ways) {
        if (!way.call || way.times.empty()) continue;
        std::sort(way.times.begin(), way.times.end());
        way.row["ms"] = way.times[way.times.size() / 2];
        way.row["ms_fastest"] = way.times.front();
        way.row["ms_slowest"] = way.times.back();
    }
}

/// What stands for all who work on one problem.
struct Trial {
    test::TemporaryFolder folder;
    AgainstProblem problem;
    Index head;  // whose numbers are compared
    ordered_json sums;
    HeadRows<double> truth, truth_without_positions;

    Trial(const AgainstShape& shape, cuda::FusedPrecision precision)
        : problem(shape, precision),
          head(shape.heads / 2),
          sums(problem.write(folder.path())),
          truth(problem.head<double>(head, true)),
          truth_without_positions(problem.head<double>(head, false)) {}
};

/// One peer on one problem: its way of doing it, and its error.
Way open_peer_way(Peer& peer, const std::string& name, const ordered_json& request, const Trial& trial) {
    Way way;
    way.row = {{"name", name}};
    ordered_json asked = request;
    asked["peer"] = name;
    const ordered_json answer = peer.ask(asked, kToOpen);
    if (answer.contains("refused")) {
        way.refuse(answer["refused"]);
        return way;
    }
    for (const auto& [tensor, sum] : trial.sums.items())
        if (answer["checksums"].value(tensor, 0u) != sum) {
            way.refuse("its " + tensor + " is not the one that was written: the checksums differ");
            return way;
        }
    way.row["how"] = answer["how"];
    if (answer.contains("same_bits")) way.row["same_bits"] = answer["same_bits"];
    const fs::path file = trial.folder / "found";
    const ordered_json taken = peer.ask({{"do", "take"}, {"head", trial.head}, {"file", file.string()}}, kToCall);
    const bool positions = name != "SDPA, no position";
    way.row["error"] =
        relative_error(read_head(file, taken["tensors"]), positions ? trial.truth : trial.truth_without_positions);
    way.row["positions"] = positions;
    way.call = [&peer] { return peer.ask({{"do", "call"}}, kToCall)["ms"].get<double>(); };
    return way;
}

const char* name_of(cuda::FusedPrecision precision) {
    return precision == cuda::FusedPrecision::bf16 ? "bf16" : precision == cuda::FusedPrecision::f16 ? "f16" : "f32";
}

ordered_json measure_shape(const AgainstShape& shape, cuda::FusedPrecision precision, const AgainstOptions& options,
                           Peers& peers) {
    std::cerr << "against: " << shape.what << " B " << shape.batch << " T " << shape.tokens << std::endl;
    const Trial trial(shape, precision);
    const AgainstProblem& problem = trial.problem;
    ordered_json row = {{"what", shape.what},
                        {"precision", name_of(precision)},
                        {"B", shape.batch},
                        {"H", shape.heads},
                        {"T", shape.tokens},
                        {"d", shape.width},
                        {"positions", shape.max_position > 0 ? "log" : "clamp"},
                        {"k", shape.span}};
    if (shape.packed()) row["lengths"] = problem.input().lengths;
    const ordered_json request = {{"do", "open"},
                                  {"folder", trial.folder.path().string()},
                                  {"device", options.rehearse ? "cpu" : "cuda"},
                                  {"format", row["precision"]},
                                  {"batch", shape.batch},
                                  {"heads", shape.heads},
                                  {"tokens", shape.tokens},
                                  {"width", shape.width},
                                  {"span", shape.span},
                                  {"max_position", shape.max_position},
                                  {"scale", 1 / std::sqrt(3.0 * shape.width)},
                                  {"lengths", problem.input().lengths},
                                  {"backward", shape.backward()},
                                  {"tune", options.tune}};
    std::vector<Way> ways(1);
    std::unique_ptr<Ours> ours;
    ways[0].row = {{"name", "ours"}};
    try {
        ours = std::make_unique<Ours>(problem, precision, options.rehearse);
        ways[0].row["error"] = relative_error(ours->head(trial.head), trial.truth);
        ways[0].row["how"] = ours->how();
        ways[0].call = [&] { return ours->call(); };
    } catch (const Error& error) {
        ways[0].refuse(error.what());
    }
    for (std::size_t n = 0; n < kPeers.size(); ++n) {
        try {
            ways.push_back(open_peer_way(peers.at(n), kPeers[n], request, trial));
        } catch (const std::exception& error) {  // ended, or answered what is no answer
            ways.emplace_back();
            ways.back().row = {{"name", kPeers[n]}};
            ways.back().refuse(error.what());
        }
    }
    time_in_turn(ways);
    for (Way& way : ways) row["ways"].push_back(way.row);
    row["ratios"] = options.rehearse ? ordered_json::array()
                                     : ratios(row["ways"], shape.goals.best, shape.goals.hugging_face,
                                              shape.goals.disentangled_flash);
    return row;
}

/// The whole encoder; our own share was timed before, with every layer on the device.
ordered_json measure_model(const AgainstOptions& options, const ordered_json& ours, Peers& peers) {
    const int batch = options.rehearse ? 2 : 16, tokens = options.rehearse ? 24 : 512;
    std::cerr << "against: whole forward B " << batch << " T " << tokens << std::endl;
    ordered_json row = {{"what", "whole forward"}, {"precision", "bf16"}, {"B", batch}, {"H", 12}, {"T", tokens}};
    ordered_json request = {{"do", "model"},    {"device", options.rehearse ? "cpu" : "cuda"},
                            {"format", "bf16"}, {"batch", batch},
                            {"tokens", tokens}, {"config", ordered_json::object()}};
    if (options.rehearse)
        request["config"] = {
            {"num_hidden_layers", 2}, {"vocab_size", 1000}, {"hidden_size", 96}, {"intermediate_size", 192}};
    ordered_json first = ours;
    first["name"] = "ours";
    std::vector<Way> ways(1);
    ways[0].row = first;
    for (std::size_t n = 0; n < kPeers.size(); ++n) {
        if (kPeers[n].starts_with("SDPA") || kPeers[n].starts_with("Flex")) continue;
        ways.emplace_back();
        Way& way = ways.back();
        way.row = {{"name", kPeers[n]}};
        try {
            Peer& peer = peers.at(n);
            request["peer"] = kPeers[n];
            const ordered_json answer = peer.ask(request, kToOpen);
            if (answer.contains("refused")) {
                way.refuse(answer["refused"]);
                continue;
            }
            way.row["how"] = answer["how"];
            way.row["error"] = answer["difference"];
            way.row["positions"] = true;
            way.call = [&peer] { return peer.ask({{"do", "call"}}, kToCall)["ms"].get<double>(); };
        } catch (const std::exception& error) {
            way.refuse(error.what());
        }
    }
    time_in_turn(ways);
    for (Way& way : ways) row["ways"].push_back(way.row);
    row["ratios"] = options.rehearse ? ordered_json::array() : ratios(row["ways"], 1.5, 0, 0);
    return row;
}

std::vector<AgainstShape> shapes(bool rehearse) {
    if (rehearse)
        return {{"forward", 2, 2, 48, 32, 16, 32, {}},
                {"forward", 2, 2, 48, 32, 16, 0, {}},
                {"packed forward", 5, 2, 24, 32, 16, 32, {}},
                {"backward", 2, 2, 40, 32, 16, 32, {}}};
    return {{"forward", 2, 12, 8192, 64, 256, 512, {0, 0, 4}},
            {"forward", 8, 12, 2048, 64, 256, 512, {}},
            {"forward", 32, 12, 512, 64, 256, 512, {2, 5, 0}},
            {"forward", 64, 12, 256, 64, 256, 512, {1.5, 0, 0}},
            {"forward", 128, 12, 128, 64, 256, 512, {1.5, 0, 0}},
            {"packed forward", 256, 12, 128, 64, 256, 512, {0, 0, 1.5}},
            {"backward", 2, 12, 8192, 64, 256, 512, {0, 0, 6}},
            {"backward", 32, 12, 512, 64, 256, 512, {}}};
}

bool is_wanted(const AgainstOptions& options, const std::string& what) {
    return options.rows.empty() || std::any_of(options.rows.begin(), options.rows.end(),
                                               [&](const std::string& row) { return what.starts_with(row); });
}

}  // namespace

ordered_json measure_against(const AgainstOptions& options, const ordered_json& ours_model) {
    const std::string python = options.python.empty() ? default_python() : options.python;
    Peers peers(python);
    ordered_json all = {{"python", python}, {"rehearsal", options.rehearse}};
    try {
        all["packages"] = peers.at(0).ask({{"do", "packages"}, {"device", options.rehearse ? "cpu" : "cuda"}}, kToCall);
    } catch (const std::exception& error) {
        all["packages"] = error.what();
    }
    all["rows"] = ordered_json::array();
    for (const AgainstShape& shape : shapes(options.rehearse)) {
        if (!is_wanted(options, shape.what)) continue;
        all["rows"].push_back(measure_shape(shape, cuda::FusedPrecision::bf16, options, peers));
        peers.rest();
    }
    if (is_wanted(options, "model")) all["rows"].push_back(measure_model(options, ours_model, peers));
    return all;
}

}  // namespace locus::bench
