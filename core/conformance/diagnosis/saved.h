#pragma once
// What was saved under the name of a stage, where the port computes with other numbers: a hook at the wrong place, a
// buffer that an operation in place has overwritten, axes in another order.
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

/// The candidate, as if it had saved these values under the name of a stage that it reports.
TraceView with_values(const TraceView& candidate, const std::string& stage, const Tensor<double>& values);

/// "the right numbers with their axes in the order [B,T,H,d]: ..." for a stage that has as many values as it should,
/// and "the right numbers in the right order, but of shape [4, 8]: ..."; nothing where they are other numbers.
std::optional<std::string> other_axes(const Evidence& evidence, const StageVerdict& verdict);

/// "the right numbers, but each [d] 2 times, one after another: ..." and "the right numbers are 0 to 6 of 512 along T:
/// ..." for a stage of another shape that holds the right numbers and more, or some of them; nothing where it does not.
std::optional<std::string> other_extents(const Evidence& evidence, const StageVerdict& verdict);
/// Either of the two.
std::optional<std::string> other_layout(const Evidence& evidence, const StageVerdict& verdict);

/// "saved after the mask: 36 hidden pairs hold -1e+30, ..." for scores that are right where a pair is visible and far
/// below where it is hidden, as the reference's probabilities show it; nothing where they are not, and of other stages.
/// right: the scores as they should be.
std::optional<std::string> saved_after_mask(const Evidence& evidence, const StageVerdict& verdict,
                                            const Tensor<double>& right);

/// "it holds the numbers of layer.0.k": a stage of the reference that has the values which were found; nothing where
/// there is none. Stages of one value, or of the same value everywhere, are not compared.
std::optional<std::string> another_stage(const Evidence& evidence, const StageVerdict& verdict);

}  // namespace locus::conformance
