#pragma once
// Right numbers that lie otherwise than in the reference: axes in another order, heads apart, several times over, some
// of them, averaged.
#include <optional>
#include <string>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

/// "the right numbers with their axes in the order [B,T,H,d]: ..." for a stage that has as many values as it should,
/// and "the right numbers in the right order, but of shape [4, 8]: ..."; nothing where they are other numbers.
std::optional<std::string> other_axes(const Evidence& evidence, const StageVerdict& verdict);

/// "the right numbers, but each [d] 2 times, one after another: ...", "the right numbers are 0 to 6 of 512 along T:
/// ..." and the like for a stage of another shape that holds the right numbers and more, some of them, or their mean
/// along an axis; nothing where it does not.
std::optional<std::string> other_extents(const Evidence& evidence, const StageVerdict& verdict);

/// Either of the two, "the right numbers less the largest of each row: ..." for scores, or "the right numbers, but as
/// F32: ..." for whole ones.
std::optional<std::string> other_layout(const Evidence& evidence, const StageVerdict& verdict);

/// At least two values that are told apart: a constant is found everywhere.
bool says_something(const Tensor<double>& values, double allowed);
/// What rounding may explain of a stage, also where its shape is another one.
double allowed_of(const StageVerdict& verdict, const Tensor<double>& right);

}  // namespace locus::conformance
