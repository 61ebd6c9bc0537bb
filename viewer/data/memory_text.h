#pragma once
// A Transformer-XL reads a text in segments: one of them, with as much memory of the ones before as is asked for.
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/attention/relative.h"
#include "core/models/transformer_xl.h"
#include "viewer/data/model_session.h"

namespace locus {

struct WordGuess {
    std::string word;
    double probability = 0;
};

/// A Transformer-XL and one text.
class MemoryText {
public:
    static constexpr Family kFamily = Family::transformer_xl;

    /// Reads the tokens; nothing is run yet.  Throws as ModelSession::input_of, and Error(usage) for an empty text.
    MemoryText(std::shared_ptr<const ModelSession> opened, const ModelChoice& choice);

    const std::string& name() const { return opened_->name(); }
    ModelSizes sizes() const { return model().sizes(); }
    const TransformerXl<float>& model() const { return static_cast<const TransformerXl<float>&>(opened_->model()); }
    /// Of the whole text.
    const std::vector<std::string>& words() const { return words_; }
    const std::vector<std::int64_t>& tokens() const { return tokens_; }
    std::string word_of(std::int64_t id) const { return opened_->word_of(id); }

    /// A length that makes two segments of a short text: half of it, at most 24.
    Index usual_segment() const;

private:
    friend struct MemoryAnswer;
    struct Before;
    std::shared_ptr<const Before> before(Index length, Index segment) const;
    ModelInput input_of(Index begin, Index count) const;

    std::shared_ptr<const ModelSession> opened_;
    std::vector<std::int64_t> tokens_;
    std::vector<std::string> words_;
    mutable std::mutex guard_;
    mutable std::shared_ptr<const Before> before_;  // of the last segment that was asked for
};

/// What is to be computed.
struct MemoryRequest {
    std::shared_ptr<const MemoryText> sentence;
    Index segment_tokens = 0;  // 0: usual_segment()
    Index segment = 1;         // which one is read; the last where there are fewer
    Index memory = 24;         // as much as there is where there is less
    Index layer = 0;           // whose stages are kept where all would be too large

    bool operator==(const MemoryRequest&) const = default;
};

/// One segment with `memory` tokens of those before it in sight.
struct MemoryAnswer {
    MemoryRequest request;
    std::string error;  // instead of everything below
    Index segments = 1, segment = 0;
    Index begin = 0, length = 0;        // the segment's tokens in the text
    Index memory = 0, longest = 0;      // M, and the most that the model hands on
    Index layer = -1;                   // the only one kept; -1: all
    bool has_head = false;              // the next word can be told
    std::vector<std::int64_t> next;     // what follows each token; one shorter where the text ends
    Trace trace;                        // layer.*.q .k .r_k .bd_raw .scores .probs, lm.logits
    Tensor<float> logits_without;       // without any memory
    double loss = 0, loss_without = 0;  // mean over `next`, nats
    std::vector<std::string> warnings;  // of the weights that were read, as Model::warnings

    Index keys() const { return memory + length; }
    /// "layer.2.scores" of one head; empty where the layer is not kept.
    Matrix<float> stage(Index at_layer, const char* stem, Index head) const;
    /// What one head's cells are made of, for the microscope.
    RelativeHeadTensors<float> head(Index at_layer, Index head) const;
    /// The likeliest words after token i, with this memory or with none.
    std::vector<WordGuess> guesses(Index i, std::size_t count, bool with_memory) const;
    /// Of the word that really follows; i < next.size().
    double probability_of_next(Index i, bool with_memory) const;

    /// Runs the model; never throws: what prevents it becomes `error`.
    static std::shared_ptr<const MemoryAnswer> make(const MemoryRequest& request);

private:
    void run();
    const Tensor<float>& logits(bool with_memory) const;
};

}  // namespace locus
