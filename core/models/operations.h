#pragma once
// Every piece of arithmetic that a forward pass does, by name, so that a whole model can run on another backend: the
// passes of core/models, but for those of older/ and the fast ones, call nothing else.  What is left to them is to
// choose, look up, split, join, hide and keep. Angles and sinusoids are tables, made in double before the pass, and are
// not among these.
#include "core/attention/disentangled.h"
#include "core/models/layers.h"
#include "core/models/word_logits.h"
#include "core/positions/rotary.h"

namespace locus {

/// Each function has the name, arguments, result and errors of a free function of core; the line above a group says
/// where it stands.  Implementations must be usable from several threads at once.
template <class Scalar>
class Operations {
public:
    using In = const ConstView<Scalar>&;
    using InOut = View<Scalar>;
    using Row = RowVector<Scalar>;
    using Result = Matrix<Scalar>;

    virtual ~Operations() = default;

    // core/models/layers.h
    virtual Result dense(In x, const Dense<Scalar>& layer) const = 0;
    virtual Result layer_norm(In x, const Norm<Scalar>& norm, double eps) const = 0;
    virtual Result activate(In x, Activation activation) const = 0;
    virtual Result convolve(In x, const Convolution<Scalar>& layer) const = 0;
    virtual void add(In x, InOut sum) const = 0;
    virtual void add_rows(In table, const std::vector<std::int64_t>& ids, InOut sum) const = 0;
    virtual void multiply(Scalar factor, InOut x) const = 0;
    virtual void divide(Scalar divisor, InOut x) const = 0;
    virtual void multiply_rows(const Row& factors, InOut x) const = 0;
    virtual Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) const = 0;
    virtual Result context(In probs, In v) const = 0;
    virtual void context(In probs, In v, InOut result) const = 0;

    // core/attention/disentangled.h and softmax.h
    virtual Result content_to_content(In q, In k) const = 0;
    virtual Result content_to_position(In q, In k_r, const RelativeBuckets& buckets) const = 0;
    virtual Result position_to_content(In k, In q_r, const RelativeBuckets& buckets, P2cIndex index) const = 0;
    virtual Result masked_softmax(In scores, const Mask& mask, MaskedRow masked_row) const = 0;

    // core/positions/rotary.h
    virtual Result rotate(In x, const RotaryTable<Scalar>& table, RotaryLayout layout) const = 0;

    // core/attention/relative.h and two_stream.h
    virtual Result content_term(In q, const Row& u, In k) const = 0;
    virtual Result position_term(In q, const Row& v, In r_k) const = 0;
    virtual Result shift_by_index(In bd_raw, Index keys, Index first, Index memory,
                                  const std::vector<Index>& positions) const = 0;
    virtual Result segment_term(In q, const Row& s, In segments, const std::vector<std::int64_t>& query_ids,
                                const std::vector<std::int64_t>& key_ids) const = 0;

    // core/models/word_logits.h
    virtual Result word_logits(In x, const WordBlock<Scalar>& table, Index words, const Row& bias) const = 0;
    virtual Scalar cross_entropy(const Row& logits, std::int64_t label) const = 0;
    virtual Result log_softmax(In logits, const Row& given) const = 0;
};

/// The free functions themselves; lives as long as the program.
template <class Scalar>
const Operations<Scalar>& cpu_operations();

}  // namespace locus
