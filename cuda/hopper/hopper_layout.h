#pragma once
// How a block of the Hopper forward kernel divides its shared memory, in bytes.
#include "cuda/fused/fused_index.h"
#include "cuda/hopper/hopper_operands.h"

namespace locus::cuda {

/// Places of a block with so many queries, 64 keys per tile, channels, and table rows that its queries reach.
struct HopperLayout {
    static constexpr int kBoxRows = 64, kTileKeys = kBoxRows, kStages = 2;

    int window;        // boxes of 64 rows of the relative table that a tile reaches; before that the queries
    int keys, values;  // two tiles each: one is used while the next arrives
    int row_table;     // c2p scores of the block's queries with every row they reach
    int key_table;     // p2c scores of a tile's keys with every row of the window
    int places;        // the table's row at every place of a tile
    int visible;       // 1 where a key of the tile is
    int barriers;      // 8 bytes each
    int bytes;

    /// 64 rows, panel after panel.
    static constexpr int box_bytes(int width) { return width / kPanelChannels * kBoxRows * kPanelRow; }
    static constexpr int boxes_of(int rows) { return (rows + kBoxRows - 1) / kBoxRows; }
    static constexpr int window_boxes(int tile_queries) { return boxes_of(tile_queries + kTileKeys - 1); }

    /// The barriers: one of every box of the window, then of every stage of keys and of values.
    static constexpr int barrier_of_keys(int tile_queries, int stage) { return window_boxes(tile_queries) + stage; }
    static constexpr int barrier_of_values(int tile_queries, int stage) {
        return window_boxes(tile_queries) + kStages + stage;
    }
    static constexpr int barrier_count(int tile_queries) { return window_boxes(tile_queries) + 2 * kStages; }

    static constexpr int key_stride(int tile_queries) {
        return key_table_stride(kBoxRows * window_boxes(tile_queries));
    }
    static constexpr HopperLayout of(int tile_queries, int width, int reached_rows, bool c2p, bool p2c) {
        const int box = box_bytes(width);
        HopperLayout at{};
        at.window = 0;
        at.keys = at.window + window_boxes(tile_queries) * box;
        at.values = at.keys + kStages * box;
        at.row_table = at.values + kStages * box;
        at.key_table =
            at.row_table + (c2p ? round_up(2 * tile_queries * row_table_stride(round_up(reached_rows, 8)), 16) : 0);
        at.places = at.key_table + (p2c ? round_up(2 * kTileKeys * key_stride(tile_queries), 16) : 0);
        at.visible = at.places + round_up(2 * (tile_queries + kTileKeys), 16);
        at.barriers = at.visible + round_up(kTileKeys, 16);
        at.bytes = at.barriers + 8 * barrier_count(tile_queries);
        return at;
    }
};

}  // namespace locus::cuda
