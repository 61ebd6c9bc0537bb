#pragma once
// An XLNet and one sentence: which words are predicted, in which order, and what the model makes of it.
#include <memory>
#include <string>
#include <vector>

#include "core/attention/relative.h"
#include "core/attention/two_stream.h"
#include "core/models/xlnet.h"
#include "viewer/data/model_session.h"
#include "viewer/pages/permutation/token_cards.h"

namespace locus {

/// An XLNet and one sentence.
class PermutationSentence {
public:
    static constexpr Family kFamily = Family::xlnet;

    /// Reads the tokens; nothing is run yet.  Throws as ModelSession::input_of, and Error(usage) for an empty text.
    PermutationSentence(std::shared_ptr<const ModelSession> opened, const ModelChoice& choice);

    const std::string& name() const { return opened_->name(); }
    ModelSizes sizes() const { return model().sizes(); }
    const Xlnet<float>& model() const { return static_cast<const Xlnet<float>&>(opened_->model()); }
    const std::vector<std::string>& words() const { return words_; }
    const std::vector<std::int64_t>& tokens() const { return tokens_; }
    std::string word_of(std::int64_t id) const { return opened_->word_of(id); }
    /// True where the text says <mask>: the word is not given.
    bool is_mask(Index position) const;
    /// What the model hides for a row of cards: by their order, by --mask, and where it reads from left to right.
    TwoStreamHiding hiding(const CardRow& cards) const;
    /// True where --mask says that the position is filling alone: only it sees itself.
    bool is_padding(Index position) const {
        return !padding_.empty() && padding_.at(static_cast<std::size_t>(position));
    }
    /// What is hidden beside what the order hides, in a sentence; empty: nothing.
    std::string hides_more() const;
    /// Who sees whom; a given token has no row in the query stream.
    StreamVisibility visible(const CardRow& cards) const;
    /// 0 up to the first <sep>, 1 after it, ...; 2 for <cls>, as transformers numbers them.
    const std::vector<std::int64_t>& types() const { return types_; }
    /// What is predicted until the user chooses: every <mask>; else the two last words that hold a letter.  The
    /// built-in sentence asks for france and paris.
    CardRow usual_cards() const;

private:
    std::shared_ptr<const ModelSession> opened_;
    std::vector<std::int64_t> tokens_, types_;
    std::vector<std::string> words_;
    std::vector<bool> padding_;  // by --mask; empty: none
    std::int64_t mask_id_ = -1;
    bool built_in_ = false;
};

/// What is to be computed.
struct PermutationRequest {
    std::shared_ptr<const PermutationSentence> sentence;
    CardRow cards;
    bool segments = false;  // the tokens' types take part: the term ef
    Index layer = 0;        // whose stages are kept where all would be too large
    Dialect dialect = Dialect::official;

    bool operator==(const PermutationRequest&) const = default;
};

/// One prediction.
struct TargetChance {
    Index position = 0;
    double probability = 0;  // of the word that stands there
    std::string best;        // the likeliest word, and its chance
    double best_probability = 0;
};

struct PermutationAnswer {
    PermutationRequest request;
    std::string error;                   // instead of everything below
    std::vector<TargetChance> chances;   // in the order of prediction
    std::vector<TargetChance> reversed;  // the same targets, predicted the other way round
    bool has_head = false;               // words can be told
    std::vector<std::string> warnings;   // of the weights that were read, as Model::warnings
    Index layer = -1;                    // the only one kept; -1: all
    TwoStreamHiding hiding;              // what the model is given
    Trace trace;                         // layer.*.q .k .r_k .ac .bd .ef .scores .probs, layer.*.g. the same

    Index length() const { return static_cast<Index>(request.sentence->words().size()); }
    /// Row of a stream's matrices that belongs to a position; -1: none.
    Index row_of(Stream stream, Index position) const;
    /// "scores" of one head of one stream; empty where it is not kept or nothing is predicted.
    Matrix<float> stage(Stream stream, Index at_layer, const char* stem, Index head) const;
    /// What one head's cells are made of, for the microscope.
    RelativeHeadTensors<float> head(Stream stream, Index at_layer, Index head) const;

    /// Runs the model in both directions; never throws: what prevents it becomes `error`.
    static std::shared_ptr<const PermutationAnswer> make(const PermutationRequest& request);

private:
    void run();
};

}  // namespace locus
