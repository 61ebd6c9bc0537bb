#pragma once
// The model, and a worker that runs it: the newest request wins and the window never waits.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/attention/microscope.h"
#include "core/models/deberta.h"
#include "core/text/tokenizer.h"

namespace locus::view {

struct Request {
    std::string model, text, tokens;
    Dialect dialect = Dialect::official;
    double absolute_strength = 1;
    Index layer = 0;
    bool operator==(const Request&) const = default;
};

/// A word and its probability.
struct Guess {
    std::string word;
    double probability = 0;
};

/// Predictions at one [MASK].
struct MaskGuesses {
    Index position = 0;
    std::vector<Guess> with_decoder, last_layer;
};

/// What one run left; never changed once it is shown.
struct Snapshot {
    Request request;
    std::string error;                // one sentence; the rest is empty then
    Fault fault = Fault::unreadable;  // of the error
    std::uint64_t version = 0;
    double milliseconds = 0;
    DebertaConfig config;
    DebertaOptions options;
    std::vector<std::string> pieces;  // as people read them
    std::vector<bool> special;
    Trace trace;  // the shown layer, and emd.* where there is a decoder
    std::optional<BucketLine> line;
    bool has_decoder = false;
    Matrix<float> absolute;  // I, rows of the absolute table [T,D]
    std::vector<MaskGuesses> guesses;

    Index tokens() const { return static_cast<Index>(pieces.size()); }
    Index heads() const { return config.num_attention_heads; }
    /// q, k, k_r, q_r and mask of one head, as the microscope takes them.
    HeadTensors<float> head_tensors(Index head) const;
    /// A [1,H,Tq,Tk] stage of the shown layer at one head; empty if the pass left none.
    Matrix<float> head_stage(const std::string& stem, Index head) const;
    int divisor_terms() const;
};

class Session {
public:
    Session();
    ~Session();
    /// Asks for a run; returns at once.
    void ask(const Request& request);
    /// The newest finished run; nullptr before the first.
    std::shared_ptr<const Snapshot> latest() const;
    /// True while something is asked for and not yet shown.
    bool busy() const;

private:
    struct Opened;
    void work();
    std::shared_ptr<const Snapshot> run(const Request& request);

    mutable std::mutex guard_;
    std::condition_variable changed_;
    std::optional<Request> pending_;
    bool running_ = false, stop_ = false;
    std::shared_ptr<const Snapshot> latest_;
    std::uint64_t versions_ = 0;
    std::unique_ptr<Opened> opened_;  // touched by the worker alone
    std::thread worker_;
};

}  // namespace locus::view
