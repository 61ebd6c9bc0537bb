#include "viewer/data/polling_operations.h"

#include "viewer/data/worker.h"

namespace locus {

namespace {

template <class Scalar>
class PollingOperations : public Operations<Scalar> {
public:
    using Base = Operations<Scalar>;
    using typename Base::In, typename Base::InOut, typename Base::Row, typename Base::Result;

    Result dense(In x, const Dense<Scalar>& layer) const override { return polled().dense(x, layer); }
    Result layer_norm(In x, const Norm<Scalar>& norm, double eps) const override {
        return polled().layer_norm(x, norm, eps);
    }
    Result activate(In x, Activation activation) const override { return polled().activate(x, activation); }
    Result convolve(In x, const Convolution<Scalar>& layer) const override { return polled().convolve(x, layer); }
    void add(In x, InOut sum) const override { return polled().add(x, sum); }
    void add_rows(In table, const std::vector<std::int64_t>& ids, InOut sum) const override {
        return polled().add_rows(table, ids, sum);
    }
    void multiply(Scalar factor, InOut x) const override { return polled().multiply(factor, x); }
    void divide(Scalar divisor, InOut x) const override { return polled().divide(divisor, x); }
    void multiply_rows(const Row& factors, InOut x) const override { return polled().multiply_rows(factors, x); }
    Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) const override {
        return polled().mix_heads(scores, weight);
    }
    Result context(In probs, In v) const override { return polled().context(probs, v); }
    void context(In probs, In v, InOut result) const override { return polled().context(probs, v, result); }
    Result content_to_content(In q, In k) const override { return polled().content_to_content(q, k); }
    Result content_to_position(In q, In k_r, const RelativeBuckets& buckets) const override {
        return polled().content_to_position(q, k_r, buckets);
    }
    Result position_to_content(In k, In q_r, const RelativeBuckets& buckets, P2cIndex index) const override {
        return polled().position_to_content(k, q_r, buckets, index);
    }
    Result masked_softmax(In scores, const Mask& mask, MaskedRow masked_row) const override {
        return polled().masked_softmax(scores, mask, masked_row);
    }
    Result rotate(In x, const RotaryTable<Scalar>& table, RotaryLayout layout) const override {
        return polled().rotate(x, table, layout);
    }
    Result content_term(In q, const Row& u, In k) const override { return polled().content_term(q, u, k); }
    Result position_term(In q, const Row& v, In r_k) const override { return polled().position_term(q, v, r_k); }
    Result shift_by_index(In bd_raw, Index keys, Index first, Index memory,
                          const std::vector<Index>& positions) const override {
        return polled().shift_by_index(bd_raw, keys, first, memory, positions);
    }
    Result segment_term(In q, const Row& s, In segments, const std::vector<std::int64_t>& query_ids,
                        const std::vector<std::int64_t>& key_ids) const override {
        return polled().segment_term(q, s, segments, query_ids, key_ids);
    }
    Result word_logits(In x, const WordBlock<Scalar>& table, Index words, const Row& bias) const override {
        return polled().word_logits(x, table, words, bias);
    }
    Scalar cross_entropy(const Row& logits, std::int64_t label) const override {
        return polled().cross_entropy(logits, label);
    }
    Result log_softmax(In logits, const Row& given) const override { return polled().log_softmax(logits, given); }

private:
    static const Base& polled() {
        poll_work();
        return cpu_operations<Scalar>();
    }
};

}  // namespace

template <class Scalar>
const Operations<Scalar>& polling_operations() {
    static const PollingOperations<Scalar> operations;
    return operations;
}

template const Operations<float>& polling_operations<float>();
template const Operations<double>& polling_operations<double>();

}  // namespace locus
