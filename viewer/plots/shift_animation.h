#pragma once
// The shift trick as a film: every number knows which query and which distance it stands for, and where it goes next.
// kimiyoung/transformer-xl _rel_shift; zihangdai/xlnet rel_shift (spec 7.3, 8.4).
#include <string>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// One cell of the film: which query's row it belongs to and which distance it stands for.
struct FilmCell {
    Index query = 0, distance = 0;
    bool padding = false;  // the zero column
    bool leaked = false;   // stands in the row of another query, or at a distance that is not its own
    bool hidden = false;   // the mask covers it
};

struct FilmFrame {
    std::string what;  // "a column of zeros on the left"
    Index rows = 0, columns = 0;
    std::vector<FilmCell> cells;  // row-major
    std::vector<Index> goes_to;   // per cell: its place in the next frame, -1: dropped; empty: no frame follows from it

    const FilmCell& at(Index row, Index column) const {
        return cells[static_cast<std::size_t>(row * columns + column)];
    }
};

/// Transformer-XL's shift from the raw products to the masked term: raw, padded, read as [K+1,T], first row dropped,
/// read as [T,K], masked.  queries T >= 1, memory M >= 0, K = M + T.
std::vector<FilmFrame> shift_film(Index queries, Index memory);

/// XLNet's, which keeps the distances on both sides (K + T columns): raw, read as [K+T,T], first row dropped, read as
/// [T,K+T-1], the first K columns; and last, not from these, what Transformer-XL's code would have left, without a mask
/// to cover it.
std::vector<FilmFrame> shift_film_xlnet(Index queries, Index memory);

/// How many cells of a frame have leaked and are not hidden.
Index leaked_cells(const FilmFrame& frame);

}  // namespace locus
