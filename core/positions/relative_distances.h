#pragma once
// Which distances the rows of R stand for, in the order in which Transformer-XL and XLNet keep them.
// kimiyoung/transformer-xl mem_transformer.py; zihangdai/xlnet modeling.py relative_positional_encoding
// (spec 7.2, 8.4).
#include <vector>

#include "core/tensor.h"

namespace locus {

/// K - 1, K - 2, ..., 0 for K = memory + queries keys; distances above `clamp` become `clamp` (clamp <= 0: none).
/// The distance of query i of the segment to key j of memory and segment is memory + i - j.  -> [K].
std::vector<double> transformer_xl_distances(Index keys, Index clamp);

/// Whether a model looks at keys on both sides.
enum class Direction { bidirectional, unidirectional };

/// K, K - 1, ..., 1 - T (bidirectional, K + T rows) or K, ..., 0 (unidirectional, K + 1 rows), for T queries and K
/// keys; with clamp > 0 cut to -clamp ... clamp.  `reversed`: every sign turned, the text read backwards (bi_data).
std::vector<double> xlnet_distances(Index queries, Index keys, Direction direction, Index clamp, bool reversed);

/// The column of R that serves query i and key j where row 0 stands for `first` (K - 1 in Transformer-XL, K in XLNet):
/// first - (memory + i - j).
inline Index distance_column(Index first, Index memory, Index i, Index j) { return first - (memory + i - j); }

}  // namespace locus
