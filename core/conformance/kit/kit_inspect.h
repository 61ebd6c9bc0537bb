#pragma once
// What is wrong with a dump before any value is judged: names nobody knows, axes in another order.
#include "core/conformance/kit/kit_dump.h"

namespace locus::conformance {

/// Throws Error(unsupported) naming the first stage that has no known name, with the nearest known one, or whose axes
/// stand in another order than the reference's: another order of the same values, or the sizes written in ggml's order.
void inspect_dump(const Dump& dump, const KitCase& one, const Trace& reference, const Trace& inputs);

/// The order of `found`'s axes as places in `expected`, if that is what tells them apart; of several that the sizes
/// allow the one under which the values agree best.  Empty if the sizes are no permutation, or are the same.
std::vector<std::size_t> axes_exchanged(const Stage& expected, const Stage& found);

}  // namespace locus::conformance
