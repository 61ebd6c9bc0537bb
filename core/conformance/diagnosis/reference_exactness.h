#pragma once
// Does the reference follow from itself? A stage of it is held against what the right formula makes of its other
// stages: a little off, it was computed in single precision there; far off, it is another model's, or of another
// dialect.
#include <optional>
#include <string>

#include "core/compare.h"
#include "core/conformance/diagnosis/evidence.h"

namespace locus::conformance {

/// What a reference in double is exact to where its code takes angles, scales or scores in float32, as those of
/// transformers, Microsoft and Transformer-XL do: |difference| <= 1e-6 (1 + max |stage|), as a kit's case.json has it.
inline constexpr double kSinglePrecision = 1e-6;

/// The first stage that shows the reference to be no more exact than kSinglePrecision although it is in double: it
/// differs from what the right formula makes of the reference's other stages by more than rounding in double, and by no
/// more than that; sines and cosines from their formula, whatever a file holds.  Stages that the candidate reports and
/// has right count as exact.  Nothing where every stage follows, where that cannot be computed, and where `first`, the
/// first wrong stage, is held to less anyway.  Throws Cancelled.
std::optional<std::string> shows_single_precision(const Evidence& evidence, const Comparison& comparison,
                                                  const StageVerdict& first);
/// True of a stage of the embeddings that the right formula gives to rounding in double: nothing that is less exact
/// enters it, so it needs no wider tolerance.  False where that cannot be computed.  Throws Cancelled.
bool has_exact_embeddings(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict);
/// The dialect that the reference's layers show where it holds no probs: by what a query without keys leaves in them.
/// The evidence's own where nothing decides, and where it explains them no worse.  Throws Cancelled.
Dialect dialect_shown(const Evidence& evidence, const Comparison& comparison);

/// True of a first wrong stage that is a table of angles and off by no more than kSinglePrecision: the candidate took
/// them in float32, as the codes do that it is held against elsewhere.
bool has_single_angles(const StageVerdict& first);

/// One sentence where the reference's own stage does not follow from its other stages by the right formula, by more
/// than a thousandth of its largest value and ten times what rounding allows: it is of another dialect or model, or the
/// two files are exchanged.  Empty where it follows, and where that cannot be computed.  Throws Cancelled.
std::string doubt_of_reference(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict);

}  // namespace locus::conformance
