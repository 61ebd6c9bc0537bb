#pragma once
// The forward pass of core/models/fast_encoder.cpp, kernel by kernel, with weights and activations in the memory of a
// backend, so that tests run the same steps on the host.  A backend here offers what cuda/reference/backend.h lists,
// and
//     void write(Buffer<Value>& to, const Value* host, std::size_t count)    overwrites
//     void multiply(const ProductArguments<Scalar>& args)
//     void norm(const NormRowsArguments<Scalar, Source>& args)
//     void attend(const ForwardArguments<Scalar>& args, int width)
// `run` launches and nothing else: no allocation, no copy, no waiting.
#include <memory>

#include "core/models/deberta.h"
#include "cuda/encoder/encoder.h"
#include "cuda/encoder/encoder_kernels.h"
#include "cuda/encoder/encoder_weights.h"
#include "cuda/encoder/product_arguments.h"
#include "cuda/fused/arguments.h"

namespace locus::cuda {

/// One sentence for a model that these steps do not compute.  Throws Error(unsupported).
inline void check_encoder_model(const DebertaConfig& config) {
    const auto refuse = [](const std::string& why) {
        throw Error(Fault::unsupported,
                    "CUDA: the encoder on the device " + why + "; the CPU computes the same with --device cpu");
    };
    if (config.talking_head || !config.relative_attention || (!config.terms.c2p && !config.terms.p2c))
        refuse("runs models with c2p or p2c and without talking heads, and this is another");
    if (config.attention_head_size > 256)
        refuse("has no head width " + std::to_string(config.attention_head_size) + ", expected at most 256");
    if (config.hidden_size > kMostNormed)
        refuse("has no rows of " + std::to_string(config.hidden_size) + " channels, expected at most " +
               std::to_string(kMostNormed));
}

template <class Scalar, class Backend>
class EncoderPass {
public:
    EncoderPass(const Backend& backend, const DebertaWeights<float>& weights)
        : backend_(backend), config_(weights.config()), weights_(backend, weights), sizes_(weights_.sizes) {}

    /// Copies a call's tokens to the backend and allocates; `run` computes them until the next call.
    void prepare(const ModelInput& input, const DebertaOptions& options, SampleRows rows) {
        if (config_.terms.p2c && options.p2c_index != P2cIndex::official_ij)
            throw Error(Fault::unsupported,
                        "CUDA: the encoder on the device reads row (i,j) for p2c, and this dialect row (j,i); the CPU "
                        "computes it with --device cpu");
        if (config_.position_biased_input && input.length() > config_.max_position_embeddings)
            throw Error(Fault::unsupported, "CUDA: the text has " + std::to_string(input.length()) +
                                                " tokens but the table of absolute positions has " +
                                                std::to_string(config_.max_position_embeddings) + " rows");
        batch_ = {};  // where no memory is left for the new one, nothing is computed
        EncoderBatch batch = encoder_batch(config_, input, options, rows);
        const RelativeBuckets buckets = deberta_buckets(config_, std::max(1, batch.longest), options.offset_clamp);
        grow(batch.rows(), buckets.rows().size(), batch.starts.size());
        batch_ = std::move(batch);
        backend_.write(buffers_->ids, batch_.ids.data(), batch_.ids.size());
        backend_.write(buffers_->types, batch_.types.data(), batch_.types.size());
        backend_.write(buffers_->places, batch_.places.data(), batch_.places.size());
        backend_.write(buffers_->sample, batch_.sample.data(), batch_.sample.size());
        backend_.write(buffers_->visible, batch_.visible.data(), batch_.visible.size());
        backend_.write(buffers_->starts, batch_.starts.data(), batch_.starts.size());
        const std::vector<std::uint16_t> slots(buckets.rows().begin(), buckets.rows().end());
        backend_.write(buffers_->rows_by_offset, slots.data(), slots.size());
        buckets_ = bucket_rows(slots, buffers_->rows_by_offset.data(), batch_.longest - 1);
        scale_ = static_cast<float>(
            1 / score_divisor<double>(deberta_divisor_terms(config_, options), config_.attention_head_size));
    }

    void run() {
        if (batch_.rows() == 0) return;
        embed();
        if (config_.conv_kernel_size > 0) convolve();
        for (std::size_t l = 0; l < weights_.layers.size(); ++l) {
            run_layer(*weights_.layers[l]);
            if (l == 0 && config_.conv_kernel_size > 0)
                norm(summed(buffers_->convolved, nullptr, buffers_->hidden.data(), visible()),
                     *weights_.convolution_norm, buffers_->hidden, visible());
        }
    }

    const EncoderBatch& batch() const { return batch_; }
    const EncoderSizes& sizes() const { return sizes_; }
    /// The rows of the last layer, sizes().hidden_row apart.
    const auto& hidden() const { return buffers_->hidden; }

private:
    using Weights = EncoderWeights<Scalar, Backend>;
    template <class Value>
    using Buffer = typename Weights::template Buffer<Value>;

    /// Everything between the weights, for so many rows.
    struct Buffers {
        std::size_t rows, slots, samples;
        Buffer<int> ids, types, places, sample, starts;
        Buffer<std::uint8_t> visible;
        Buffer<std::uint16_t> rows_by_offset;
        Buffer<Scalar> hidden, qkv, context, product, attention, inner, embedded, taps, convolved;
    };

    void grow(int rows, std::size_t slots, std::size_t samples) {
        const auto n = static_cast<std::size_t>(rows);
        if (buffers_ && n <= buffers_->rows && slots <= buffers_->slots && samples <= buffers_->samples) return;
        const std::size_t most = std::max(n, buffers_ ? buffers_->rows : 0),
                          most_slots = std::max(slots, buffers_ ? buffers_->slots : 0),
                          most_samples = std::max(samples, buffers_ ? buffers_->samples : 0);
        buffers_.reset();
        const auto numbers = [&](int row) {
            return backend_.template allocate<Scalar>(most * static_cast<std::size_t>(row));
        };
        const auto whole = [&](std::size_t count) { return backend_.template allocate<int>(count); };
        const bool convolves = !weights_.convolutions.empty();
        buffers_.reset(new Buffers{
            most, most_slots, most_samples, whole(most), whole(most), whole(most), whole(most), whole(most_samples),
            backend_.template allocate<std::uint8_t>(most), backend_.template allocate<std::uint16_t>(most_slots),
            numbers(sizes_.hidden_row), numbers(3 * sizes_.joined()), numbers(sizes_.joined()),
            numbers(sizes_.hidden_row), numbers(sizes_.hidden_row), numbers(sizes_.inner_row),
            numbers(weights_.projection ? sizes_.embedding_row : 0),
            numbers(convolves ? weights_.convolutions.front()->depth : 0), numbers(convolves ? sizes_.hidden_row : 0)});
    }

    const std::uint8_t* visible() const { return batch_.visible.empty() ? nullptr : buffers_->visible.data(); }

    ProductArguments<Scalar> product(const Buffer<Scalar>& a, const typename Weights::Product& by,
                                     Buffer<Scalar>& c) const {
        return ProductArguments<Scalar>::whole(a.data(), by.weight.data(), c.data(), batch_.rows(), by.columns,
                                               by.depth);
    }
    SummedRows<Scalar> summed(const Buffer<Scalar>& product, const float* bias, const Scalar* residual,
                              const std::uint8_t* visible) const {
        return {product.data(), bias, residual, visible, sizes_.hidden_row, sizes_.hidden};
    }
    template <class Source>
    void norm(const Source& source, const typename Weights::NormAt& by, Buffer<Scalar>& out,
              const std::uint8_t* visible) {
        backend_.norm(NormRowsArguments<Scalar, Source>{source, by.weight.data(), by.bias.data(), visible, out.data(),
                                                        batch_.rows(), sizes_.hidden, sizes_.hidden_row,
                                                        static_cast<float>(config_.layer_norm_eps)});
    }

    /// Word, type and position rows, projection, norm, and zeros where a token is hidden -> hidden.
    void embed() {
        const EmbeddedRows<Scalar> rows{weights_.words.data(),
                                        config_.type_vocab_size > 0 ? weights_.types.data() : nullptr,
                                        config_.position_biased_input ? weights_.positions.data() : nullptr,
                                        buffers_->ids.data(),
                                        buffers_->types.data(),
                                        buffers_->places.data(),
                                        sizes_.embedding_row};
        if (!weights_.projection) return norm(rows, weights_.embedding_norm, buffers_->hidden, visible());
        backend_.parallel_for(static_cast<long long>(batch_.rows()) * (sizes_.embedding_row / kVectorSize<Scalar>),
                              EmbedKernel<Scalar>{rows, buffers_->embedded.data()});
        backend_.multiply(product(buffers_->embedded, *weights_.projection, buffers_->product));
        norm(summed(buffers_->product, weights_.projection->bias.data(), nullptr, nullptr), weights_.embedding_norm,
             buffers_->hidden, visible());
    }

    /// The convolution of the embeddings and its activation, before hidden tokens become zeros -> convolved.
    void convolve() {
        const int groups = static_cast<int>(weights_.convolutions.size()), channels = sizes_.hidden / groups;
        const int kernel = static_cast<int>(config_.conv_kernel_size);
        for (int group = 0; group < groups; ++group) {
            const typename Weights::Product& by = *weights_.convolutions[static_cast<std::size_t>(group)];
            const int step = by.depth / kernel;
            backend_.parallel_for(
                static_cast<long long>(batch_.rows()) * (by.depth / kVectorSize<Scalar>),
                TapsKernel<Scalar>{buffers_->hidden.data(), buffers_->sample.data(), batch_.rows(), sizes_.hidden_row,
                                   group * channels, channels, kernel, step, buffers_->taps.data()});
            ProductArguments<Scalar> args = product(buffers_->taps, by, buffers_->convolved);
            args.c += group * channels;
            args.c_row = sizes_.hidden_row;
            args.bias = by.bias.data();
            args.activates = true;
            args.activation = config_.conv_act;
            backend_.multiply(args);
        }
    }

    /// One post-norm layer: hidden -> hidden.
    void run_layer(const typename Weights::Layer& layer) {
        ProductArguments<Scalar> qkv = product(buffers_->hidden, layer.qkv, buffers_->qkv);
        qkv.bias = layer.qkv.bias.data();
        backend_.multiply(qkv);
        attend(layer);
        backend_.multiply(product(buffers_->context, layer.out, buffers_->product));
        // A hidden token attends to nothing: its context counts as 0, whatever its row holds.
        norm(summed(buffers_->product, layer.out.bias.data(), buffers_->hidden.data(), visible()), layer.attention_norm,
             buffers_->attention, nullptr);
        ProductArguments<Scalar> up = product(buffers_->attention, layer.up, buffers_->inner);
        up.bias = layer.up.bias.data();
        up.activates = true;
        up.activation = config_.hidden_act;
        backend_.multiply(up);
        backend_.multiply(product(buffers_->inner, layer.down, buffers_->product));
        norm(summed(buffers_->product, layer.down.bias.data(), buffers_->attention.data(), nullptr), layer.output_norm,
             buffers_->hidden, nullptr);
    }

    void attend(const typename Weights::Layer& layer) {
        const long long joined = sizes_.joined(), row = 3 * joined;
        const bool packed = !batch_.starts.empty();
        const auto part = [&](int which) {
            return Rows<const Scalar>{buffers_->qkv.data() + which * joined, packed ? 0 : batch_.longest * row,
                                      sizes_.head, row};
        };
        ForwardArguments<Scalar> args;
        args.q = part(0);
        args.k = part(1);
        args.v = part(2);
        args.context = {buffers_->context.data(), packed ? 0 : batch_.longest * joined, sizes_.head, joined};
        if (config_.terms.c2p) args.k_r = layer.k_r.data();
        if (config_.terms.p2c) args.q_r = layer.q_r.data();
        args.buckets = buckets_;
        args.table_rows = sizes_.table_rows;
        args.visible_keys = visible();
        if (packed) {
            args.first_query = args.first_key = buffers_->starts.data();
            args.all_queries = args.all_keys = batch_.rows();  // without them the Hopper kernel cannot serve
        }
        args.batch = static_cast<int>(batch_.batch);
        args.heads = sizes_.heads;
        args.queries = args.keys = batch_.longest;
        args.scale = scale_;
        backend_.attend(args, sizes_.head);
    }

    const Backend& backend_;
    const DebertaConfig config_;
    const Weights weights_;
    const EncoderSizes sizes_;
    EncoderBatch batch_;
    BucketRows buckets_{};
    float scale_ = 1;
    std::unique_ptr<Buffers> buffers_;
};

/// The rows that came back -> [B,T,D] float32; a token without a row is zeros.
template <class Scalar>
Tensor<float> spread_rows(const std::vector<Scalar>& rows, const EncoderBatch& batch, const EncoderSizes& sizes) {
    Tensor<float> output({batch.batch, batch.length, sizes.hidden});
    std::fill(output.data(), output.data() + output.size(), 0.0f);
    for (std::size_t n = 0; n < batch.cells.size(); ++n)
        for (int c = 0; c < sizes.hidden; ++c)
            output[batch.cells[n] * sizes.hidden + c] =
                to_float(rows[n * static_cast<std::size_t>(sizes.hidden_row) + static_cast<std::size_t>(c)]);
    return output;
}

}  // namespace locus::cuda
