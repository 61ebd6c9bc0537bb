#pragma once
// The masked-word head: a transform, logits against the word table, and the loss of every target.
#include <string>

#include "core/models/model_input.h"
#include "core/models/operations.h"
#include "core/models/weight_reader.h"
#include "core/trace.h"

namespace locus {

/// The masked-word head of BERT, DeBERTa and RoFormer.
template <class Scalar>
struct MaskedWordHead {
    Dense<Scalar> dense;  // [E,D]
    Norm<Scalar> norm;    // E
    Activation activation = Activation::gelu;
    double eps = 1e-12;
    WordBlock<Scalar> table;  // E_word, or the head's own output matrix
    Index words = 0;
    RowVector<Scalar> bias;  // [V]
};

/// Names of the tensors that turn transformed rows into logits: a table [V,E] and a bias [V].
struct OutputLayer {
    std::string table, bias;
};

/// The word table and the head's bias; where config.json does not tie the table (tie_word_embeddings is false) and the
/// file holds cls.predictions.decoder, that layer.  transformers, _tied_weights_keys of modeling_deberta_v2.py and
/// modeling_roformer.py.  bias: the head's, by its name in the file.
template <class Scalar>
OutputLayer output_layer(const WeightReader<Scalar>& weights, bool tied, const std::string& bias);

/// Notes a cls.predictions.decoder that is not read, where its numbers are not those of the word table.
template <class Scalar>
void note_other_output(const WeightReader<Scalar>& weights, bool tied);

/// mlm.*: norm(act(dense(x))) against the table, for all tokens and for input.mask_positions; the loss of every
/// label above 0, sample by sample.  x [B,T,D].
template <class Scalar>
void masked_words(const MaskedWordHead<Scalar>& head, const ModelInput& input, const Tensor<Scalar>& x, Trace& trace,
                  const Operations<Scalar>& compute = cpu_operations<Scalar>());

}  // namespace locus
