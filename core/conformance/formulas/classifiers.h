#pragma once
// Fine-tuned heads, right and wrong: the row that stands for a text, the layer and activation after it, the classes.
// transformers modeling_deberta_v2.py ContextPooler, modeling_roformer.py RoFormerClassificationHead, modeling_xlnet.py
// XLNetSequenceSummary.
#include <functional>
#include <optional>
#include <string>

#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

/// What a checkpoint of the family at hand has; each part throws NotEnough where it has no such head.
struct ClassifierParts {
    std::string dense, output;             // names of the layers; dense is empty where the row is taken as it is
    bool last = false, mean = false;       // the row: the first token's, else this
    std::optional<Activation> activation;  // none: the row goes on as it is
};
ClassifierParts classifier_parts(const Replay& at);

/// The last layer's output [B,T,D], of the query stream where XLNet has targets.
const Tensor<double>& classified_states(const Replay& at);
/// One row per sample: of token 0, of the last, or the mean [B,D].
Matrix<double> first_rows(const Tensor<double>& x);
Matrix<double> last_rows(const Tensor<double>& x);
Matrix<double> mean_rows(const Tensor<double>& x);
/// The right rows through the dense layer, before the activation [B,P].
Matrix<double> pooled_inner(const Replay& at, const Matrix<double>& rows);
/// After the right activation -> the stage classifier.pooled.
Tensor<double> pooled_of(const Replay& at, const Matrix<double>& rows);
/// The rows that the configuration asks for.
Matrix<double> right_rows(const Replay& at);
/// The layer that gives every token its classes: "classifier" or "qa_outputs".
std::string token_layer(const Replay& at);

/// classifier.pooled with another function [N,P] in place of its gelu; where the configuration has no gelu there
/// nothing changes.
Formula pooler_with(std::function<Matrix<double>(const Matrix<double>& inner)> function);

/// classifier.pooled, .logits and .token_logits, the same in all families that have them.
std::vector<Formula> classifier_formulas();

}  // namespace locus::conformance
