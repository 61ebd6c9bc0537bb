#pragma once
// How a block of the fused forward kernel divides its shared memory, in bytes.
#include "cuda/fused/fused_index.h"

namespace locus::cuda {

/// Places of a block with so many queries, keys per tile, channels, and table rows that its queries reach.
struct ForwardLayout {
    int keys, values;  // two tiles each: one is used while the next arrives
    int window;        // rows of the relative table that a tile reaches; before that the queries, and rows for c2p
    int row_table;     // c2p scores of the block's queries with every row they reach
    int key_table;     // p2c scores of a tile's keys with every row of the window
    int places;        // the table's row at every place of a tile
    int visible;       // 1 where a key of the tile is
    int bytes;

    static constexpr int window_rows(int tile_queries, int tile_keys) {
        return round_up(tile_queries + tile_keys - 1, 16);
    }
    static constexpr ForwardLayout of(int tile_queries, int tile_keys, int width, int reached_rows, bool c2p,
                                      bool p2c) {
        const int operand = 2 * operand_stride(width);
        ForwardLayout at{};
        at.keys = 0;
        at.values = at.keys + 2 * tile_keys * operand;
        at.window = at.values + 2 * tile_keys * operand;
        at.row_table = at.window + window_rows(tile_queries, tile_keys) * operand;
        at.key_table =
            at.row_table + (c2p ? round_up(2 * tile_queries * row_table_stride(round_up(reached_rows, 8)), 16) : 0);
        at.places = at.key_table +
                    (p2c ? round_up(2 * tile_keys * key_table_stride(window_rows(tile_queries, tile_keys)), 16) : 0);
        at.visible = at.places + round_up(2 * (tile_queries + tile_keys), 16);
        at.bytes = at.visible + round_up(tile_keys, 16);
        return at;
    }
};

}  // namespace locus::cuda
