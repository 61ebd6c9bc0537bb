#pragma once
// What the device computes as the readable reference: every operation of a whole model (core/models/operations.h), and
// the terms that no model's forward pass calls by themselves.
#include "core/attention/biased.h"
#include "core/attention/linear.h"
#include "core/attention/relative.h"
#include "core/models/operations.h"

namespace locus::cuda {

/// Each function has the name, arguments, result and errors of a free function of core; the line above a group says
/// where it stands.
template <class Scalar>
class StandaloneTerms {
public:
    using Result = Matrix<Scalar>;
    using In = const Matrix<Scalar>&;
    using Row = const RowVector<Scalar>&;
    using Rotation = const RotaryTable<Scalar>&;
    using Visible = const std::vector<bool>&;

    virtual ~StandaloneTerms() = default;

    // core/attention/disentangled.h
    virtual Result position_to_position(In q_r, In k_r, const RelativeBuckets& buckets) const = 0;
    // core/attention/biased.h: T5 and ALiBi, head `head` of the offsets' biases
    virtual BiasedTerms<Scalar> biased_attention(In q, In k, In v, const OffsetBias<Scalar>& bias, Index head,
                                                 ContentScale scale, const Mask& mask) const = 0;
    // core/positions/rotary.h and core/attention/rotary.h
    virtual Result rotate_back(In y, Rotation table, RotaryLayout layout) const = 0;
    virtual Result rotary_scores(In q, In k, Rotation q_table, Rotation k_table, RotaryLayout layout) const = 0;
    virtual Result rotary_attention(In q, In k, In v, Rotation table, RotaryLayout layout, const Mask& mask) const = 0;
    // core/attention/linear.h
    virtual Result linear_attention_weights(In q, In k, Rotation table, RotaryLayout layout, LinearForm form,
                                            bool causal, Visible visible) const = 0;
    virtual Result linear_attention(In q, In k, In v, Rotation table, RotaryLayout layout, LinearForm form,
                                    Visible visible) const = 0;
    virtual Result causal_linear_attention(In q, In k, In v, Rotation table, RotaryLayout layout, LinearForm form,
                                           Visible visible) const = 0;
    // core/attention/relative.h: a to d of Transformer-XL, each by itself
    virtual RelativeTerms<Scalar> relative_terms(In q, In k, In r_k, Row u, Row v, Index first) const = 0;
    // core/positions/position_rows.h
    virtual Result learned_rows(In table, const std::vector<std::int64_t>& positions) const = 0;
};

/// Both live as long as the program.  Float32 is float32: no TF32, no fused multiply-add.  Scalar: float, double.
/// Throw Error(unsupported) in one sentence where no device answers.
template <class Scalar>
const Operations<Scalar>& device_operations();
template <class Scalar>
const StandaloneTerms<Scalar>& device_terms();

}  // namespace locus::cuda
