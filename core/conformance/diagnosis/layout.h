#pragma once
// Right numbers that lie otherwise than in the reference: axes in another order, heads apart, several times over, some
// of them, averaged.
#include <optional>
#include <string>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

/// One sentence for a wrong stage that holds the right numbers otherwise, and what to save instead: "the right numbers
/// with their axes in the order [B,T,H,d]: ...", "... but each [d] twice, one after another: ...", "... are 0 to 6 of
/// 512 along T: ...", "the mean of the right numbers along H: ...", scores less the largest of each row, whole numbers
/// as F32; nothing where they are other numbers.
std::optional<std::string> other_layout(const Evidence& evidence, const StageVerdict& verdict);
/// The same of a port that goes on with the right numbers: its array may have the right axes in name alone, and
/// safetensors for NumPy, for one, writes the memory of an array as it lies.
std::optional<std::string> saved_layout(const Evidence& evidence, const StageVerdict& verdict);

/// At least two values that are told apart: a constant is found everywhere.
bool says_something(const Tensor<double>& values, double allowed);
/// What rounding may explain of a stage, also where its shape is another one.
double allowed_of(const StageVerdict& verdict, const Tensor<double>& right);

}  // namespace locus::conformance
