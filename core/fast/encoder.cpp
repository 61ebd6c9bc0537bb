#include "core/fast/encoder.h"

#include <algorithm>

#include "core/models/deberta.h"

namespace locus {

template <class Scalar>
FastEncoder<Scalar>::FastEncoder(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights)
    : weights_(config, std::move(weights)) {
    if (config.talking_head || !config.relative_attention || (!config.terms.c2p && !config.terms.p2c))
        throw Error(Fault::unsupported,
                    "the fast path runs models with c2p or p2c and without talking heads, and this is another; "
                    "the reference pass runs it");
    for (Index l = 0; l < config.num_hidden_layers; ++l) {
        const std::string names = layer_prefix(l);
        layers_.push_back(
            {pack_dense<Scalar>({&weights_.projection(l, 0), &weights_.projection(l, 1), &weights_.projection(l, 2)}),
             pack_dense<Scalar>({&weights_.dense(names + "attention.output.dense")}),
             pack_dense<Scalar>({&weights_.dense(names + "intermediate.dense")}),
             pack_dense<Scalar>({&weights_.dense(names + "output.dense")}),
             weights_.norm(names + "attention.output.LayerNorm"),
             weights_.norm(names + "output.LayerNorm"),
             {}});
    }
}

template <class Scalar>
const OffsetTables<Scalar>& FastEncoder<Scalar>::tables(Index layer, Index length, const DebertaOptions& options,
                                                        ThreadPool& pool) {
    const TableKey key{length, options.offset_clamp, options.p2c_index};
    if (!(key == key_))
        for (Layer& one : layers_) one.tables.reset();
    key_ = key;
    std::optional<OffsetTables<Scalar>>& kept = layers_[static_cast<std::size_t>(layer)].tables;
    if (!kept) {
        const Terms terms = config().terms;
        kept = offset_tables<Scalar>(terms.c2p ? weights_.k_r(layer) : Tensor<Scalar>(),
                                     terms.p2c ? weights_.q_r(layer) : Tensor<Scalar>(),
                                     deberta_line(config(), length, options.offset_clamp), options.p2c_index, pool);
    }
    return *kept;
}

template <class Scalar>
void FastEncoder<Scalar>::add_and_norm(const ConstView<Scalar>& residual, const Norm<Scalar>& norm, Matrix<Scalar>& y,
                                       ThreadPool& pool) {
    constexpr Index kRows = 16;
    pool.parallel_for((y.rows() + kRows - 1) / kRows, [&](Index piece, int) {
        const Index row = piece * kRows, rows = std::min(kRows, y.rows() - row);
        y.middleRows(row, rows) =
            layer_norm<Scalar>(y.middleRows(row, rows) + residual.middleRows(row, rows), norm, config().layer_norm_eps);
    });
}

template <class Scalar>
void FastEncoder<Scalar>::attend(Index layer, const ConstView<Scalar>& x, Index length, const std::vector<Mask>* masks,
                                 const DebertaOptions& options, ThreadPool& pool) {
    const Index width = config().hidden_size, head = config().attention_head_size;
    dense_blocks<Scalar>(x, layers_[static_cast<std::size_t>(layer)].qkv, nullptr, qkv_, pool);
    context_.resize(x.rows(), width);
    const auto part = [&](Index which) {
        return HeadsAt<Scalar>{qkv_.data() + which * width, length * 3 * width, head, 3 * width};
    };
    const DisentangledBlocks<Scalar> task{part(0),
                                          part(1),
                                          part(2),
                                          x.rows() / length,
                                          tables(layer, length, options, pool),
                                          score_divisor<Scalar>(deberta_divisor_terms(config(), options), head),
                                          masks,
                                          options.masked_row};
    disentangled_blocks<Scalar>(task, context_.data(), {context_.data(), length * width, head, width}, nullptr,
                                buffers_, pool);
}

template <class Scalar>
Tensor<Scalar> FastEncoder<Scalar>::layer_context(Index layer, const Tensor<Scalar>& x, const std::vector<Mask>* masks,
                                                  const DebertaOptions& options, ThreadPool& pool) {
    attend(layer, x.rows(), x.extent(1), masks, options, pool);
    Tensor<Scalar> context(x.shape());
    context.rows() = context_;
    return context;
}

template <class Scalar>
Tensor<Scalar> FastEncoder<Scalar>::layer_output(Index layer, const Tensor<Scalar>& x, const std::vector<Mask>* masks,
                                                 const DebertaOptions& options, ThreadPool& pool) {
    const Layer& parts = layers_[static_cast<std::size_t>(layer)];
    attend(layer, x.rows(), x.extent(1), masks, options, pool);
    dense_blocks<Scalar>(context_, parts.out, nullptr, attention_, pool);
    add_and_norm(x.rows(), parts.attention_norm, attention_, pool);
    dense_blocks<Scalar>(attention_, parts.up, &config().hidden_act, act_, pool);
    dense_blocks<Scalar>(act_, parts.down, nullptr, output_, pool);
    add_and_norm(attention_, parts.output_norm, output_, pool);
    Tensor<Scalar> output(x.shape());
    output.rows() = output_;
    return output;
}

template <class Scalar>
Tensor<Scalar> FastEncoder<Scalar>::last_output(const ModelInput& input, const DebertaOptions& options,
                                                ThreadPool& pool) {
    check_input(input, config().vocab_size, config().type_vocab_size);
    Trace nothing(StageFilter::none());
    const ForwardContext<Scalar> pass{weights_, input, options, nothing, {}, std::nullopt};
    const std::vector<Mask> masks = pair_masks(input);
    const Tensor<Scalar> embeddings = deberta_embeddings(pass);
    Tensor<Scalar> hidden = embeddings;
    for (Index layer = 0; layer < config().num_hidden_layers; ++layer) {
        hidden = layer_output(layer, hidden, &masks, options, pool);
        if (layer == 0 && config().conv_kernel_size > 0) hidden = deberta_convolution(pass, embeddings, hidden);
    }
    return hidden;
}

template class FastEncoder<float>;
template class FastEncoder<double>;

}  // namespace locus
