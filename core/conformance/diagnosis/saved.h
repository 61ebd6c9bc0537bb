#pragma once
// What was saved under the name of a stage, where the port computes with other numbers: a hook at the wrong place, a
// buffer that an operation in place has overwritten.
#include <optional>
#include <string>

#include "core/conformance/diagnosis/all_mistakes.h"

namespace locus::conformance {

/// One sentence where a wrong stage is computed rightly and other numbers are saved under its name; nothing where that
/// is not known. That is so if a stage which is made of it follows, by the right formula, from the right numbers and
/// not from those that were saved, and none follows from those: each more than ten times what rounding allows away.
/// `evidence`: that by which a candidate is judged by its own inputs; `right`: the stage as it should be by them;
/// `made_of`: of every stage of the reference.
std::optional<std::string> saved_otherwise(const Evidence& evidence, const Comparison& comparison,
                                           const StageVerdict& verdict, const Tensor<double>& right,
                                           const MadeOf& made_of);

/// True if a stage after it follows from the numbers that were saved and not from the right ones: what is wrong with
/// them is wrong with the port.
bool goes_on_with_saved(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
                        const Tensor<double>& right, const MadeOf& made_of);

/// A trace, as if it had saved these values under the name of a stage that it reports.
TraceView with_values(const TraceView& trace, const std::string& stage, const Tensor<double>& values);

/// "saved after the mask: 36 hidden pairs hold -1e+30, ..." for scores that are right where a pair is visible and far
/// below where it is hidden, as the reference's probabilities show it; nothing where they are not, and of other stages.
/// right: the scores as they should be.
std::optional<std::string> saved_after_mask(const Evidence& evidence, const StageVerdict& verdict,
                                            const Tensor<double>& right);

/// "it holds the numbers of layer.0.k": a stage of the reference that has the values which were found; nothing where
/// there is none. Stages of one value, or of the same value everywhere, are not compared.
std::optional<std::string> another_stage(const Evidence& evidence, const StageVerdict& verdict);

}  // namespace locus::conformance
