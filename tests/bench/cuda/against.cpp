#include "tests/bench/cuda/against.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "tests/bench/cuda/against_peers.h"
#include "tests/bench/cuda/timing.h"
#include "tests/temporary_folder.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;

/// Our kernels, or in a rehearsal the readable functions in float32.
class Ours {
public:
    Ours(const AgainstProblem& problem, cuda::FusedPrecision precision, bool rehearse) : problem_(problem) {
        if (!rehearse)
            device_ = std::make_unique<cuda::TimedProblem>(problem.input(), problem.longest_buckets(), precision,
                                                           problem.d_context());
    }
    double call() {
        if (!device_) {
            const double start = now();
            for (Index h = 0; h < problem_.shape().heads; ++h) found_ = problem_.head<float>(h, true);
            return (now() - start) * 1e3;
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

/// What stands for all who work on one problem.
struct Trial {
    test::TemporaryFolder folder;
    AgainstProblem problem;
    Index head;  // whose numbers are compared
    std::map<std::string, std::uint32_t> sums;
    HeadRows<double> truth, truth_without_positions;

    Trial(const AgainstShape& shape, cuda::FusedPrecision precision)
        : problem(shape, precision),
          head(shape.heads / 2),
          sums(problem.write(folder.path())),
          truth(problem.head<double>(head, true)),
          truth_without_positions(problem.head<double>(head, false)) {}
};

const char* name_of(cuda::FusedPrecision precision) {
    return precision == cuda::FusedPrecision::bf16 ? "bf16" : precision == cuda::FusedPrecision::f16 ? "f16" : "f32";
}

ordered_json described(const AgainstShape& shape, cuda::FusedPrecision precision) {
    return {{"what", shape.what},
            {"precision", name_of(precision)},
            {"B", shape.batch},
            {"H", shape.heads},
            {"T", shape.tokens},
            {"d", shape.width},
            {"positions", shape.max_position > 0 ? "log" : "clamp"},
            {"k", shape.span}};
}

ordered_json measure_shape(const AgainstShape& shape, cuda::FusedPrecision precision, const AgainstOptions& options,
                           const Narrowing& narrowing, Peers& peers, const Plan::SoFar& so_far) {
    std::cerr << "against: " << shape.what << " B " << shape.batch << " T " << shape.tokens << std::endl;
    const Trial trial(shape, precision);
    const AgainstProblem& problem = trial.problem;
    ordered_json row = described(shape, precision);
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
    std::vector<TimedWay> ways(1);
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
    so_far(with_ways(row, ways));
    for (std::size_t n = 0; n < kPeers.size(); ++n) {
        if (!narrowing.wants_peer(kPeers[n])) continue;
        const bool positions = kPeers[n] != kWithoutPositions;
        ways.push_back(open_peer_way(peers, n, request, trial.sums, trial.head,
                                     positions ? trial.truth : trial.truth_without_positions));
        so_far(with_ways(row, ways));
    }
    time_ways(ways);
    row = with_ways(row, ways);
    row["ratios"] = options.rehearse ? ordered_json::array()
                                     : ratios(row["ways"], shape.goals.best, shape.goals.hugging_face,
                                              shape.goals.disentangled_flash);
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

}  // namespace

std::string python_of(const AgainstOptions& options) {
    return options.python.empty() ? default_python() : options.python;
}

ordered_json peer_packages(const AgainstOptions& options) {
    try {
        Peer peer(python_of(options));
        if (!peer.runs()) return peer.missing();
        return peer.ask({{"do", "packages"}, {"device", options.rehearse ? "cpu" : "cuda"}}, kToCall);
    } catch (const std::exception& error) {
        return error.what();
    }
}

Plan plan_against(const AgainstOptions& options, const Narrowing& narrowing) {
    constexpr auto kPrecision = cuda::FusedPrecision::bf16;
    std::vector<AgainstShape> wanted;
    for (const AgainstShape& shape : shapes(options.rehearse))
        if (narrowing.wants_row(shape.what) && narrowing.wants_tokens(shape.tokens)) wanted.push_back(shape);
    Plan plan;
    for (const AgainstShape& shape : wanted) plan.rows.push_back(described(shape, kPrecision));
    if (narrowing.wants_row("model")) plan.rows.push_back(describe_encoder_against(options.rehearse));
    const auto peers = std::make_shared<std::unique_ptr<Peers>>();  // started by who measures
    plan.measure = [=](std::size_t n, const Plan::SoFar& so_far) {
        if (!*peers) *peers = std::make_unique<Peers>(python_of(options), options.seconds);
        const ordered_json row = n < wanted.size()
                                     ? measure_shape(wanted[n], kPrecision, options, narrowing, **peers, so_far)
                                     : measure_encoder_against(options.rehearse, narrowing, **peers, so_far);
        (*peers)->rest();
        return row;
    };
    plan.seconds = 3600;  // the end of the part comes before
    return plan;
}

}  // namespace locus::bench
