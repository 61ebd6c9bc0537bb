#pragma once
// The parameters of an encoder at a backend (encoder_pass.h), uploaded once: matrices rounded to Scalar with
// their sides rounded up to kRowStep by zeros, biases and norms as float32, k_r and q_r of every layer computed before.
#include <memory>
#include <vector>

#include "core/models/deberta_weights.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/layout.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

inline int padded_to_step(Index size) { return round_up(narrow(size), kRowStep); }

/// Sizes of an encoder, as the kernels see them.
struct EncoderSizes {
    explicit EncoderSizes(const DebertaConfig& config)
        : hidden(narrow(config.hidden_size)),
          hidden_row(padded_to_step(config.hidden_size)),
          embedding_row(padded_to_step(config.embedding_size)),
          inner_row(padded_to_step(config.intermediate_size)),
          heads(narrow(config.num_attention_heads)),
          head(padded_to_step(config.attention_head_size)),
          table_rows(narrow(2 * config.span())) {}
    int hidden, hidden_row, embedding_row, inner_row, heads, head, table_rows;
    int joined() const { return heads * head; }
};

/// Where every row or column of a matrix goes.
using Places = std::vector<Index>;
inline Places in_order(Index count) {
    Places places;
    for (Index n = 0; n < count; ++n) places.push_back(n);
    return places;
}
/// Channels of heads, each head rounded up.
inline Places by_head(Index heads, Index width) {
    Places places;
    for (Index n = 0; n < heads * width; ++n) places.push_back(n / width * padded_to_step(width) + n % width);
    return places;
}

/// A matrix of so many rows and columns, zeros but for the values at their places.
template <class Scalar>
class Spread {
public:
    Spread(Index rows, Index columns) : columns_(columns), values_(static_cast<std::size_t>(rows * columns)) {}
    Spread& put(const Matrix<float>& from, const Places& rows, const Places& columns, Index first_row = 0) {
        for (Index i = 0; i < from.rows(); ++i)
            for (Index j = 0; j < from.cols(); ++j)
                values_[static_cast<std::size_t>((first_row + rows[static_cast<std::size_t>(i)]) * columns_ +
                                                 columns[static_cast<std::size_t>(j)])] =
                    from_float<Scalar>(from(i, j));
        return *this;
    }
    const std::vector<Scalar>& values() const { return values_; }

private:
    Index columns_;
    std::vector<Scalar> values_;
};

template <class Scalar, class Backend>
class EncoderWeights {
public:
    template <class Value>
    using Buffer = decltype(std::declval<const Backend&>().template allocate<Value>(0));

    /// weight [out,in], bias [out] padded with zeros.
    struct Product {
        Buffer<Scalar> weight;
        Buffer<float> bias;
        int columns, depth;
    };
    struct NormAt {
        Buffer<float> weight, bias;
    };
    struct Layer {
        Product qkv, out, up, down;
        NormAt attention_norm, output_norm;
        Buffer<Scalar> k_r, q_r;  // [H,2k,d]; empty: the term is off
    };

    EncoderWeights(const Backend& backend, const DebertaWeights<float>& weights)
        : sizes(weights.config()),
          words(rows_at(backend, weights.word_block(0, weights.config().vocab_size))),
          types(rows_at(backend, types_of(weights))),
          positions(rows_at(backend, positions_of(weights))),
          embedding_norm(norm_at(backend, weights.norm("embeddings.LayerNorm"))) {
        const DebertaConfig& config = weights.config();
        if (config.embedding_size != config.hidden_size)
            projection = own([&] { return product_at(backend, weights.dense("embeddings.embed_proj")); });
        for (Index l = 0; l < config.num_hidden_layers; ++l)
            layers.push_back(own([&] { return layer_at(backend, weights, l); }));
        if (config.conv_kernel_size == 0) return;
        for (Index group = 0; group < config.conv_groups; ++group)
            convolutions.push_back(own([&] { return taps_at(backend, weights.convolution(), group); }));
        convolution_norm = own([&] { return norm_at(backend, weights.norm("encoder.conv.LayerNorm")); });
    }

    const EncoderSizes sizes;
    const Buffer<Scalar> words, types, positions;  // the last two empty where the model has none
    const NormAt embedding_norm;
    std::unique_ptr<Product> projection;  // E != D
    std::vector<std::unique_ptr<Layer>> layers;
    std::vector<std::unique_ptr<Product>> convolutions;  // one a group
    std::unique_ptr<NormAt> convolution_norm;

private:
    /// Buffers neither move nor copy: what make() returns is made where it stays.
    template <class Make>
    static auto own(Make make) {
        using Made = decltype(make());
        return std::unique_ptr<Made>(new Made(make()));
    }
    static Matrix<float> types_of(const DebertaWeights<float>& weights) {
        const DebertaConfig& config = weights.config();
        if (config.type_vocab_size == 0) return {};
        return weights.matrix("embeddings.token_type_embeddings.weight",
                              {config.type_vocab_size, config.embedding_size});
    }
    static Matrix<float> positions_of(const DebertaWeights<float>& weights) {
        if (!weights.config().position_biased_input) return {};
        return weights.absolute_rows(weights.config().max_position_embeddings);
    }
    static Buffer<Scalar> at(const Backend& backend, const Spread<Scalar>& spread) {
        return backend.upload(spread.values().data(), spread.values().size());
    }
    static Buffer<Scalar> rows_at(const Backend& backend, const Matrix<float>& rows) {
        return at(backend, Spread<Scalar>(rows.rows(), padded_to_step(rows.cols()))
                               .put(rows, in_order(rows.rows()), in_order(rows.cols())));
    }
    static Buffer<float> bias_at(const Backend& backend, const RowVector<float>& bias, const Places& places,
                                 Index columns) {
        std::vector<float> values(static_cast<std::size_t>(columns));
        for (Index n = 0; n < bias.size(); ++n)
            values[static_cast<std::size_t>(places[static_cast<std::size_t>(n)])] = bias[n];
        return backend.upload(values.data(), values.size());
    }
    static NormAt norm_at(const Backend& backend, const Norm<float>& norm) {
        return {upload(backend, norm.weight), upload(backend, norm.bias)};
    }
    static Product product_at(const Backend& backend, const Dense<float>& dense) {
        return product_at(backend, dense, in_order(dense.weight.cols()), padded_to_step(dense.weight.cols()));
    }
    static Product product_at(const Backend& backend, const Dense<float>& dense, const Places& inputs, int depth) {
        const int columns = padded_to_step(dense.weight.rows());
        const Places outputs = in_order(dense.weight.rows());
        return {at(backend, Spread<Scalar>(columns, depth).put(dense.weight, outputs, inputs)),
                bias_at(backend, dense.bias, outputs, columns), columns, depth};
    }

    Product qkv_at(const Backend& backend, const DebertaWeights<float>& weights, Index layer) const {
        const DebertaConfig& config = weights.config();
        const Places heads = by_head(config.num_attention_heads, config.attention_head_size);
        Spread<Scalar> joined(3 * sizes.joined(), sizes.hidden_row);
        RowVector<float> bias = RowVector<float>::Zero(3 * sizes.joined());
        for (int part = 0; part < 3; ++part) {
            const Dense<float>& dense = weights.projection(layer, part);
            joined.put(dense.weight, heads, in_order(dense.weight.cols()), part * sizes.joined());
            for (Index n = 0; n < dense.bias.size(); ++n)
                bias[part * sizes.joined() + heads[static_cast<std::size_t>(n)]] = dense.bias[n];
        }
        return {at(backend, joined), upload(backend, bias), 3 * sizes.joined(), sizes.hidden_row};
    }
    /// [H,2k,d] -> [H,2k,head].
    static Buffer<Scalar> table_at(const Backend& backend, const Tensor<float>* table) {
        return rows_at(backend, table ? Matrix<float>(table->rows()) : Matrix<float>());
    }
    Layer layer_at(const Backend& backend, const DebertaWeights<float>& weights, Index l) const {
        const DebertaConfig& config = weights.config();
        const std::string names = layer_prefix(l);
        const Places heads = by_head(config.num_attention_heads, config.attention_head_size);
        return {qkv_at(backend, weights, l),
                product_at(backend, weights.dense(names + "attention.output.dense"), heads, sizes.joined()),
                product_at(backend, weights.dense(names + "intermediate.dense")),
                product_at(backend, weights.dense(names + "output.dense")),
                norm_at(backend, weights.norm(names + "attention.output.LayerNorm")),
                norm_at(backend, weights.norm(names + "output.LayerNorm")),
                table_at(backend, config.terms.c2p ? &weights.k_r(l) : nullptr),
                table_at(backend, config.terms.p2c ? &weights.q_r(l) : nullptr)};
    }
    /// One group of a convolution as a product with the taps of TapsKernel: weight [outputs,kernel * step].
    static Product taps_at(const Backend& backend, const Convolution<float>& layer, Index group) {
        const Index inputs = layer.weight.cols() / layer.kernel, outputs = layer.weight.rows() / layer.groups;
        const Index step = padded_to_step(inputs);
        Places taps;  // stored as [input][tap]
        for (Index n = 0; n < layer.weight.cols(); ++n) taps.push_back(n % layer.kernel * step + n / layer.kernel);
        // A single group writes whole rows, the zeros after them too.
        const Index columns = layer.groups == 1 ? padded_to_step(outputs) : outputs;
        const RowVector<float> bias = layer.bias.segment(group * outputs, outputs);
        return {at(backend, Spread<Scalar>(columns, layer.kernel * step)
                                .put(layer.weight.middleRows(group * outputs, outputs), in_order(outputs), taps)),
                bias_at(backend, bias, in_order(outputs), columns), narrow(columns), narrow(layer.kernel * step)};
    }
};

}  // namespace locus::cuda
