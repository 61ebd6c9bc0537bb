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

/// The rows of one benchmark; each is handed on as soon as it is known.
class Measures {
public:
    explicit Measures(std::function<void(const Measure&)> known) : known_(std::move(known)) {}
    void push_back(const Measure& measure) { known_(measure); }
    void add(const std::vector<Measure>& several) {
        for (const Measure& one : several) push_back(one);
    }

private:
    std::function<void(const Measure&)> known_;
};

/// What the command line adds to a benchmark's name.
struct Options {
    std::vector<std::string> against;  // "torch", "onnxruntime", "openvino": time these in the same run
    std::string python;                // whose packages; empty: default_python()
    long tokens = 0;                   // one length alone; 0: all of them
    int threads = 0;                   // one number of threads alone; 0: 1 and 2
};

struct Benchmark {
    const char* name;
    const char* what;   // one sentence
    const char* takes;  // on two cores: "20 s"
    std::function<void(const Options&, Measures&)> run;
};

class Peer;

/// The attention core by blocks, beside torch where that is asked for, then measure_layers.
void bench_attention(const Options& options, Measures& measures);
/// Attention with its projections, one layer and the whole encoder of deberta-v3-base's shape at T 512, beside a peer
/// that is there, or null; files go to `folder`.
void measure_layers(Peer* peer, const std::filesystem::path& folder, Measures& measures);
/// The whole encoder of deberta-v3-base's shape at several lengths, and a batch of sentences of unequal lengths.
void bench_encoder(const Options& options, Measures& measures);

/// One step of masked language modelling at tiny-v3's shape, beside torch where that is asked for.
void bench_train(const Options& options, Measures& measures);

/// c2p and p2c by slices against an index gather.
void bench_gather(Measures& measures);
/// A deberta-v3-base-shaped checkpoint of 371 MB: open it and compute layer 0's terms for 32 tokens.
void bench_open(Measures& measures);
/// Whole forward pass of tiny-v3.
void bench_forward(Measures& measures);
/// Word mover's distance of two documents of 60 words.
void bench_wmd(Measures& measures);

/// One rotation in its three forms: time and memory.
void bench_rope(Measures& measures);
/// Linear attention beside its quadratic form as texts grow.
void bench_linear(Measures& measures);
/// Peak memory of Transformer-XL and XLNet over few and many segments.
void bench_segments(Measures& measures);

/// The conformance kit: export, a whole check, and the diagnosis of one large stage.
void bench_kit(Measures& measures);

/// SentencePiece models on the corpus beside libsentencepiece, ids compared.
void bench_tokens(Measures& measures);

/// The viewer in software: first frame, keystroke, head change, a matrix of 4096 x 4096, memory, idling.
void bench_view(Measures& measures);

/// Seconds of a monotonic clock.
double now();
double median(std::vector<double> values);

}  // namespace locus::bench
