// Attention with its projections, one layer and the whole encoder of deberta-v3-base's shape, beside transformers.
#include <fstream>
#include <iostream>
#include <random>

#include "core/io/checkpoint.h"
#include "core/models/deberta.h"
#include "core/models/fast_encoder.h"
#include "tests/bench/make_checkpoint.h"
#include "tests/bench/peer.h"
#include "tests/max_abs.h"

namespace locus::bench::layers {

namespace {

namespace fs = std::filesystem;

constexpr Index kTokens = 512, kModel = 768;

/// Largest difference in units of the largest value, so that rows of any size compare.
double relative_difference(const Tensor<float>& found, const Tensor<double>& expected) {
    return test::max_abs(found.rows().cast<double>() - expected.rows()) / test::max_abs(expected.rows());
}

Tensor<float> read_raw(const fs::path& file) {
    Tensor<float> tensor({1, kTokens, kModel});
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char*>(tensor.data()), tensor.size() * Index{sizeof(float)});
    return tensor;
}

struct Part {
    std::string name;      // the peer's, too
    double goal;           // times faster than transformers
    Tensor<double> exact;  // in float64
    std::function<Tensor<float>(ThreadPool&)> ours;
};

void measure_part(const Part& part, int threads, Peer* peer, const fs::path& folder, Measures& measures) {
    const std::string shape =
        part.name + ", T 512, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    ThreadPool pool(threads);
    std::vector<Way> ways = {our_way("ours", [&] { part.ours(pool); })};
    ways[0].error = relative_difference(part.ours(pool), part.exact);
    if (peer) {
        ways.push_back(peer_way(*peer, part.name));
        ways.back().name = "Hugging Face";
        peer->ask({{"do", "save"}, {"peer", part.name}, {"file", (folder / "rows").string()}});
        ways.back().error = relative_difference(read_raw(folder / "rows"), part.exact);
    }
    const Rounds rounds = time_in_turn(ways, 3, 3);
    for (std::size_t n = 0; n < ways.size(); ++n) {
        LOCUS_CHECK(ways[n].error < 1e-3, "bench layers: " + shape + ", " + ways[n].name + " differs from float64 by " +
                                              std::to_string(ways[n].error));
        const Spent spent = rounds.median(n);
        measures.push_back({shape + ": " + ways[n].name, spent.wall, "ms", 0, true, ways[n].error, spent.processor});
    }
    if (!peer) return;
    const Spent times = rounds.ratio(1, 0);
    measures.push_back({shape + ": Hugging Face / ours", times.wall, "x", part.goal, true, -1, times.processor});
}

}  // namespace

void measure(Peer* peer, const fs::path& folder, Measures& measures) {
    write_v3_base_checkpoint(folder / "model", 1);
    const Checkpoint checkpoint = open_checkpoint(folder / "model");
    const DebertaConfig config = parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string());
    const DebertaOptions options = DebertaOptions::of(Dialect::hf);
    ModelInput input;
    input.tokens = IndexTensor({1, kTokens});
    for (Index n = 0; n < kTokens; ++n) input.tokens[n] = n * 3911 % 128000;
    Tensor<float> x({1, kTokens, kModel});
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (Index n = 0; n < x.size(); ++n) x[n] = normal(generator);
    std::ofstream(folder / "x", std::ios::binary)
        .write(reinterpret_cast<const char*>(x.data()), x.size() * Index{sizeof(float)});

    ThreadPool both(2);
    FastEncoder<float> blocks(config, checkpoint.weights);
    std::vector<Part> parts;
    {
        FastEncoder<double> exact(config, checkpoint.weights);
        const Tensor<double> wide({1, kTokens, kModel}, std::vector<double>(x.values().begin(), x.values().end()));
        parts.push_back({"attention", 2.5, exact.layer_context(0, wide, nullptr, options, both),
                         [&](ThreadPool& pool) { return blocks.layer_context(0, x, nullptr, options, pool); }});
        parts.push_back({"layer", 0, exact.layer_output(0, wide, nullptr, options, both),
                         [&](ThreadPool& pool) { return blocks.layer_output(0, x, nullptr, options, pool); }});
        parts.push_back({"model", 1.5, exact.last_output(input, options, both),
                         [&](ThreadPool& pool) { return blocks.last_output(input, options, pool); }});
    }
    for (const int threads : {1, 2}) {
        if (peer) {
            const nlohmann::json answer = peer->ask({{"do", "encoder"},
                                                     {"checkpoint", (folder / "model").string()},
                                                     {"folder", folder.string()},
                                                     {"tokens", kTokens},
                                                     {"threads", threads}});
            for (const auto& [name, why] : answer["refused"].items())
                std::cerr << "locus bench: " << name << " does not run: " << why.get<std::string>() << '\n';
        }
        if (peer)
            std::cerr << "locus bench: layers, " << threads << (threads == 1 ? " thread" : " threads") << std::endl;
        for (const Part& part : parts) measure_part(part, threads, peer, folder, measures);
    }
}

}  // namespace locus::bench::layers
