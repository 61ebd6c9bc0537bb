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
    bool sentences = false;            // the sentences of unequal lengths alone
    int threads = 0;                   // one number of threads alone; 0: 1 and 2
};

struct Benchmark {
    const char* name;
    const char* what;   // one sentence
    const char* takes;  // on two cores: "20 s"
    std::function<void(const Options&, Measures&)> run;
};

class Peer;

// Every benchmark has a namespace of its own, so that any of their files can be compiled together.

namespace attention {
/// The attention core by blocks, beside torch where that is asked for, then layers::measure.
void measure(const Options& options, Measures& measures);
}  // namespace attention

namespace layers {
/// Attention with its projections, one layer and the whole encoder of deberta-v3-base's shape at T 512, beside a peer
/// that is there, or null; files go to `folder`.
void measure(Peer* peer, const std::filesystem::path& folder, Measures& measures);
}  // namespace layers

namespace encoder {
/// The whole encoder of deberta-v3-base's shape at several lengths, and a batch of sentences of unequal lengths.
void measure(const Options& options, Measures& measures);
}  // namespace encoder

namespace train {
/// One step of masked language modelling at tiny-v3's shape, beside torch where that is asked for.
void measure(const Options& options, Measures& measures);
}  // namespace train

namespace gather {
/// c2p and p2c by slices against an index gather.
void measure(Measures& measures);
}  // namespace gather

namespace forward {
/// Whole forward pass of tiny-v3.
void measure(Measures& measures);
}  // namespace forward

namespace wmd {
/// Word mover's distance of two documents of 60 words.
void measure(Measures& measures);
}  // namespace wmd

namespace rope {
/// One rotation in its three forms: time and memory.
void measure(Measures& measures);
}  // namespace rope

namespace linear {
/// Linear attention beside its quadratic form as texts grow.
void measure(Measures& measures);
}  // namespace linear

namespace segments {
/// Peak memory of Transformer-XL and XLNet over few and many segments.
void measure(Measures& measures);
}  // namespace segments

namespace kit {
/// The conformance kit: export, a whole check, and the diagnosis of one large stage.
void measure(Measures& measures);
}  // namespace kit

namespace tokens {
/// SentencePiece models on the corpus beside libsentencepiece, ids compared.
void measure(Measures& measures);
}  // namespace tokens

namespace programs {
/// A deberta-v3-base-shaped checkpoint of 371 MB: open it and compute layer 0's terms for 32 tokens.
void measure_open(Measures& measures);
/// The viewer in software: first frame, keystroke, head change, a matrix of 4096 x 4096, memory, idling.
void measure_view(Measures& measures);
}  // namespace programs

/// Seconds of a monotonic clock.
double now();
double median(std::vector<double> values);

}  // namespace locus::bench
