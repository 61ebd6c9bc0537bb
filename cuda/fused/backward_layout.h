#pragma once
// How a block of the fused backward kernels divides its shared memory, in bytes.
#include "cuda/fused/fused_layout.h"

namespace locus::cuda {

/// Around keys the rows of the relative table rise with the inner tokens, and neighbouring lanes read places whose
/// distance is one less than the stride, where it is one more in forward: fused_index.h with its two lengths exchanged.
constexpr int outer_table_stride(int rows, bool rising) {
    return rising ? round_up(larger(rows, 9) - 9, 64) + 9 : row_table_stride(rows);
}
constexpr int inner_table_stride(int rows, bool rising) {
    return rising ? round_up(larger(rows, 7) - 7, 32) + 7 : key_table_stride(rows);
}

/// Places of a block with so many outer tokens, inner tokens per tile, channels, and table rows that it reaches.
struct BackwardLayout {
    int outer_tokens, outer_values;
    int inner_tokens, inner_values;  // two tiles each: one is used while the next arrives
    int window;                      // rows of a relative table; later in a tile, the gradients of its scores, or the
                                     // two halves of their sums by row
    int outer_table;  // position scores of the block's tokens with every row they reach, and cell by cell, as the last
                      // pair of a row has passed, the sum of its pairs' gradients
    int inner_table;  // position scores of a tile's tokens with every row of the window
    int places;       // the relative table's row at every place of a tile
    int log_sums, deltas;  // of the queries
    int visible;           // 1 where a key is
    int bytes;

    static constexpr BackwardLayout of(int tile_outer, int tile_inner, int width, int reached_rows, bool around_keys,
                                       bool outer_term, bool inner_term) {
        const int operand = 2 * operand_stride(width), longest = larger(tile_outer, tile_inner);
        const int window_rows = ForwardLayout::window_rows(tile_outer, tile_inner);
        BackwardLayout at{};
        at.outer_tokens = 0;
        at.outer_values = at.outer_tokens + tile_outer * operand;
        at.inner_tokens = at.outer_values + tile_outer * operand;
        at.inner_values = at.inner_tokens + 2 * tile_inner * operand;
        at.window = at.inner_values + 2 * tile_inner * operand;
        at.outer_table = at.window + larger(window_rows * operand, 2 * tile_outer * operand_stride(tile_inner));
        at.inner_table =
            at.outer_table +
            (outer_term ? round_up(2 * tile_outer * outer_table_stride(round_up(reached_rows, 8), around_keys), 16)
                        : 0);
        at.places = at.inner_table +
                    (inner_term ? round_up(2 * tile_inner * inner_table_stride(window_rows, around_keys), 16) : 0);
        at.log_sums = at.places + round_up(2 * (tile_outer + tile_inner), 16);
        at.deltas = at.log_sums + 4 * longest;
        at.visible = at.deltas + 4 * longest;
        at.bytes = at.visible + longest;
        return at;
    }
};

}  // namespace locus::cuda
