#include "tests/bench/cuda/against.h"

#include <iostream>

#include "core/models/fast_encoder.h"
#include "cuda/encoder/encoder.h"
#include "tests/bench/cuda/encoder_problem.h"
#include "tests/temporary_folder.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;

/// One of our ways through the encoder.
struct OurWay {
    std::string how;
    std::function<double()> call;
    std::function<Tensor<float>()> output;  // of the last call
};

/// Kernel by kernel and as one graph, each with our products and cuBLAS's where that is there.
std::vector<OurWay> ways_on_device(const EncoderProblem& problem) {
    std::vector<OurWay> ways;
    for (const cuda::ProductsBy by : {cuda::ProductsBy::own, cuda::ProductsBy::cublas}) {
        std::shared_ptr<cuda::FastEncoder<cuda::Bfloat16>> encoder;
        try {
            encoder = std::make_shared<cuda::FastEncoder<cuda::Bfloat16>>(problem.config(), problem.weights(), by);
        } catch (const Error&) {
            if (by == cuda::ProductsBy::own) throw;
            continue;  // the table of encoders says why
        }
        encoder->prepare(problem.input(), EncoderProblem::options());
        const auto output = [encoder] { return encoder->output(); };
        ways.push_back({encoder->products() + ", kernel by kernel", [encoder] { return encoder->run(); }, output});
        ways.push_back({encoder->products() + ", one graph", [encoder] { return encoder->replay(); }, output});
    }
    return ways;
}

std::vector<OurWay> ways_on_processor(const EncoderProblem& problem) {
    const auto encoder = std::make_shared<FastEncoder<float>>(problem.config(), problem.weights());
    const auto rows = std::make_shared<Tensor<float>>();
    const auto call = [encoder, rows, &problem] {
        const double start = now();
        ThreadPool alone(1);
        *rows = encoder->last_output(problem.input(), EncoderProblem::options(), alone);
        return (now() - start) * 1e3;
    };
    return {{"the processor's, float32", call, [rows] { return *rows; }}};
}

double median_of_five(const std::function<double()>& call) {
    std::vector<double> times;
    for (int round = 0; round < 3; ++round) call();
    for (int round = 0; round < 5; ++round) times.push_back(call());
    return median(times);
}

/// The fastest of our ways that run.
TimedWay our_fastest(const EncoderProblem& problem, bool rehearse, Index sample, const HeadRows<double>& truth) {
    TimedWay way;
    way.row = {{"name", "ours"}};
    OurWay best;
    double least = 0;
    std::string why;
    const auto attempt = [&](const auto& work) {
        try {
            work();
        } catch (const Error& error) {
            why = error.what();
            std::cerr << "ours: " << why << std::endl;
        }
    };
    std::vector<OurWay> ways;
    attempt([&] { ways = rehearse ? ways_on_processor(problem) : ways_on_device(problem); });
    for (const OurWay& one : ways)
        attempt([&] {
            const double ms = median_of_five(one.call);
            if (!best.call || ms < least) best = one, least = ms;
        });
    if (!best.call) {
        way.refuse(why);
        return way;
    }
    best.call();
    way.row["error"] = relative_error(EncoderProblem::sample_of(best.output(), sample), truth);
    way.row["how"] = best.how;
    way.call = best.call;
    return way;
}

}  // namespace

ordered_json describe_encoder_against(bool rehearse) {
    return {{"what", "whole forward"}, {"precision", "bf16"}, {"B", rehearse ? 2 : 16}, {"T", rehearse ? 24 : 512}};
}

ordered_json measure_encoder_against(bool rehearse, const Narrowing& narrowing, Peers& peers,
                                     const Plan::SoFar& so_far) {
    ordered_json row = describe_encoder_against(rehearse);
    const int batch = row["B"], tokens = row["T"];
    std::cerr << "against: whole forward B " << batch << " T " << tokens << std::endl;
    const EncoderProblem problem(batch, tokens,
                                 rehearse ? ordered_json{{"num_hidden_layers", 2},
                                                         {"vocab_size", 1000},
                                                         {"hidden_size", 96},
                                                         {"intermediate_size", 192},
                                                         {"position_buckets", 8},
                                                         {"max_position_embeddings", 24}}
                                          : ordered_json::object());
    row["H"] = problem.config().num_attention_heads;
    const test::TemporaryFolder folder;
    const auto sums = problem.write(folder.path());
    const Index sample = batch / 2;
    const HeadRows<double> truth = problem.truth(sample);
    const ordered_json request = {{"do", "model"},
                                  {"folder", folder.path().string()},
                                  {"device", rehearse ? "cpu" : "cuda"},
                                  {"format", row["precision"]},
                                  {"batch", batch},
                                  {"tokens", tokens},
                                  {"config", problem.config_json()}};
    std::vector<TimedWay> ways = {our_fastest(problem, rehearse, sample, truth)};
    so_far(with_ways(row, ways));
    for (std::size_t n = 0; n < kPeers.size(); ++n) {
        if (kPeers[n] == kWithoutPositions || kPeers[n] == "FlexAttention") continue;  // attention alone
        if (!narrowing.wants_peer(kPeers[n])) continue;
        ways.push_back(open_peer_way(peers, n, request, sums, sample, truth));
        so_far(with_ways(row, ways));
    }
    time_ways(ways);
    row = with_ways(row, ways);
    row["ratios"] = rehearse ? ordered_json::array() : ratios(row["ways"], 1.5, 0, 0);
    return row;
}

}  // namespace locus::bench
