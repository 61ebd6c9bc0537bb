#pragma once
// What the ports of Transformer-XL and XLNet share: sinusoids, memory, the post-norm block.
#include <string>

#include "tests/conformance/toy/toolbox.h"

namespace locus::conformance::toy {

/// One row per distance, [sin | cos] of distance * 10000^(-2t/width); interleaved: sin, cos, sin, cos, ...
template <class Scalar>
Array<Scalar> sinusoids(const std::vector<Index>& distances, Index width, bool interleaved);

/// Rows [first,last) of the tokens of x [B,T,D].
template <class Scalar>
Array<Scalar> token_rows(const Array<Scalar>& x, Index first, Index last);

/// memory [B,M,D] (may be empty) followed by x [B,T,D].
template <class Scalar>
Array<Scalar> after(const Array<Scalar>& memory, const Array<Scalar>& x);

/// q [B,H,T,d] + factor * bias [H,d].
template <class Scalar>
Array<Scalar> biased(const Array<Scalar>& q, const Array<Scalar>& bias, double factor);

/// "segment.2." if there are several, else "".
std::string segment_name(std::size_t segment, std::size_t segments);

}  // namespace locus::conformance::toy
