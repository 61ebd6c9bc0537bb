#pragma once
// What fine-tuning puts on top of the last layer: classes of a whole text (entailment, spam, relevance), or of every
// token (names, answers).  transformers modeling_deberta_v2.py ContextPooler, modeling_roformer.py
// RoFormerClassificationHead, modeling_xlnet.py XLNetSequenceSummary.  Dropout is off.
#include <optional>
#include <string>
#include <vector>

#include "core/models/operations.h"
#include "core/models/weight_reader.h"
#include "core/trace.h"

namespace locus {

/// Where a family's checkpoints keep the head of a whole text, and how its row is made.
struct PoolerLayout {
    std::string dense;       // "pooler.dense" [P,D]; empty: the row is taken as it is
    std::string output;      // "classifier" [C,P]
    std::string token;       // the row that stands for the text: "first", "last", or "mean" of all, padding too
    std::string activation;  // by its name in config.json; empty: none
    // The fields of config.json that say so, for messages; empty where the family has no choice.
    std::string token_field, activation_field;
};

/// "classifier.weight [3,20]": the tensors of a file by whose names they are a head on the last layer, whether it is
/// one that is computed here or not; the first four, then "...".
std::vector<std::string> head_tensors(const WeightSource& weights);

/// One of two heads: pooled rows and a dense layer, or a dense layer for every token.
template <class Scalar>
class ClassifierHead {
public:
    /// Reads the shapes in the file and no values -> nothing where the file has neither head, or tensors of those names
    /// in other shapes or without a bias: somebody's own layers, which are left alone like all that the encoder does
    /// not read.  A head of every token is `classifier` or `qa_outputs` (start and end of an answer) [C,D], of two
    /// classes or more.  Throws Error(unsupported) for a token or an activation that is not named here.
    static std::optional<ClassifierHead> find(const WeightReader<Scalar>& weights, Index width,
                                              const PoolerLayout& layout);

    /// classifier.pooled and classifier.logits, or classifier.token_logits.
    std::vector<std::string> stage_names() const;

    /// pooled = act(dense(x_t)) of one token t [B,P], logits = pooled W^T + b [B,C]; or token_logits = x W^T + b
    /// [B,T,C].  x [B,T,D].  Stages begin with `prefix` ("segment.1.").
    void classify(const WeightReader<Scalar>& weights, const Tensor<Scalar>& x, const std::string& prefix, Trace& trace,
                  const Operations<Scalar>& compute) const;

    /// True for qa_outputs: the two classes of a token are that an answer begins and that it ends there.
    bool finds_answers() const { return output_ == "qa_outputs"; }

private:
    enum class Token { first, last, mean, each };

    static ClassifierHead of_text(const PoolerLayout& layout, Index width, Index pooled, Index classes);
    Matrix<Scalar> pool(const Tensor<Scalar>& x, const Operations<Scalar>& compute) const;

    std::string dense_, output_;  // names in the file; dense_ is empty where there is none
    Token token_ = Token::each;
    std::optional<Activation> activation_;
    Index width_ = 0, pooled_ = 0, classes_ = 0;  // D, P, C
};

extern template class ClassifierHead<float>;
extern template class ClassifierHead<double>;

}  // namespace locus
