#pragma once
// Who sees whom, from the inputs or, where nobody gives them, from the zeros of the reference's own probabilities.
#include "core/attention/softmax.h"
#include "core/conformance/diagnosis/evidence.h"

namespace locus::conformance {

/// 1 = visible, [Tq,Tk] of sample b and head h; empty where everything is.  Throws NotEnough where nobody says.
Mask visible_pairs(const Replay& at, Index b, Index h);
/// The mask that hides keys alone, [Tq,Tk]; empty where everything is visible.  Throws NotEnough for a mask of pairs.
Mask visible_keys(const Replay& at, Index b);
/// The same, as a function of a head too: every head has it.
inline Mask visible_keys_alone(const Replay& at, Index b, Index) { return visible_keys(at, b); }
/// True if a row of this mask shows nothing.
bool hides_all(const Mask& mask, Index i);

}  // namespace locus::conformance
