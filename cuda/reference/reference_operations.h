#pragma once
// The two interfaces of operations.h over any backend that runs element kernels (cuda/reference/backend.h): the device,
// or the host of a test.
#include "cuda/reference/biased_kernels.h"
#include "cuda/reference/disentangled_kernels.h"
#include "cuda/reference/elementwise_kernels.h"
#include "cuda/reference/layers_kernels.h"
#include "cuda/reference/operations.h"
#include "cuda/reference/relative_kernels.h"
#include "cuda/reference/rotary_kernels.h"
#include "cuda/reference/softmax_kernels.h"

namespace locus::cuda {

/// A backend holds nothing between two calls, so each call makes its own, and several threads may call at once.
template <class Scalar, class Backend>
class ReferenceOperations final : public Operations<Scalar> {
    using typename Operations<Scalar>::In;
    using typename Operations<Scalar>::InOut;
    using typename Operations<Scalar>::Row;
    using typename Operations<Scalar>::Result;

public:
    Result dense(In x, const Dense<Scalar>& layer) const override {
        return reference::dense(Backend(), whole(x), layer);
    }
    Result layer_norm(In x, const Norm<Scalar>& norm, double eps) const override {
        return reference::layer_norm(Backend(), whole(x), norm, eps);
    }
    Result activate(In x, Activation activation) const override {
        return reference::activate(Backend(), whole(x), activation);
    }
    Result convolve(In x, const Convolution<Scalar>& layer) const override {
        return reference::convolve(Backend(), whole(x), layer);
    }

    void add(In x, InOut sum) const override {
        change(sum, [&](Result& values) { reference::add(Backend(), whole(x), values); });
    }
    void add_rows(In table, const std::vector<std::int64_t>& ids, InOut sum) const override {
        change(sum, [&](Result& values) { reference::add_rows(Backend(), whole(table), ids, values); });
    }
    void multiply(Scalar factor, InOut x) const override {
        change(x, [&](Result& values) { reference::multiply(Backend(), factor, values); });
    }
    void divide(Scalar divisor, InOut x) const override {
        change(x, [&](Result& values) { reference::divide(Backend(), divisor, values); });
    }
    void multiply_rows(const Row& factors, InOut x) const override {
        change(x, [&](Result& values) { reference::multiply_rows(Backend(), factors, values); });
    }
    Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) const override {
        return reference::mix_heads(Backend(), scores, weight);
    }
    Result context(In probs, In v) const override { return reference::context(Backend(), whole(probs), whole(v)); }
    void context(In probs, In v, InOut result) const override { result = context(probs, v); }

    Result content_to_content(In q, In k) const override {
        return reference::content_to_content(Backend(), whole(q), whole(k));
    }
    Result content_to_position(In q, In k_r, const RelativeBuckets& buckets) const override {
        return reference::content_to_position(Backend(), whole(q), whole(k_r), buckets);
    }
    Result position_to_content(In k, In q_r, const RelativeBuckets& buckets, P2cIndex index) const override {
        return reference::position_to_content(Backend(), whole(k), whole(q_r), buckets, index);
    }
    Result masked_softmax(In scores, const Mask& mask, MaskedRow masked_row) const override {
        return reference::masked_softmax(Backend(), whole(scores), mask, masked_row);
    }

    Result rotate(In x, const RotaryTable<Scalar>& table, RotaryLayout layout) const override {
        return reference::rotate(Backend(), whole(x), table, layout);
    }

    Result content_term(In q, const Row& u, In k) const override {
        return reference::content_term(Backend(), whole(q), u, whole(k));
    }
    Result position_term(In q, const Row& v, In r_k) const override {
        return reference::position_term(Backend(), whole(q), v, whole(r_k));
    }
    Result shift_by_index(In bd_raw, Index keys, Index first, Index memory,
                          const std::vector<Index>& positions) const override {
        return reference::shift_by_index(Backend(), whole(bd_raw), keys, first, memory, positions);
    }
    Result segment_term(In q, const Row& s, In segments, const std::vector<std::int64_t>& query_ids,
                        const std::vector<std::int64_t>& key_ids) const override {
        return reference::segment_term(Backend(), whole(q), s, whole(segments), query_ids, key_ids);
    }

    Result word_logits(In x, const WordBlock<Scalar>& table, Index words, const Row& bias) const override {
        return reference::word_logits(Backend(), whole(x), table, words, bias);
    }
    Scalar cross_entropy(const Row& logits, std::int64_t label) const override {
        return reference::cross_entropy(Backend(), logits, label);
    }
    Result log_softmax(In logits, const Row& given) const override {
        return reference::log_softmax(Backend(), whole(logits), given);
    }

private:
    /// A copy without gaps between the rows.
    static Result whole(In view) { return view; }
    template <class Change>
    static void change(InOut view, Change apply) {
        Result values = view;
        apply(values);
        view = values;
    }
};

template <class Scalar, class Backend>
class ReferenceTerms final : public StandaloneTerms<Scalar> {
    using typename StandaloneTerms<Scalar>::Result;
    using typename StandaloneTerms<Scalar>::In;
    using typename StandaloneTerms<Scalar>::Row;
    using typename StandaloneTerms<Scalar>::Rotation;
    using typename StandaloneTerms<Scalar>::Visible;

public:
    Result position_to_position(In q_r, In k_r, const RelativeBuckets& buckets) const override {
        return reference::position_to_position(Backend(), q_r, k_r, buckets);
    }
    BiasedTerms<Scalar> biased_attention(In q, In k, In v, const OffsetBias<Scalar>& bias, Index head,
                                         ContentScale scale, const Mask& mask) const override {
        return reference::biased_attention(Backend(), q, k, v, bias, head, scale, mask);
    }
    Result rotate_back(In y, Rotation table, RotaryLayout layout) const override {
        return reference::rotate_back(Backend(), y, table, layout);
    }
    Result rotary_scores(In q, In k, Rotation q_table, Rotation k_table, RotaryLayout layout) const override {
        return reference::rotary_scores(Backend(), q, k, q_table, k_table, layout);
    }
    Result rotary_attention(In q, In k, In v, Rotation table, RotaryLayout layout, const Mask& mask) const override {
        return reference::rotary_attention(Backend(), q, k, v, table, layout, mask);
    }
    Result linear_attention_weights(In q, In k, Rotation table, RotaryLayout layout, LinearForm form, bool causal,
                                    Visible visible) const override {
        return reference::linear_attention_weights(Backend(), q, k, table, layout, form, causal, visible);
    }
    Result linear_attention(In q, In k, In v, Rotation table, RotaryLayout layout, LinearForm form,
                            Visible visible) const override {
        return reference::linear_attention(Backend(), q, k, v, table, layout, form, visible);
    }
    Result causal_linear_attention(In q, In k, In v, Rotation table, RotaryLayout layout, LinearForm form,
                                   Visible visible) const override {
        return reference::causal_linear_attention(Backend(), q, k, v, table, layout, form, visible);
    }
    RelativeTerms<Scalar> relative_terms(In q, In k, In r_k, Row u, Row v, Index first) const override {
        return reference::relative_terms(Backend(), q, k, r_k, u, v, first);
    }
    Result learned_rows(In table, const std::vector<std::int64_t>& positions) const override {
        return reference::learned_rows(Backend(), table, positions);
    }
};

}  // namespace locus::cuda
