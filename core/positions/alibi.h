#pragma once
// ALiBi: every head sees distant keys the less, the steeper its slope; nothing is learned.
// Used by lesson 27.  Press et al. 2022, section 3; ofirpress/attention_with_linear_biases get_slopes.
#include <vector>

#include "core/positions/offset_bias.h"
#include "core/tensor.h"

namespace locus {

/// What stands behind the query.
enum class AlibiForm {
    causal,     // m (j - i) for j <= i, as published; later keys get 0, the causal mask hides them
    symmetric,  // -m |i - j|: encoders
};

/// One slope per head.  A power of two: m_h = 2^(-8 (h + 1) / H), a geometric series.  Any other H: the slopes of the
/// nearest lower power of two, then every second one of the doubled series until there are H.
/// Throws Error(usage) for fewer than one head.
std::vector<double> alibi_slopes(Index heads);

/// The bias of every head as a line over j - i.
template <class Scalar>
OffsetBias<Scalar> alibi_line(Index heads, Index queries, Index keys, AlibiForm form);

}  // namespace locus
