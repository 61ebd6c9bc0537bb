#pragma once
// The tokens of a call as the encoder's kernels read them: rows one below the other, all of every sample or only those
// that are visible.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/models/deberta_config.h"
#include "core/models/dialect.h"
#include "core/models/model_input.h"

namespace locus::cuda {

/// padded: every token has a row.  packed: visible tokens alone, and pads cost nothing.
enum class SampleRows { padded, packed };

/// One entry per row, but for `starts`.
struct BlocksBatch {
    std::vector<int> ids, types, places, sample;
    std::vector<std::uint8_t> visible;  // padded: 0 for a hidden token; empty: all are visible
    std::vector<int> starts;            // packed: where each sample begins, [B+1]; empty: padded
    std::vector<Index> cells;           // b * T + i of every row
    Index batch = 0, length = 0;        // B, T of the input
    int longest = 0;                    // rows of the longest sample

    int rows() const { return static_cast<int>(ids.size()); }
};

/// The visible tokens of a sample, from `first` on; they are one run.
inline std::pair<Index, Index> visible_run(const ModelInput& input, Index b) {
    const Index length = input.length();
    if (input.mask.empty()) return {0, length};
    const std::int64_t* mask = input.mask.data() + b * length;
    const Index first = std::find(mask, mask + length, 1) - mask;
    const Index count = std::count(mask, mask + length, 1);
    if (std::count(mask + first, mask + std::min(length, first + count), 1) != count)
        throw Error(Fault::unsupported, "CUDA: sample " + std::to_string(b) +
                                            " hides a token between visible ones, and packed rows keep their distances "
                                            "only where the visible ones are neighbours; padded rows take any mask");
    return {first, count};
}

/// Throws Error(usage) for bad input like core's check_input, Error(unsupported) for a mask of pairs, and for the
/// uniform rows of a dialect where padded rows are hidden.
inline BlocksBatch blocks_batch(const DebertaConfig& config, const ModelInput& input, const DebertaOptions& options,
                                SampleRows rows) {
    check_input(input, config.vocab_size, config.type_vocab_size);
    if (!input.mask.empty() && input.mask.rank() == 3)
        throw Error(Fault::unsupported,
                    "CUDA: the encoder on the device knows hidden tokens, mask [B,T], and this mask hides pairs; the "
                    "CPU computes it with --device cpu");
    const bool packed = rows == SampleRows::packed, masks = !input.mask.empty();
    if (masks && !packed && options.masked_row != MaskedRow::zero)
        throw Error(Fault::unsupported,
                    "CUDA: the encoder on the device leaves rows of hidden tokens without context, and this dialect "
                    "spreads them evenly; packed rows have no such rows");
    BlocksBatch made;
    made.batch = input.batch();
    made.length = input.length();
    if (packed) made.starts.push_back(0);
    for (Index b = 0; b < made.batch; ++b) {
        const auto [first, count] = packed ? visible_run(input, b) : std::pair<Index, Index>{0, made.length};
        for (Index i = first; i < first + count; ++i) {
            const Index cell = b * made.length + i;
            made.cells.push_back(cell);
            made.ids.push_back(static_cast<int>(input.tokens[cell]));
            made.types.push_back(input.token_types.empty() ? 0 : static_cast<int>(input.token_types[cell]));
            made.places.push_back(static_cast<int>(i));
            made.sample.push_back(static_cast<int>(b));
            if (masks && !packed) made.visible.push_back(input.mask[cell] != 0);
        }
        made.longest = std::max(made.longest, static_cast<int>(count));
        if (packed) made.starts.push_back(made.rows());
    }
    return made;
}

}  // namespace locus::cuda
