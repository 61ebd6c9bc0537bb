#pragma once
// What the RoPE page shows: a RoFormer and one sentence.
#include <memory>
#include <string>
#include <vector>

#include "core/attention/linear.h"
#include "core/attention/softmax.h"
#include "core/models/model.h"
#include "core/positions/rotary.h"
#include "viewer/data/model_session.h"

namespace locus {

/// A RoFormer and one sentence.
class RotarySentence {
public:
    static constexpr Family kFamily = Family::roformer;

    /// Runs the sentence.  Throws as ModelSession::input_of and Model::forward do.
    RotarySentence(std::shared_ptr<const ModelSession> opened, const ModelChoice& choice);

    const std::string& name() const { return opened_->name(); }
    ModelSizes sizes() const { return opened_->model().sizes(); }
    const std::vector<std::string>& words() const { return words_; }
    Index length() const { return static_cast<Index>(words_.size()); }
    /// Of one token, not rotated yet: [d].
    RowVector<double> query(Index layer, Index head, Index token) const { return row("q", layer, head, token); }
    RowVector<double> key(Index layer, Index head, Index token) const { return row("k", layer, head, token); }
    /// Of one head, not rotated yet: "q", "k" or "v" [T,d].
    Matrix<float> rows(const char* stem, Index layer, Index head) const;
    /// The model's own angles, one row per token.
    const RotaryTable<float>& angles() const { return angles_; }
    /// True if the checkpoint stores a table of other angles than those of base 10 000.
    bool has_own_table() const { return has_own_table_; }
    /// One sentence for each weight that was read and holds NaN or infinity.
    const std::vector<std::string>& warnings() const { return warnings_; }
    /// [T,T], or empty where the sentence hides nothing.
    const Mask& visible() const { return visible_; }
    /// Made again from q and k with the bits of the model's own stages, so a long text costs no memory: [T,T].
    Matrix<float> scores(Index layer, Index head) const;
    Matrix<float> attention(Index layer, Index head) const;
    /// What linear attention with rotary positions would make of this head's q and k, in the paper's form: [T,T].
    Matrix<float> linear_weights(Index layer, Index head) const;
    LinearExplanation<float> explain_linear(Index layer, Index head, Index i, Index j) const;

private:
    /// Tokens that the mask leaves visible, which the last query of a decoder sees too; empty where all are.
    std::vector<bool> keys() const;
    RowVector<double> row(const char* stem, Index layer, Index head, Index token) const;

    std::shared_ptr<const ModelSession> opened_;
    std::vector<std::string> words_;
    Trace trace_;  // layer.*.q .k .v
    RotaryTable<float> angles_;
    bool causal_ = false;  // the model is a decoder
    bool has_own_table_ = false;
    std::vector<std::string> warnings_;
    Mask visible_;
};

}  // namespace locus
