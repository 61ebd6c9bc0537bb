#pragma once
// A DeBERTa encoder that stays on the device, and the tokens of a call as its kernels read them: rows one below the
// other, all of every sample or only those that are visible.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/models/deberta_config.h"
#include "core/models/dialect.h"
#include "core/models/model_input.h"
#include "core/weights.h"
#include "cuda/encoder/products.h"
#include "cuda/fused/half_types.h"

namespace locus::cuda {

/// padded: every token has a row.  packed: visible tokens alone, and pads cost nothing.
enum class SampleRows { padded, packed };

/// One entry per row, but for `starts`.
struct EncoderBatch {
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
inline EncoderBatch encoder_batch(const DebertaConfig& config, const ModelInput& input, const DebertaOptions& options,
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
    EncoderBatch made;
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

// The encoder: the GPU counterpart of core/models/fast_encoder.h.  Weights are uploaded once, with the position keys
// and queries of every layer; a call brings token ids there and the last rows back, and between them runs kernels
// alone: fused attention, products (cuda/encoder/products.h), sums and norms in one (cuda/encoder/encoder_kernels.h).

/// Keeps weights and room for the longest call so far; one call at a time.  Scalar: float, Half or Bfloat16, of
/// matrices and of what lies between the kernels; sums, biases and norms are float32.
template <class Scalar>
class FastEncoder {
public:
    /// Reads and uploads every weight of the encoder.  Throws Error(unreadable) like core's, Error(unsupported) in one
    /// sentence for a model with talking heads or without c2p and p2c, heads wider than 256 or rows longer than 2048,
    /// without a device, with too little memory there, or if cuBLAS is asked for and not found.
    FastEncoder(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights, ProductsBy by);
    ~FastEncoder();

    /// The output of the last encoder layer [B,T,D].  Padded: what core's last_output gives.  Packed: the same rows for
    /// visible tokens, zeros for the others.  Throws Error(usage) for bad input like core's, Error(unsupported) for a
    /// mask of pairs, the paper's p2c index, and Hugging Face's masked rows among padded ones.
    Tensor<float> last_output(const ModelInput& input, const DebertaOptions& options,
                              SampleRows rows = SampleRows::padded);
    /// The same in steps, to be timed: `prepare` brings the tokens to the device and throws what
    /// last_output throws; `run` and `replay` compute and leave the rows there, kernel by kernel or all by one call
    /// that the first replay records, and give the milliseconds between two events; `output` brings the rows of the
    /// last pass.
    void prepare(const ModelInput& input, const DebertaOptions& options, SampleRows rows = SampleRows::padded);
    double run();
    double replay();
    Tensor<float> output() const;
    /// Who multiplies: "own kernels", "cuBLAS 13.0.2".
    std::string products() const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace locus::cuda
