// Masked-word prediction, with the word table as output matrix.
#include "core/models/deberta_pass.h"
#include "core/models/language_head.h"

namespace locus {

template <class Scalar>
void deberta_head(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& x) {
    const DebertaConfig& config = pass.config();
    MaskedWordHead<Scalar> head;
    head.dense = pass.weights.dense(pass.weights.head_dense());
    head.norm = pass.weights.norm(pass.weights.head_norm());
    head.activation = config.hidden_act;
    head.eps = config.layer_norm_eps;
    head.table = [&](Index first, Index count) { return pass.weights.word_block(first, count); };
    head.words = config.vocab_size;
    head.bias = pass.weights.head_bias();
    masked_words(head, pass.input, x, pass.trace, pass.compute());
}

template void deberta_head<float>(const DebertaPass<float>&, const Tensor<float>&);
template void deberta_head<double>(const DebertaPass<double>&, const Tensor<double>&);

}  // namespace locus
