#pragma once
// The small trained checkpoints behind the pages of the other families, each with the sentence its page opens on.
#include <memory>
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/io/checkpoint.h"
#include "core/models/model.h"
#include "core/models/transformer_xl.h"
#include "core/positions/factorisation_order.h"
#include "core/positions/rotary.h"
#include "viewer/exhibit_source.h"

namespace locus {

/// An exhibit that is opened when it is first looked at; what stands in the way is kept as one sentence.
template <class Exhibit>
class Opening {
public:
    /// Opens it; returns why that cannot be done, or nothing.
    const std::string& trouble() {
        if (exhibit_ || !trouble_.empty()) return trouble_;
        try {
            exhibit_ = std::make_unique<Exhibit>();
        } catch (const Error& error) {
            trouble_ = error.what();
        }
        return trouble_;
    }
    /// Throws Error(unreadable) with that sentence.
    const Exhibit& operator*() {
        if (!trouble().empty()) throw Error(Fault::unreadable, trouble_);
        return *exhibit_;
    }

private:
    std::unique_ptr<Exhibit> exhibit_;
    std::string trouble_;
};

/// A built-in model, its files open.
struct OpenedModel {
    std::string name;
    Checkpoint checkpoint;
    explicit OpenedModel(const std::string& model) : name(model), checkpoint(open_checkpoint(resolve_model(model))) {}
};

/// A RoFormer and one sentence.
class RotaryExhibit {
public:
    static constexpr Family kFamily = Family::roformer;

    /// Runs the sentence.  Throws as ExhibitModel::input_of and Model::forward do.
    RotaryExhibit(std::shared_ptr<const ExhibitModel> opened, const ExhibitChoice& choice);

    const std::string& name() const { return opened_->name(); }
    ModelSizes sizes() const { return opened_->model().sizes(); }
    const std::vector<std::string>& words() const { return words_; }
    Index length() const { return static_cast<Index>(words_.size()); }
    /// Of one token, before the turn: [d].
    RowVector<double> query(Index layer, Index head, Index token) const { return row("q", layer, head, token); }
    RowVector<double> key(Index layer, Index head, Index token) const { return row("k", layer, head, token); }
    /// Of one head, before the turn: "q", "k" or "v" [T,d].
    Matrix<float> rows(const char* stem, Index layer, Index head) const;
    /// The model's own angles, one row per token.
    const RotaryTable<float>& angles() const { return angles_; }
    /// [T,T], or empty where the sentence hides nothing.
    const Mask& visible() const { return visible_; }
    /// Made again from q and k with the bits of the model's own stages, so a long text costs no memory: [T,T].
    Matrix<float> scores(Index layer, Index head) const;
    Matrix<float> attention(Index layer, Index head) const;

private:
    RowVector<double> row(const char* stem, Index layer, Index head, Index token) const;

    std::shared_ptr<const ExhibitModel> opened_;
    std::vector<std::string> words_;
    Trace trace_;  // layer.*.q .k .v
    RotaryTable<float> angles_;
    Mask visible_;
};

struct WordGuess {
    std::string word;
    double probability = 0;
};

/// The second segment of a story, with `memory` tokens of the first in sight.
struct MemoryAnswer {
    Index memory = 0;  // M
    Trace trace;       // layer.*.q .k .r_k .scores .probs, lm.logits
    double loss = 0;   // mean over the words that follow

    Index keys() const { return memory + trace.at("layer.0.q").shape()[2]; }
};

/// tiny-txl and one story in two segments.
class MemoryExhibit {
public:
    MemoryExhibit();

    const std::string& name() const { return opened_.name; }
    ModelSizes sizes() const { return model_->sizes(); }
    const std::vector<std::string>& first() const { return first_; }
    const std::vector<std::string>& second() const { return second_; }
    /// What comes after each word of the second segment.
    const std::vector<std::string>& next() const { return next_; }
    /// Most tokens of the first segment that a layer can look back at.
    Index longest_memory() const { return static_cast<Index>(first_.size()); }

    /// memory 0 ... longest_memory().
    MemoryAnswer answer(Index memory) const;
    /// u and v of one head, [d]; the same in every layer.
    RowVector<float> content_bias(Index head) const { return bias("r_w_bias", head); }
    RowVector<float> position_bias(Index head) const { return bias("r_r_bias", head); }
    /// The likeliest words after token i of the second segment.
    std::vector<WordGuess> guesses(const MemoryAnswer& answer, Index i, std::size_t count) const;
    /// Probability of the word that really follows.
    double probability_of_next(const MemoryAnswer& answer, Index i) const;

private:
    ModelInput input_of(const std::vector<std::string>& words) const;
    RowVector<float> bias(const char* name, Index head) const;

    OpenedModel opened_;
    std::unique_ptr<TransformerXl<float>> model_;
    std::vector<std::string> vocabulary_, first_, second_, next_;
    SegmentMemory<float> memory_;
};

/// Who is predicted, in which order, and what the model makes of it.
struct PermutationAnswer {
    std::vector<Index> targets;         // positions, in the order of prediction
    std::vector<double> probabilities;  // of the true word, one per target
    Trace trace;                        // layer.*.probs, layer.*.g.probs
};

/// tiny-xlnet and one sentence.
class PermutationExhibit {
public:
    PermutationExhibit();

    const std::string& name() const { return opened_.name; }
    ModelSizes sizes() const { return model_->sizes(); }
    const std::vector<std::string>& words() const { return words_; }
    /// query_sees [T,T]: 1 where the query stream of row i sees key j.
    PermutationAnswer answer(const std::vector<Index>& targets, const Visibility& query_sees) const;

private:
    OpenedModel opened_;
    std::unique_ptr<Model<float>> model_;
    std::vector<std::string> words_;
};

}  // namespace locus
