#include "core/models/deberta_pass.h"

namespace locus {

template <class Scalar>
RowVector<Scalar> visible_tokens(const ModelInput& input) {
    if (input.mask.empty()) return {};
    const Index batch = input.batch(), length = input.length();
    RowVector<Scalar> visible = RowVector<Scalar>::Zero(batch * length);
    const Index queries = input.mask.rank() == 3 ? length : 1;
    for (Index b = 0; b < batch; ++b)
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < length; ++j)
                if (input.mask[(b * queries + i) * length + j] != 0) visible[b * length + j] = 1;
    return visible;
}

template <class Scalar>
Tensor<Scalar> deberta_embeddings(const DebertaPass<Scalar>& pass) {
    const DebertaConfig& config = pass.config();
    const Operations<Scalar>& compute = pass.compute();
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
        const std::vector<std::int64_t> first(static_cast<std::size_t>(rows.rows()), 0);
        compute.add_rows(types, pass.input.token_types.empty() ? first : pass.input.token_types.values(), rows);
    }
    if (config.position_biased_input) {
        const Matrix<Scalar> positions = pass.weights.absolute_rows(length);
        for (Index b = 0; b < batch; ++b) compute.add(positions, rows.middleRows(b * length, length));
    }
    if (config.embedding_size != config.hidden_size)
        rows = compute.dense(rows, pass.weights.dense("embeddings.embed_proj"));

    Tensor<Scalar> output({batch, length, config.hidden_size});
    output.rows() = compute.layer_norm(rows, pass.weights.norm("embeddings.LayerNorm"), config.layer_norm_eps);
    // After the norm, so that a hidden token is exactly 0 and not the norm's bias.
    const RowVector<Scalar> visible = visible_tokens<Scalar>(pass.input);
    if (visible.size() > 0) compute.multiply_rows(visible, output.rows());
    pass.trace.add("embeddings.output", output);
    return output;
}

template RowVector<float> visible_tokens<float>(const ModelInput&);
template RowVector<double> visible_tokens<double>(const ModelInput&);
template Tensor<float> deberta_embeddings<float>(const DebertaPass<float>&);
template Tensor<double> deberta_embeddings<double>(const DebertaPass<double>&);

}  // namespace locus
