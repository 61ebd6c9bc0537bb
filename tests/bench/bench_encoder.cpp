// The whole encoder of deberta-v3-base's shape beside what people run on a processor: ONNX Runtime, OpenVINO,
// transformers.  Same weights, same token ids; every output is compared with float64 before anything is timed.
#include <fstream>
#include <iostream>
#include <numeric>

#include "core/models/fast_encoder.h"
#include "core/philox.h"
#include "core/text/text_table.h"
#include "tests/bench/cuda/encoder_problem.h"
#include "tests/bench/dense_peak.h"
#include "tests/bench/peer.h"
#include "tests/temporary_folder.h"

namespace locus::bench::encoder {

namespace {

/// Outputs further from float64 than this, in parts of the largest number expected, are not timed.
constexpr double kAgreement = 2e-6;

/// How often every way is called: once for its error, and twice in each of three rounds.
constexpr int kRounds = 3, kCalls = 1 + 2 * kRounds;

/// Sentences that pass the encoder together.
struct Shape {
    std::string name;
    std::vector<Index> lengths;
    double goal;  // times faster than the best of the others

    Index tokens() const { return std::accumulate(lengths.begin(), lengths.end(), Index{0}); }
    Index padded() const {
        return static_cast<Index>(lengths.size()) * *std::max_element(lengths.begin(), lengths.end());
    }
};

/// 64 sentences of 20 to 300 tokens, as a reranker or an entity extractor meets them.
Shape unequal_sentences() {
    Shape shape{"64 sentences of 20 to 300 tokens", {}, 2};
    for (std::uint32_t n = 0; n < 64; ++n)
        shape.lengths.push_back(20 + static_cast<Index>(philox({n, 0}, 7).first % 281));
    return shape;
}

std::vector<Shape> shapes_of(const Options& options) {
    const std::vector<Shape> all = {{"T 128", {128}, 1},
                                    {"T 512", {512}, 1.15},
                                    {"T 1024", {1024}, 1.5},
                                    {"T 2048", {2048}, 2},
                                    unequal_sentences()};
    if (options.sentences) return {all.back()};
    if (!options.tokens) return all;
    for (const Shape& shape : all)
        if (shape.lengths == std::vector<Index>{options.tokens}) return {shape};
    return {{"T " + std::to_string(options.tokens), {options.tokens}, 1}};
}

/// Products of a pass that follow from the formulas, in 10^9 operations: dense layers, and four products of attention.
/// Padding and what a method adds to that is its own affair.
double giga_operations(const DebertaConfig& config, const Shape& shape) {
    const auto layers = static_cast<double>(config.num_hidden_layers), width = static_cast<double>(config.hidden_size),
               inner = static_cast<double>(config.intermediate_size);
    double sum = 0;
    for (const Index length : shape.lengths) {
        const auto tokens = static_cast<double>(length);
        sum += layers * (2 * tokens * (4 * width * width + 2 * width * inner) + 4 * 2 * tokens * tokens * width);
    }
    return sum / 1e9;
}

std::vector<ModelInput> inputs_of(const Shape& shape, const IndexTensor& ids) {
    std::vector<ModelInput> inputs;
    Index first = 0;
    for (const Index length : shape.lengths) {
        ModelInput& one = inputs.emplace_back();
        one.tokens = IndexTensor({1, length});
        std::copy_n(ids.data() + first, length, one.tokens.data());
        first += length;
    }
    return inputs;
}

template <class Scalar>
std::vector<Scalar> joined(const std::vector<Tensor<Scalar>>& outputs) {
    std::vector<Scalar> all;
    for (const Tensor<Scalar>& one : outputs) all.insert(all.end(), one.data(), one.data() + one.size());
    return all;
}

/// Throws Error(usage) where the outputs do not agree.
double agreement(const std::string& name, const std::vector<float>& found, const std::vector<double>& expected) {
    const double error = relative_error({{"hidden", found}}, {{"hidden", expected}});
    LOCUS_CHECK(error <= kAgreement, "bench encoder: " + name + " differs from float64 by " + format_number(error) +
                                         " of the largest number, expected at most " + format_number(kAgreement));
    return error;
}

class Run {
public:
    Run(const Options& options, Measures& measures)
        : options_(options), measures_(measures), problem_(1, 64 * 300, {{"vocab_size", 4096}}) {
        problem_.write(folder_.path());  // the weights; ids are written per shape
        for (const char* package : {"onnxruntime", "openvino", "torch"})
            if (std::unique_ptr<Peer> peer = open_peer(options, package)) peers_.emplace_back(package, std::move(peer));
    }

    void measure(const Shape& shape) {
        const std::vector<ModelInput> inputs = inputs_of(shape, problem_.input().tokens);
        std::ofstream(folder_ / "ids", std::ios::binary)
            .write(reinterpret_cast<const char*>(problem_.input().tokens.data()),
                   shape.tokens() * Index{sizeof(std::int64_t)});
        ThreadPool all(2);
        const std::vector<double> exact = joined(FastEncoder<double>(problem_.config(), problem_.weights())
                                                     .last_outputs(inputs, EncoderProblem::options(), all));
        for (const int threads : {1, 2})
            if (options_.threads == 0 || options_.threads == threads) measure(shape, inputs, exact, threads);
    }

    double seconds(const std::vector<Shape>& shapes) const {
        double giga = 0, padded = 0;
        for (const Shape& shape : shapes) {
            giga += giga_operations(problem_.config(), shape);
            padded += giga_operations(problem_.config(), shape) * static_cast<double>(shape.padded()) /
                      static_cast<double>(shape.tokens());
        }
        // One thread and two take 1.6 times as long as one alone; float64 and the others' start three calls more.
        const double calls = options_.threads ? kCalls + 3 : 1.6 * kCalls + 3;
        return calls * (giga + 1.8 * padded * static_cast<double>(peers_.size())) / (0.6 * dense_peak());
    }

private:
    void measure(const Shape& shape, const std::vector<ModelInput>& inputs, const std::vector<double>& exact,
                 int threads) {
        const std::string name = shape.name + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
        ThreadPool pool(threads);
        const auto ours = [&] { return encoder_.last_outputs(inputs, EncoderProblem::options(), pool); };
        std::vector<Way> ways = {our_way("ours", [&] { ours(); })};
        ways[0].error = agreement("ours, " + name, joined(ours()), exact);
        for (auto& [package, peer] : peers_)
            if (peer->runs()) add_peer(package, *peer, shape, name, exact, threads, ways);
        const Rounds rounds = time_in_turn(ways, kRounds, 3);
        std::size_t best = 0;
        for (std::size_t n = 0; n < ways.size(); ++n) {
            const Spent spent = rounds.median(n);
            measures_.push_back(
                {name + ": " + ways[n].name, spent.wall, "ms", 0, true, ways[n].error, spent.processor});
            if (n > 0 && (best == 0 || spent.wall < rounds.median(best).wall)) best = n;
        }
        // By the clock on a quiet machine; in processor time also where others keep it busy.
        const double giga = giga_operations(problem_.config(), shape), peak = dense_peak();
        const Spent ours_spent = rounds.median(0);
        measures_.push_back(
            {name + ": ours, of the dense peak, " + format_number(std::round(threads * peak)) + " GFLOP/s",
             1e5 * giga / ours_spent.wall / (threads * peak), "%", shape.name == "T 512" ? 80.0 : 0.0, true, -1,
             1e5 * giga / ours_spent.processor / peak});
        for (std::size_t n = 1; n < ways.size(); ++n) {
            const Spent times = rounds.ratio(n, 0);
            measures_.push_back({name + ": " + ways[n].name + " / ours", times.wall, "x", n == best ? shape.goal : 0,
                                 true, -1, times.processor});
        }
    }

    /// A peer that cannot do it is named, and the others go on.
    void add_peer(const std::string& package, Peer& peer, const Shape& shape, const std::string& name,
                  const std::vector<double>& exact, int threads, std::vector<Way>& ways) {
        const std::string padded = shape.padded() > shape.tokens() ? package + ", padded" : package;
        try {
            peer.ask({{"do", "whole"},
                      {"folder", folder_.path().string()},
                      {"config", problem_.config_json()},
                      {"lengths", shape.lengths},
                      {"threads", threads}});
            const auto file = folder_ / "rows";
            peer.ask({{"do", "save"}, {"file", file.string()}});
            std::vector<float> rows(exact.size());
            std::ifstream(file, std::ios::binary)
                .read(reinterpret_cast<char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof(float)));
            ways.push_back(peer_way(peer, package));
            ways.back().name = padded;
            ways.back().error = agreement(padded + ", " + name, rows, exact);
        } catch (const Error& error) {
            std::cerr << "locus bench: " << error.what() << "; " << padded << " is not timed at " << name << std::endl;
            if (ways.back().name == padded) ways.pop_back();
        }
    }

    const Options& options_;
    Measures& measures_;
    const test::TemporaryFolder folder_;
    EncoderProblem problem_;
    FastEncoder<float> encoder_{problem_.config(), problem_.weights()};
    std::vector<std::pair<std::string, std::unique_ptr<Peer>>> peers_;
};

}  // namespace

void measure(const Options& options, Measures& measures) {
    Run run(options, measures);
    const std::vector<Shape> shapes = shapes_of(options);
    std::cerr << "locus bench: encoder, about " << std::max(1.0, std::round(run.seconds(shapes) / 60))
              << " minutes on a quiet machine" << std::endl;
    for (const Shape& shape : shapes) run.measure(shape);
}

}  // namespace locus::bench::encoder
