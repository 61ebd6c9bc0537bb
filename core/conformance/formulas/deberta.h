#pragma once
// The small steps that formulas of DeBERTa outside attention are written in, right and wrong.
#include "core/conformance/formulas/formulas.h"
#include "core/models/language_head.h"

namespace locus::conformance {

inline const DebertaConfig& config_of(const Replay& at) { return at.deberta().config(); }

/// sqrt(n d) that the scores are divided by, n as the reference's dialect counts it; without a model folder n is 3.
double right_divisor(const Replay& at);

/// Word rows with type rows and, if asked for, absolute rows -> [B*T,E].
/// Throws NotEnough where positions are asked for and there is no absolute table.
Matrix<double> embedding_rows(const Replay& at, bool with_positions);
/// The same, projected to the model's width; no norm yet -> [B*T,D].
Matrix<double> embedding_sum(const Replay& at, bool with_positions);
/// embeddings.output of such a sum: normed, then 0 in the rows of hidden tokens.
Tensor<double> normed_embeddings(const Replay& at, const Matrix<double>& sum);
/// Rows of hidden tokens set to 0; values [B,T,...].
void hide_tokens(const Replay& at, Tensor<double>& values);

/// Rows of a relative table [2k,D] as position queries or position keys -> [H,2k,d].
Tensor<double> table_heads(const Replay& at, const Tensor<double>& table, const Dense<double>& projection);

/// True in layer 0 of a model with a convolution.
bool convolves(const Replay& at);
/// Throws NotEnough unless convolves.
void need_convolution(const Replay& at);
/// x [B,T,D] through the convolution, with its bias, no mask.
Tensor<double> convolved(const Replay& at, const Tensor<double>& x);
/// The same by any kernel.
Tensor<double> convolved_with(const Tensor<double>& x, const Convolution<double>& layer);
/// norm(base + addend), the norm of the convolution; no mask.
Tensor<double> merged(const Replay& at, const Tensor<double>& base, const Tensor<double>& addend);

/// What the masked-word head reads in whichever model has one; throws NotEnough elsewhere.
const Tensor<double>& head_input(const Replay& at);
/// The parts of that head.
struct HeadParts {
    Dense<double> dense;
    Norm<double> norm;
    RowVector<double> bias;
    Activation activation = Activation::gelu;
    double eps = 0;
};
HeadParts head_parts(const Replay& at);
/// The table and the bias that make its logits, by their names in the checkpoint.
OutputLayer output_of(const Replay& at);
/// Logits of x [..,E] against that whole table; bias [V] or empty; `stem` as in logits_of.
Tensor<double> word_scores(const Replay& at, const std::string& stem, const Tensor<double>& x,
                           const RowVector<double>& bias);
/// Rows of values [B,T,..] that the input asks for -> [N,..].
Tensor<double> at_positions(const Replay& at, const Tensor<double>& values);
/// -log softmax of the logits [B,T,V] at the labels of these tokens, sample by sample -> [N].
Tensor<double> losses(const Replay& at, const Tensor<double>& logits, bool unlabelled_too);

// The steps that wrong mask decoders are written in.  Right: microsoft/DeBERTa masked_language_model.py.

/// t of "emd.t."; throws NotEnough elsewhere, so that a formula speaks of the decoder alone.
Index decoder_pass(const Replay& at);
/// Output of the encoder's layer N - from_the_end: 1 is the last one, 2 what the decoder starts from; one before the
/// first layer are the embeddings.  Throws NotEnough beyond.
const Tensor<double>& hidden_state(const Replay& at, Index from_the_end);
/// I [B,T,D], the rows of the absolute table, in the shape of h.  Throws NotEnough where no decoder can run.
Tensor<double> absolute_rows(const Replay& at, const Tensor<double>& h);
/// x through the key or value projection of the last layer, heads split.  part: 1 k, 2 v.
Tensor<double> key_or_value(const Replay& at, const Tensor<double>& x, int part);

/// A wrong decoder as a whole: to its wrong formulas come those by which one pass hands its output to the next, and the
/// last one to the head; so it can be judged by any stage, down to the logits.
std::vector<Formula> decoder_of(std::vector<Formula> wrong, Index passes = 2);
/// k and v made of what `source` says.
std::vector<Formula> keys_and_values_from(std::function<Tensor<double>(const Replay&)> source);

}  // namespace locus::conformance
