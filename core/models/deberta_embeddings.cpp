#include "core/models/deberta_pass.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> visible_tokens(const ModelInput& input) {
    if (input.mask.empty()) return {};
    const Index batch = input.batch(), length = input.length();
    Matrix<Scalar> visible = Matrix<Scalar>::Zero(batch, length);
    const Index queries = input.mask.rank() == 3 ? length : 1;
    for (Index b = 0; b < batch; ++b)
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < length; ++j)
                if (input.mask[(b * queries + i) * length + j] != 0) visible(b, j) = 1;
    return visible;
}

template <class Scalar>
Tensor<Scalar> deberta_embeddings(const DebertaPass<Scalar>& pass) {
    const DebertaConfig& config = pass.config();
    const Index batch = pass.input.batch(), length = pass.input.length();
    Matrix<Scalar> rows = pass.weights.word_rows(pass.input.tokens.values());
    if (pass.trace.wants("embeddings.word")) {
        Tensor<Scalar> word({batch, length, config.embedding_size});
        word.rows() = rows;
        pass.trace.add("embeddings.word", std::move(word));
    }
    if (config.type_vocab_size > 0) {
        const Matrix<Scalar>& types = pass.weights.matrix("embeddings.token_type_embeddings.weight",
                                                          {config.type_vocab_size, config.embedding_size});
        for (Index n = 0; n < rows.rows(); ++n)
            rows.row(n) += types.row(pass.input.token_types.empty() ? 0 : pass.input.token_types[n]);
    }
    if (config.position_biased_input) {
        const Matrix<Scalar> positions = pass.weights.absolute_rows(length);
        for (Index b = 0; b < batch; ++b) rows.middleRows(b * length, length) += positions;
    }
    if (config.embedding_size != config.hidden_size)
        rows = dense<Scalar>(rows, pass.weights.dense("embeddings.embed_proj"));

    Tensor<Scalar> output({batch, length, config.hidden_size});
    output.rows() = layer_norm<Scalar>(rows, pass.weights.norm("embeddings.LayerNorm"), config.layer_norm_eps);
    // After the norm, so that a hidden token is exactly 0 and not the norm's bias.
    const Matrix<Scalar> visible = visible_tokens<Scalar>(pass.input);
    for (Index n = 0; n < visible.size(); ++n) output.rows().row(n) *= visible.data()[n];
    pass.trace.add("embeddings.output", output);
    return output;
}

template Matrix<float> visible_tokens<float>(const ModelInput&);
template Matrix<double> visible_tokens<double>(const ModelInput&);
template Tensor<float> deberta_embeddings<float>(const DebertaPass<float>&);
template Tensor<double> deberta_embeddings<double>(const DebertaPass<double>&);

}  // namespace locus
