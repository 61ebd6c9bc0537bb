#pragma once
// The right gradients behind a right forward pass: what a port that trains would report.
#include <functional>
#include <string>

#include "core/conformance/diagnosis/mistaken_pass.h"

namespace locus::conformance {

/// Adds to a pass of DeBERTa whose input has labels the gradients of the mean loss, in the order in which they are
/// computed: those of its stages, and of the parameters `wanted` names ("grad.deberta.embeddings.LayerNorm.bias").
/// What the pass already holds stays as it is.  Adds nothing to any other pass.  Throws Cancelled.
void add_backward_pass(RightPass& pass, const std::function<bool(const std::string& name)>& wanted,
                       const CancelToken& stop = {});

}  // namespace locus::conformance
