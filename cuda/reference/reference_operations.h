#pragma once
// Every operation of a pass through its twin, at whichever place runs the cells (cuda/reference/backend.h).
#include "core/models/operations.h"
#include "cuda/reference/disentangled_kernels.h"
#include "cuda/reference/elementwise_kernels.h"
#include "cuda/reference/layers_kernels.h"
#include "cuda/reference/relative_kernels.h"
#include "cuda/reference/rotary_kernels.h"
#include "cuda/reference/softmax_kernels.h"
#include "cuda/reference/two_stream_kernels.h"
#include "cuda/reference/word_logits_kernels.h"

namespace locus::cuda {

/// A place holds nothing between two calls, so each call makes its own, and several threads may call at once.
template <class Scalar, class Place>
class TwinOperations final : public Operations<Scalar> {
    using typename Operations<Scalar>::In;
    using typename Operations<Scalar>::InOut;
    using typename Operations<Scalar>::Row;
    using typename Operations<Scalar>::Result;

public:
    Result dense(In x, const Dense<Scalar>& layer) const override { return twin::dense(Place(), whole(x), layer); }
    Result layer_norm(In x, const Norm<Scalar>& norm, double eps) const override {
        return twin::layer_norm(Place(), whole(x), norm, eps);
    }
    Result activate(In x, Activation activation) const override {
        return twin::activate(Place(), whole(x), activation);
    }
    Result convolve(In x, const Convolution<Scalar>& layer) const override {
        return twin::convolve(Place(), whole(x), layer);
    }

    void add(In x, InOut sum) const override {
        change(sum, [&](Result& values) { twin::add(Place(), whole(x), values); });
    }
    void add_rows(In table, const std::vector<std::int64_t>& ids, InOut sum) const override {
        change(sum, [&](Result& values) { twin::add_rows(Place(), whole(table), ids, values); });
    }
    void multiply(Scalar factor, InOut x) const override {
        change(x, [&](Result& values) { twin::multiply(Place(), factor, values); });
    }
    void divide(Scalar divisor, InOut x) const override {
        change(x, [&](Result& values) { twin::divide(Place(), divisor, values); });
    }
    void multiply_rows(const Row& factors, InOut x) const override {
        change(x, [&](Result& values) { twin::multiply_rows(Place(), factors, values); });
    }
    Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) const override {
        return twin::mix_heads(Place(), scores, weight);
    }
    Result context(In probs, In v) const override { return twin::context(Place(), whole(probs), whole(v)); }
    void context(In probs, In v, InOut result) const override { result = context(probs, v); }

    Result content_to_content(In q, In k) const override {
        return twin::content_to_content(Place(), whole(q), whole(k));
    }
    Result content_to_position(In q, In k_r, const RelativeBuckets& line) const override {
        return twin::content_to_position(Place(), whole(q), whole(k_r), line);
    }
    Result position_to_content(In k, In q_r, const RelativeBuckets& line, P2cIndex index) const override {
        return twin::position_to_content(Place(), whole(k), whole(q_r), line, index);
    }
    Result masked_softmax(In scores, const Mask& mask, MaskedRow masked_row) const override {
        return twin::masked_softmax(Place(), whole(scores), mask, masked_row);
    }

    Result rotate(In x, const RotaryTable<Scalar>& table, RotaryLayout layout) const override {
        return twin::rotate(Place(), whole(x), table, layout);
    }

    Result content_term(In q, const Row& u, In k) const override {
        return twin::content_term(Place(), whole(q), u, whole(k));
    }
    Result position_term(In q, const Row& v, In r_k) const override {
        return twin::position_term(Place(), whole(q), v, whole(r_k));
    }
    Result shift_by_index(In bd_raw, Index keys, Index first, Index memory,
                          const std::vector<Index>& positions) const override {
        return twin::shift_by_index(Place(), whole(bd_raw), keys, first, memory, positions);
    }
    Result segment_term(In q, const Row& s, In segments, const std::vector<std::int64_t>& query_ids,
                        const std::vector<std::int64_t>& key_ids) const override {
        return twin::segment_term(Place(), whole(q), s, whole(segments), query_ids, key_ids);
    }

    Result word_logits(In x, const WordBlock<Scalar>& table, Index words, const Row& bias) const override {
        return twin::word_logits(Place(), whole(x), table, words, bias);
    }
    Scalar cross_entropy(const Row& logits, std::int64_t label) const override {
        return twin::cross_entropy(Place(), logits, label);
    }

private:
    /// The values without gaps between the rows.
    static Result whole(In view) { return view; }
    template <class Change>
    static void change(InOut view, Change apply) {
        Result values = view;
        apply(values);
        view = values;
    }
};

}  // namespace locus::cuda
