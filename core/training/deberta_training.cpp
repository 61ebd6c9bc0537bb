#include "core/training/deberta_training.h"

#include "core/models/deberta.h"
#include "core/models/layers.h"
#include "core/models/word_logits.h"
#include "core/training/parameters.h"
#include "core/training/training_layer.h"

namespace locus {

namespace {

constexpr const char* kTypeTable = "embeddings.token_type_embeddings.weight";
constexpr const char* kRelativeTable = "encoder.rel_embeddings.weight";

template <class Scalar>
std::size_t bytes_of(const Matrix<Scalar>& matrix) {
    return static_cast<std::size_t>(matrix.size()) * sizeof(Scalar);
}

std::string prefix_of(const DebertaConfig& config, Index use) {
    return use < config.num_hidden_layers ? "layer." + std::to_string(use)
                                          : "emd." + std::to_string(use - config.num_hidden_layers);
}

std::vector<std::int64_t> types_of(const PackedBatch& batch) {
    return batch.types.empty() ? std::vector<std::int64_t>(batch.tokens.size(), 0) : batch.types;
}

}  // namespace

template <class Scalar>
std::size_t DebertaTape<Scalar>::bytes() const {
    std::size_t sum = bytes_of(norm_input) + bytes_of(convolution.before_act) + bytes_of(convolution.sum);
    if (output) sum += bytes_of(*output);
    for (const LayerUse<Scalar>& use : uses) {
        sum += bytes_of(*use.query);  // keys and values of encoder layers are the same rows
        if (!use.inside) continue;
        const LayerInside<Scalar>& in = *use.inside;
        for (const Matrix<Scalar>* one : {&in.q, &in.k, &in.v, &in.table, &in.k_r, &in.q_r, &in.context,
                                          &in.attention_sum, &in.attention, &in.ffn_in, &in.ffn_act, &in.output_sum})
            sum += bytes_of(*one);
        for (const Matrix<Scalar>& one : in.probs) sum += bytes_of(one);
    }
    return sum;
}

template <class Scalar>
DebertaTraining<Scalar>::DebertaTraining(DebertaConfig config, TrainingSwitches switches, ThreadPool& pool)
    : config_(std::move(config)), switches_(switches), pool_(pool) {
    masked_language_tensors(config_, switches_.decoder);  // refuses what cannot be trained
    if (switches_.decoder && (config_.position_biased_input || config_.embedding_size != config_.hidden_size ||
                              config_.num_hidden_layers < 2))
        throw Error(Fault::unsupported,
                    "the mask decoder needs position_biased_input false, embedding_size equal to hidden_size and two "
                    "layers or more");
}

template <class Scalar>
void DebertaTraining<Scalar>::prepare_buckets(const PackedBatch& batch) {
    for (Index b = 0; b < batch.sentences(); ++b) {
        const Index length = batch.length(b);
        if (buckets_.count(length)) continue;
        // Without relative attention nobody reads it.
        buckets_.emplace(length, config_.relative_attention ? deberta_buckets(config_, length, switches_.offset_clamp)
                                                            : RelativeBuckets::clamped(length, length, 1));
    }
}

template <class Scalar>
Matrix<Scalar> DebertaTraining<Scalar>::table_rows(const Parameters<Scalar>& values, const PackedBatch& batch) const {
    Matrix<Scalar> rows = Matrix<Scalar>::Zero(batch.rows(), config_.embedding_size);
    add_rows<Scalar>(values.matrix(kWordTable), batch.tokens, rows);
    if (config_.type_vocab_size > 0) add_rows<Scalar>(values.matrix(kTypeTable), types_of(batch), rows);
    if (!config_.position_biased_input) return rows;
    check_positions(config_, batch);
    add_positions(values, batch, rows);
    return rows;
}

template <class Scalar>
Matrix<Scalar> DebertaTraining<Scalar>::embedding_sum(const Parameters<Scalar>& values, const PackedBatch& batch) {
    Matrix<Scalar> rows = table_rows(values, batch);
    if (config_.embedding_size == config_.hidden_size) return rows;
    const Dropout none;
    const TrainingContext<Scalar> pass{config_, values, batch, none, buckets_, buffers_, pool_};
    return pass.dense(rows, "embeddings.embed_proj");
}

template <class Scalar>
void DebertaTraining<Scalar>::embedding_sum_backward(const Parameters<Scalar>& values, const PackedBatch& batch,
                                                     const ConstView<Scalar>& d_sum, Parameters<Scalar>& gradients) {
    Matrix<Scalar> d_rows = d_sum;
    if (config_.embedding_size != config_.hidden_size) {
        const Dropout none;
        const TrainingContext<Scalar> pass{config_, values, batch, none, buckets_, buffers_, pool_};
        d_rows = pass.dense_backward(table_rows(values, batch), "embeddings.embed_proj", d_sum, gradients);
    }
    if (config_.position_biased_input) add_positions_backward<Scalar>(batch, d_rows, gradients);
    if (config_.type_vocab_size > 0 && gradients.has(kTypeTable))
        scatter_rows<Scalar>(types_of(batch), d_rows, gradients.matrix(kTypeTable), std::nullopt);
    if (gradients.has(kWordTable))
        scatter_rows<Scalar>(batch.tokens, d_rows, gradients.matrix(kWordTable), config_.pad_token_id);
}

template <class Scalar>
Matrix<Scalar> DebertaTraining<Scalar>::relative_table(const Parameters<Scalar>& values) const {
    if (!config_.relative_attention) return {};
    const Matrix<Scalar> raw = values.matrix(kRelativeTable);
    if (!config_.norm_rel_ebd) return raw;
    return layer_norm<Scalar>(raw, {values.row("encoder.LayerNorm.weight"), values.row("encoder.LayerNorm.bias")},
                              config_.layer_norm_eps);
}

template <class Scalar>
void DebertaTraining<Scalar>::relative_table_backward(const Parameters<Scalar>& values,
                                                      const ConstView<Scalar>& d_table,
                                                      Parameters<Scalar>& gradients) const {
    if (!config_.relative_attention || !gradients.has(kRelativeTable)) return;
    if (!config_.norm_rel_ebd) {
        gradients.matrix(kRelativeTable) += d_table;
        return;
    }
    const NormGradients<Scalar> grad = layer_norm_backward<Scalar>(
        values.matrix(kRelativeTable), {values.row("encoder.LayerNorm.weight"), values.row("encoder.LayerNorm.bias")},
        config_.layer_norm_eps, d_table);
    gradients.matrix(kRelativeTable) += grad.x;
    gradients.row("encoder.LayerNorm.weight") += grad.weight;
    gradients.row("encoder.LayerNorm.bias") += grad.bias;
}

template <class Scalar>
DebertaTape<Scalar> DebertaTraining<Scalar>::forward(const Parameters<Scalar>& values, const PackedBatch& batch,
                                                     Matrix<Scalar> norm_input, const Dropout& dropout) {
    prepare_buckets(batch);
    if (switches_.decoder) check_positions(config_, batch);
    const TrainingContext<Scalar> pass{
        config_, values, batch, dropout, buckets_, buffers_, pool_, switches_.engine, switches_.counted_terms};
    DebertaTape<Scalar> tape;
    tape.norm_input = std::move(norm_input);
    Matrix<Scalar> embeddings = pass.norm(tape.norm_input, "embeddings.LayerNorm");
    pass.hide(embeddings);
    pass.drop(DropoutSite::embeddings, 0, embeddings);
    tape.embeddings = std::make_shared<const Matrix<Scalar>>(std::move(embeddings));
    const Matrix<Scalar> table = relative_table(values);

    const auto run = [&](Index layer, Index number, SharedRows<Scalar> kv, SharedRows<Scalar> query) {
        LayerUse<Scalar> use{layer, number, std::move(kv), std::move(query), {}};
        LayerInside<Scalar> inside;
        Matrix<Scalar> output = layer_forward(pass, use, table, inside);
        if (!switches_.checkpointing) use.inside = std::move(inside);
        tape.uses.push_back(std::move(use));
        return std::make_shared<const Matrix<Scalar>>(std::move(output));
    };
    SharedRows<Scalar> hidden = tape.embeddings;
    for (Index layer = 0; layer < encoder_uses(); ++layer) {
        hidden = run(layer, layer, hidden, hidden);
        if (layer == 0 && config_.conv_kernel_size > 0)
            hidden = std::make_shared<const Matrix<Scalar>>(
                convolution_forward(pass, *tape.embeddings, *hidden, tape.convolution));
    }
    if (switches_.decoder) {
        Matrix<Scalar> first = *hidden;
        add_positions(values, batch, first);
        SharedRows<Scalar> query = std::make_shared<const Matrix<Scalar>>(std::move(first));
        for (Index t = 0; t < kDecoderPasses; ++t)
            query = run(config_.num_hidden_layers - 1, config_.num_hidden_layers + t, hidden, query);
        hidden = query;
    }
    tape.output = hidden;
    return tape;
}

template <class Scalar>
Matrix<Scalar> DebertaTraining<Scalar>::backward(const Parameters<Scalar>& values, const PackedBatch& batch,
                                                 const DebertaTape<Scalar>& tape, const Dropout& dropout,
                                                 const ConstView<Scalar>& d_output, Parameters<Scalar>& gradients,
                                                 Trace* stages) {
    const TrainingContext<Scalar> pass{
        config_, values, batch, dropout, buckets_, buffers_, pool_, switches_.engine, switches_.counted_terms};
    const Matrix<Scalar> table = relative_table(values);
    Matrix<Scalar> d_table = Matrix<Scalar>::Zero(table.rows(), table.cols());
    StageGradients<Scalar> kept{stages, "", batch.sentences(), config_.num_attention_heads};
    const auto zeros = [&] { return Matrix<Scalar>(Matrix<Scalar>::Zero(batch.rows(), config_.hidden_size)); };
    const auto back = [&](const LayerUse<Scalar>& use, const Matrix<Scalar>& d_use, Matrix<Scalar>& d_kv,
                          Matrix<Scalar>& d_query) {
        kept.prefix = prefix_of(config_, use.use);
        if (use.inside)
            return layer_backward<Scalar>(pass, use, *use.inside, d_use, d_kv, d_query, d_table, gradients, kept);
        LayerInside<Scalar> again;
        layer_forward(pass, use, table, again);
        layer_backward<Scalar>(pass, use, again, d_use, d_kv, d_query, d_table, gradients, kept);
    };
    const auto keep_output = [&](const std::string& stage, const Matrix<Scalar>& d) {
        kept.prefix = stage;
        kept.keep("", d);
    };

    Matrix<Scalar> d_hidden = d_output;
    if (switches_.decoder) {
        // Keys and values of both passes come from h; the query of the first is h with the absolute positions.
        Matrix<Scalar> d_h = zeros();
        for (Index t = kDecoderPasses - 1; t >= 0; --t) {
            keep_output("emd." + std::to_string(t) + ".output", d_hidden);
            Matrix<Scalar> d_query = zeros();
            back(tape.uses[static_cast<std::size_t>(encoder_uses() + t)], d_hidden, d_h, d_query);
            d_hidden = std::move(d_query);
        }
        keep_output("emd.query.0", d_hidden);
        add_positions_backward<Scalar>(batch, d_hidden, gradients);
        d_hidden += d_h;
    }
    Matrix<Scalar> d_embeddings = zeros();
    for (Index layer = encoder_uses() - 1; layer >= 0; --layer) {
        keep_output("layer." + std::to_string(layer) + ".output", d_hidden);
        if (layer == 0 && config_.conv_kernel_size > 0)
            d_hidden = convolution_backward<Scalar>(pass, *tape.embeddings, tape.convolution, d_hidden, d_embeddings,
                                                    gradients);
        Matrix<Scalar> d_input = zeros();
        back(tape.uses[static_cast<std::size_t>(layer)], d_hidden, d_input, d_input);
        d_hidden = std::move(d_input);
    }
    d_embeddings += d_hidden;
    keep_output("embeddings.output", d_embeddings);
    relative_table_backward(values, d_table, gradients);
    pass.drop(DropoutSite::embeddings, 0, d_embeddings);
    pass.hide(d_embeddings);
    return pass.norm_backward(tape.norm_input, "embeddings.LayerNorm", d_embeddings, gradients);
}

template struct DebertaTape<float>;
template struct DebertaTape<double>;
template class DebertaTraining<float>;
template class DebertaTraining<double>;

}  // namespace locus
