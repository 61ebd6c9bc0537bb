#pragma once
// A slip of a backward pass, made on every recorded gradient case, compared and diagnosed.
#include "core/conformance/kit/kit_content.h"
#include "tests/conformance/toy/mutation.h"

namespace locus::conformance::toy {

/// A gradient case with everything that a run and a judgement need.
struct GradientRange {
    CaseContent content;
    Trace known;  // inputs and reference
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};
/// `oracle`: the folder of recorded cases.
std::vector<GradientRange> gradient_ranges(const std::filesystem::path& oracle);

/// The backward pass with a slip on a case; slip {}: the right one.  An attention in float or double; of a whole model
/// the forward pass, and the recorded gradients, but that of the word table with the slip of mistake 53.
template <class Scalar>
Trace run_backward(const GradientRange& range, const Slip& slip);

/// The same compared and diagnosed, in float and in double; full and partial dumps.
std::vector<Finding> try_gradient_slip(const Slip& slip, const GradientRange& range);

extern template Trace run_backward<float>(const GradientRange&, const Slip&);
extern template Trace run_backward<double>(const GradientRange&, const Slip&);

}  // namespace locus::conformance::toy
