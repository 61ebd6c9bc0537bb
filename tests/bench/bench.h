#pragma once
// What every benchmark gives back: numbers with their targets, measured in one run.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace locus::bench {

struct Measure {
    std::string name;  // "slices over gather, c2p"
    double value = 0;
    std::string unit;   // "ms", "x", "MB"
    double target = 0;  // 0: none
    bool at_least = true;
    double error = -1;      // largest difference from float64 of what was timed; below 0: not compared
    double processor = -1;  // the same in processor time; below 0: not measured

    bool met() const { return target == 0 || (at_least ? value >= target : value <= target); }
};

/// What the command line adds to a benchmark's name.
struct Options {
    std::string against;  // "torch": time peers in the same run; empty: ours alone
    std::string python;   // whose torch; empty: default_python()
    long tokens = 0;      // one length of the attention core alone; 0: all of them
};

struct Benchmark {
    const char* name;
    const char* what;  // one sentence
    std::function<std::vector<Measure>(const Options&)> run;
};

class Peer;

/// The attention core by blocks, beside torch where that is asked for.
std::vector<Measure> bench_attention(const Options& options);
/// Attention with its projections, one layer and the whole encoder of deberta-v3-base's shape, likewise.
std::vector<Measure> bench_encoder(const Options& options);
/// The same with a peer that is there, or null; files go to `folder`.
void measure_encoder(Peer* peer, const std::filesystem::path& folder, std::vector<Measure>& measures);

/// One step of masked language modelling at tiny-v3's shape, likewise.
std::vector<Measure> bench_train(const Options& options);

/// c2p and p2c by slices against an index gather.
std::vector<Measure> bench_gather();
/// A deberta-v3-base-shaped checkpoint of 371 MB: open it and compute layer 0's terms for 32 tokens.
std::vector<Measure> bench_open();
/// Whole forward pass of tiny-v3.
std::vector<Measure> bench_forward();
/// Word mover's distance of two documents of 60 words.
std::vector<Measure> bench_wmd();

/// One rotation in its three forms: time and memory.
std::vector<Measure> bench_rope();
/// Linear attention beside its quadratic form as texts grow.
std::vector<Measure> bench_linear();
/// Peak memory of Transformer-XL and XLNet over few and many segments.
std::vector<Measure> bench_segments();

/// The conformance kit: export, a whole check, and the diagnosis of one large stage.
std::vector<Measure> bench_kit();

/// SentencePiece models on the corpus beside libsentencepiece, ids compared.
std::vector<Measure> bench_tokens();

/// The viewer in software: first frame, keystroke, head change, a matrix of 4096 x 4096, memory, idling.
std::vector<Measure> bench_view();

/// Seconds of a monotonic clock.
double now();
double median(std::vector<double> values);

}  // namespace locus::bench
