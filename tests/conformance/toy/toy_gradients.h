#pragma once
// Toy backward passes of one attention, in plain loops, as somebody writes them by hand; and the mistakes they make.
#include "core/models/dialect.h"
#include "core/models/model.h"
#include "core/trace.h"
#include "tests/conformance/toy/toy_port.h"

namespace locus::conformance::toy {

/// Forward and backward of one attention: every stage of a gradient case, from its inputs under names of stages
/// ("layer.0.q", ..., "grad.layer.0.context").  `turns_values`: a RoFormer
/// that turns them too.
template <class Scalar>
Trace run_toy_attention(Family family, const Trace& inputs, const Slip& slip, bool turns_values = false);

/// What a word table collects as the output matrix, from mlm.transform, mlm.logits and labels -> [V,E].
template <class Scalar>
Tensor<Scalar> toy_share_of_the_output(const Trace& forward, const IndexTensor& labels);

extern template Trace run_toy_attention<float>(Family, const Trace&, const Slip&, bool);
extern template Trace run_toy_attention<double>(Family, const Trace&, const Slip&, bool);
extern template Tensor<float> toy_share_of_the_output<float>(const Trace&, const IndexTensor&);
extern template Tensor<double> toy_share_of_the_output<double>(const Trace&, const IndexTensor&);

}  // namespace locus::conformance::toy
