// The attention core beside what torch makes of the same tensors.
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>

#include "core/fast/disentangled.h"
#include "tests/bench/peer.h"
#include "tests/max_abs.h"
#include "tests/temporary_folder.h"

namespace locus::bench::attention {

namespace {

namespace fs = std::filesystem;

constexpr Index kHeads = 12, kWidth = 64, kBuckets = 256, kFarthest = 512;

struct Operands {
    Index tokens, span;
    bool log;
    RelativeBuckets buckets;
    Tensor<float> q, k, v, k_r, q_r;

    Operands(Index of_tokens, bool of_log)
        : tokens(of_tokens),
          span(of_log ? kBuckets : kFarthest),
          log(of_log),
          buckets(log ? RelativeBuckets::logarithmic(tokens, tokens, kBuckets, kFarthest, OffsetClamp::hf)
                      : RelativeBuckets::clamped(tokens, tokens, span)) {
        std::mt19937 generator(static_cast<unsigned>(tokens));
        std::normal_distribution<float> normal;
        for (Tensor<float>* one : {&q, &k, &v, &k_r, &q_r}) {
            const bool table = one == &k_r || one == &q_r;
            *one = table ? Tensor<float>({kHeads, 2 * span, kWidth}) : Tensor<float>({1, kHeads, tokens, kWidth});
            for (Index n = 0; n < one->size(); ++n) (*one)[n] = normal(generator);
        }
    }
    std::string name() const { return (log ? "log, T " : "clamp, T ") + std::to_string(tokens); }

    void write(const fs::path& folder) const {
        const auto raw = [&](const char* file, const Tensor<float>& tensor) {
            std::ofstream(folder / file, std::ios::binary)
                .write(reinterpret_cast<const char*>(tensor.data()), tensor.size() * Index{sizeof(float)});
        };
        raw("q", q), raw("k", k), raw("v", v), raw("k_r", k_r), raw("q_r", q_r);
    }
};

/// Context [1,T,H*d] of the readable reference in double.
Matrix<double> in_double(const Operands& operands) {
    Matrix<double> context(operands.tokens, kHeads * kWidth);
    for (Index h = 0; h < kHeads; ++h) {
        const auto wide = [&](const Tensor<float>& tensor) { return Matrix<double>(tensor.matrix(h).cast<double>()); };
        const Matrix<double> q = wide(operands.q), k = wide(operands.k);
        Matrix<double> scores = content_to_content<double>(q, k);
        scores += content_to_position<double>(q, wide(operands.k_r), operands.buckets);
        scores += position_to_content<double>(k, wide(operands.q_r), operands.buckets);
        scores /= score_divisor<double>(3, kWidth);
        context.middleCols(h * kWidth, kWidth) = masked_softmax<double>(scores, Mask()) * wide(operands.v);
    }
    return context;
}

double largest_difference(const Matrix<float>& found, const Matrix<double>& expected) {
    const double largest = test::max_abs(found.cast<double>() - expected);
    LOCUS_CHECK(found.allFinite() && largest < 1e-3,
                "bench attention: a context differs from float64 by " + std::to_string(largest));
    return largest;
}

/// Ours in its two forms: with the position tables laid out anew in every call, and with them kept.
std::vector<Way> our_ways(const Operands& operands, const Matrix<double>& expected, ThreadPool& pool,
                          const std::vector<Mask>& masks) {
    struct Kept {
        OffsetTables<float> tables, made;
        BlockBuffers<float> buffers;
        Matrix<float> context;
    };
    const auto kept = std::make_shared<Kept>();
    kept->tables = offset_tables<float>(operands.k_r, operands.q_r, operands.buckets, P2cIndex::official_ij, pool);
    kept->context.resize(operands.tokens, kHeads * kWidth);
    const auto call = [kept, &operands, &pool](const OffsetTables<float>& tables, const std::vector<Mask>* all) {
        const DisentangledBlocks<float> task{HeadsAt<float>::of(operands.q),
                                             HeadsAt<float>::of(operands.k),
                                             HeadsAt<float>::of(operands.v),
                                             1,
                                             tables,
                                             score_divisor<float>(3, kWidth),
                                             all};
        disentangled_blocks<float>(task, kept->context.data(), {kept->context.data(), 0, kWidth, kHeads * kWidth},
                                   nullptr, kept->buffers, pool);
    };
    std::vector<Way> ways = {our_way("ours, tables made in the call, a mask",
                                     [=, &operands, &pool, &masks] {
                                         kept->made =
                                             offset_tables<float>(operands.k_r, operands.q_r, operands.buckets,
                                                                  P2cIndex::official_ij, pool, std::move(kept->made));
                                         call(kept->made, &masks);
                                     }),
                             our_way("ours, tables kept, no mask", [=] { call(kept->tables, nullptr); })};
    for (Way& way : ways) {
        kept->context.setConstant(std::numeric_limits<float>::quiet_NaN());
        way.call();
        way.error = largest_difference(kept->context, expected);
    }
    return ways;
}

std::vector<Way> peer_ways(Peer& peer, const Operands& operands, const Matrix<double>& expected, int threads,
                           const fs::path& folder, std::vector<std::string>& notes) {
    operands.write(folder);
    const nlohmann::json answer = peer.ask({{"do", "core"},
                                            {"folder", folder.string()},
                                            {"heads", kHeads},
                                            {"tokens", operands.tokens},
                                            {"width", kWidth},
                                            {"span", operands.span},
                                            {"log", operands.log},
                                            {"max_position", kFarthest},
                                            {"threads", threads},
                                            {"compile", true}});
    for (const auto& [name, why] : answer["refused"].items())
        notes.push_back(name + " does not run: " + why.get<std::string>());
    std::vector<Way> ways;
    for (const std::string name : answer["peers"]) {
        ways.push_back(peer_way(peer, name));
        const fs::path file = folder / "context";
        peer.ask({{"do", "save"}, {"peer", name}, {"file", file.string()}});
        Matrix<float> context(operands.tokens, kHeads * kWidth);
        std::ifstream(file, std::ios::binary)
            .read(reinterpret_cast<char*>(context.data()), context.size() * Index{sizeof(float)});
        ways.back().error = largest_difference(context, expected);
    }
    return ways;
}

/// All ways of one shape, and the two ratios that have goals.
void measure_core(const Operands& operands, int threads, Peer* peer, const fs::path& folder, Measures& measures,
                  std::vector<std::string>& notes) {
    const std::string shape =
        operands.name() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    const Matrix<double> expected = in_double(operands);
    if (peer) std::cerr << "locus bench: " << shape << std::endl;  // a run takes minutes
    ThreadPool pool(threads);
    const std::vector<Mask> masks = {Mask::Ones(operands.tokens, operands.tokens)};
    std::vector<Way> ways = our_ways(operands, expected, pool, masks);
    const std::size_t own = ways.size();
    if (peer)
        for (Way& way : peer_ways(*peer, operands, expected, threads, folder, notes)) ways.push_back(std::move(way));
    const Rounds rounds = time_in_turn(ways, 5, peer ? 4 : 0.5);
    std::size_t eager = 0, best = 0;
    for (std::size_t n = 0; n < ways.size(); ++n) {
        const Spent spent = rounds.median(n);
        measures.push_back({shape + ": " + ways[n].name, spent.wall, "ms", 0, true, ways[n].error, spent.processor});
        if (n < own) continue;
        if (ways[n].name == "Hugging Face eager")
            eager = n;
        else if (best == 0 || spent.wall < rounds.median(best).wall)
            best = n;
    }
    if (eager == 0 || best == 0) return;
    const auto ratio = [&](const std::string& name, std::size_t other, std::size_t ours, double goal) {
        const Spent times = rounds.ratio(other, ours);
        measures.push_back({shape + ": " + name, times.wall, "x", goal, true, -1, times.processor});
    };
    ratio("Hugging Face eager / ours made in the call", eager, 0, 3);
    ratio("best other (" + ways[best].name + ") / ours kept", best, 1, 1.5);
}

}  // namespace

void measure(const Options& options, Measures& measures) {
    const test::TemporaryFolder folder;
    const std::unique_ptr<Peer> peer = open_peer(options, "torch");
    std::vector<std::string> notes;
    const std::vector<Index> lengths =
        options.tokens ? std::vector<Index>{options.tokens} : std::vector<Index>{128, 256, 512, 1024, 2048};
    for (const Index tokens : lengths)
        for (const bool log : {true, false}) {
            const Operands operands(tokens, log);
            for (const int threads : {1, 2})
                measure_core(operands, threads, peer.get(), folder.path(), measures, notes);
        }
    if (options.tokens == 0) layers::measure(peer.get(), folder.path(), measures);
    std::sort(notes.begin(), notes.end());
    notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
    for (const std::string& note : notes) std::cerr << "locus bench: " << note << '\n';
}

}  // namespace locus::bench::attention
