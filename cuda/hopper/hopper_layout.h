#pragma once
// How operands of warpgroup products lie in shared memory, and how they are described to the tensor cores: constexpr,
// so that tests on the host check the bits.
//
// Rows of 64 channels of 16 bits are 128 bytes long and lie one after the other: a panel.  Inside of every 1024 bytes
// (8 rows) the 16-byte chunks of row r are exchanged, chunk c standing at c XOR r, so that what the tensor cores read
// together (a chunk of 8 rows, or 8 chunks of a row) comes from all 32 banks.  The copy engine writes this pattern by
// itself; it is a function of the address alone, so that panels start at multiples of 1024 bytes.
// Source: PTX ISA 9.0, "Tensor swizzling modes" (128B), "Asynchronous warpgroup level matrix shared memory layout",
// "Matrix descriptor format", "Strides"; the canonical layouts as in the comments of CUTLASS mma_traits_sm90_gmma.hpp.
#include <cstdint>

#include "cuda/fused/layout.h"

namespace locus::cuda {

inline constexpr int kPanelChannels = 64, kPanelRow = 2 * kPanelChannels, kPatternBytes = 1024;

/// Where the byte that would lie at `place` lies: bits 4 to 6 exclusive-or bits 7 to 9.
constexpr int swizzled(int place) { return place ^ (place >> 7 & 7) << 4; }

/// The byte where a channel of a row lies in its panel.
constexpr int place_in_panel(int row, int channel) { return swizzled(row * kPanelRow + 2 * channel); }

/// A number of bytes as descriptors have them: multiples of 16, in 14 bits.
constexpr std::uint64_t described(std::uint32_t bytes) { return (bytes & 0x3ffffu) >> 4; }

/// leading, stride: bytes from one pattern to the next; what each means depends on how the operand lies.
constexpr std::uint64_t operand_descriptor(std::uint32_t address, std::uint32_t leading, std::uint32_t stride) {
    constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;  // and the pattern starts at a multiple of 1024
    return described(address) | described(leading) << 16 | described(stride) << 32 | kSwizzle128;
}

/// Rows of a panel as rows of A or columns of B, summed over channels ("K-major"): the next 8 rows lie one pattern
/// further; the leading offset is not used, and 16 is what the manual assumes.
constexpr std::uint64_t rows_descriptor(std::uint32_t address) {
    return operand_descriptor(address, 16, kPatternBytes);
}

/// Channels of a panel as columns of B, summed over its rows ("MN-major", imm-trans-b = 1): the next 8 rows lie one
/// pattern further; the leading offset would be that of the next 64 channels, which are a product of their own here.
constexpr std::uint64_t channels_descriptor(std::uint32_t address) {
    return operand_descriptor(address, kPatternBytes, kPatternBytes);
}

/// The same operand, so many bytes further.  The upper half stays, and the compiler knows it.
constexpr std::uint64_t advanced(std::uint64_t descriptor, int bytes) {
    const std::uint32_t lower = static_cast<std::uint32_t>(descriptor) + static_cast<std::uint32_t>(bytes / 16);
    return descriptor >> 32 << 32 | lower;
}

/// What one product sums over, 16 numbers: bytes of a row of channels, or of a panel's rows.
inline constexpr int kStepOfChannels = 2 * 16, kStepOfRows = 16 * kPanelRow;

/// How a block of the Hopper forward kernel divides its shared memory, in bytes.
/// Places of a block with so many queries, 64 keys per tile, channels, and table rows for which there is room.
struct HopperLayout {
    static constexpr int kBoxRows = 64, kTileKeys = kBoxRows, kStages = 2;

    int window;        // boxes of 64 rows of the relative table that a tile reaches; before that the queries
    int keys, values;  // two tiles each: one is used while the next arrives
    int row_table;     // c2p scores of the block's queries with rows they reach
    int key_table;     // p2c scores of a tile's keys with every row that a warpgroup reaches, for each warpgroup
    int places;        // the table's row at every place of a tile, for each warpgroup
    int scratch;       // 4 bytes of every thread, which nobody reads
    int barriers;      // 8 bytes each
    int bytes;

    /// 64 rows, panel after panel.
    static constexpr int box_bytes(int width) { return width / kPanelChannels * kBoxRows * kPanelRow; }
    static constexpr int boxes_of(int rows) { return (rows + kBoxRows - 1) / kBoxRows; }
    static constexpr int window_boxes(int tile_queries) { return boxes_of(tile_queries + kTileKeys - 1); }

    /// Table rows for which the row table has room.
    static constexpr int kMostRows = 512;
    static constexpr int capacity(int table_rows, int tile_queries, int keys) {
        return smaller(kMostRows, smaller(table_rows, tile_queries + keys - 1));
    }
    /// So many neighbouring tiles of keys never reach more rows than that, with a block of queries.
    static constexpr int tiles_of_rows(int capacity, int tile_queries) {
        return (capacity - (tile_queries - 1)) / kTileKeys;
    }

    /// Two of every place for a box.
    static constexpr int barrier_count(int tile_queries) { return 2 * (window_boxes(tile_queries) + 2 * kStages); }

    /// 64 queries and 64 keys reach 127 rows at most, of whose first one the table's column is a multiple of 8 less.
    static constexpr int kKeyStride = round_up(64 + kTileKeys - 1 + 7, 8);
    /// Lengths of rows, even so that scores are stored in pairs.  The scores of neighbouring places lie one row and one
    /// column apart: lanes read the row table at g * (stride + 1) - 2 t, where a bank is asked for two words at most,
    /// and the key table at 2 t * (stride - 1) + g, for one.
    static constexpr int row_stride(int rows) { return round_up(larger(rows, 6) - 6, 64) + 6; }
    static_assert(kKeyStride % 32 == 8);
    static constexpr int key_table_bytes() { return round_up(2 * kTileKeys * kKeyStride, 16); }
    static constexpr int places_bytes(int tile_queries) { return round_up(2 * (tile_queries + kTileKeys), 16); }
    static constexpr HopperLayout of(int tile_queries, int width, int capacity, bool c2p, bool p2c) {
        const int box = box_bytes(width);
        HopperLayout at{};
        at.window = 0;
        at.keys = at.window + window_boxes(tile_queries) * box;
        at.values = at.keys + kStages * box;
        at.row_table = at.values + kStages * box;
        at.key_table = at.row_table + (c2p ? round_up(2 * tile_queries * row_stride(round_up(capacity, 8)), 16) : 0);
        at.places = at.key_table + (p2c ? tile_queries / 64 * key_table_bytes() : 0);
        at.scratch = at.places + tile_queries / 64 * places_bytes(tile_queries);
        at.barriers = at.scratch + 4 * 2 * tile_queries;
        at.bytes = at.barriers + 8 * barrier_count(tile_queries);
        return at;
    }
};

}  // namespace locus::cuda
