#include "core/models/operations.h"

#include "core/attention/relative.h"
#include "core/attention/two_stream.h"
#include "core/models/layers.h"

namespace locus {

namespace {

template <class Scalar>
class CpuOperations final : public Operations<Scalar> {
    using typename Operations<Scalar>::In;
    using typename Operations<Scalar>::InOut;
    using typename Operations<Scalar>::Row;
    using typename Operations<Scalar>::Result;

public:
    Result dense(In x, const Dense<Scalar>& layer) const override { return locus::dense<Scalar>(x, layer); }
    Result layer_norm(In x, const Norm<Scalar>& norm, double eps) const override {
        return locus::layer_norm<Scalar>(x, norm, eps);
    }
    Result activate(In x, Activation activation) const override { return locus::activate<Scalar>(x, activation); }
    Result convolve(In x, const Convolution<Scalar>& layer) const override { return locus::convolve<Scalar>(x, layer); }

    void add(In x, InOut sum) const override { locus::add<Scalar>(x, sum); }
    void add_rows(In table, const std::vector<std::int64_t>& ids, InOut sum) const override {
        locus::add_rows<Scalar>(table, ids, sum);
    }
    void multiply(Scalar factor, InOut x) const override { locus::multiply<Scalar>(factor, x); }
    void divide(Scalar divisor, InOut x) const override { locus::divide<Scalar>(divisor, x); }
    void multiply_rows(const Row& factors, InOut x) const override { locus::multiply_rows<Scalar>(factors, x); }
    Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) const override {
        return locus::mix_heads(scores, weight);
    }
    Result context(In probs, In v) const override { return locus::context<Scalar>(probs, v); }
    void context(In probs, In v, InOut result) const override { locus::context<Scalar>(probs, v, result); }

    Result content_to_content(In q, In k) const override { return locus::content_to_content<Scalar>(q, k); }
    Result content_to_position(In q, In k_r, const RelativeBuckets& buckets) const override {
        return locus::content_to_position<Scalar>(q, k_r, buckets);
    }
    Result position_to_content(In k, In q_r, const RelativeBuckets& buckets, P2cIndex index) const override {
        return locus::position_to_content<Scalar>(k, q_r, buckets, index);
    }
    Result masked_softmax(In scores, const Mask& mask, MaskedRow masked_row) const override {
        return locus::masked_softmax<Scalar>(scores, mask, masked_row);
    }

    Result rotate(In x, const RotaryTable<Scalar>& table, RotaryLayout layout) const override {
        return locus::rotate<Scalar>(x, table, layout);
    }

    Result content_term(In q, const Row& u, In k) const override { return locus::content_term<Scalar>(q, u, k); }
    Result position_term(In q, const Row& v, In r_k) const override { return locus::position_term<Scalar>(q, v, r_k); }
    Result shift_by_index(In bd_raw, Index keys, Index first, Index memory,
                          const std::vector<Index>& positions) const override {
        return locus::shift_by_index<Scalar>(bd_raw, keys, first, memory, positions);
    }
    Result segment_term(In q, const Row& s, In segments, const std::vector<std::int64_t>& query_ids,
                        const std::vector<std::int64_t>& key_ids) const override {
        return locus::segment_term<Scalar>(q, s, segments, query_ids, key_ids);
    }

    Result word_logits(In x, const WordBlock<Scalar>& table, Index words, const Row& bias) const override {
        return locus::word_logits<Scalar>(x, table, words, bias);
    }
    Scalar cross_entropy(const Row& logits, std::int64_t label) const override {
        return locus::cross_entropy<Scalar>(logits, label);
    }
    Result log_softmax(In logits, const Row& given) const override { return locus::log_softmax<Scalar>(logits, given); }
};

}  // namespace

template <class Scalar>
const Operations<Scalar>& cpu_operations() {
    static const CpuOperations<Scalar> operations;
    return operations;
}

template const Operations<float>& cpu_operations<float>();
template const Operations<double>& cpu_operations<double>();

}  // namespace locus
