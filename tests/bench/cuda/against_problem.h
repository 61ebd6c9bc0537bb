#pragma once
// What ours and every peer are given: the same numbers, already rounded to the format that is multiplied, and the truth
// about one head of it in float64.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "cuda/fused/fused.h"

namespace locus::bench {

/// Times are compared at one of these; a goal of 0 is none.
struct AgainstShape {
    std::string what;                                     // "forward", "backward", "packed forward"
    int batch, heads, tokens, width, span, max_position;  // max_position 0: clamped offsets
    struct {
        double best = 0, hugging_face = 0, disentangled_flash = 0;
    } goals;

    bool backward() const { return what == "backward"; }
    bool packed() const { return what == "packed forward"; }
};

/// One head's rows, [B,T,d] (packed: [tokens,d]) or [2k,d] of a table, by name: context, or q, k, v, k_r, q_r.
template <class Scalar>
using HeadRows = std::map<std::string, std::vector<Scalar>>;

class AgainstProblem {
public:
    AgainstProblem(const AgainstShape& shape, cuda::FusedPrecision precision);

    const AgainstShape& shape() const { return shape_; }
    const cuda::FusedInput& input() const { return input_; }
    const Tensor<float>& d_context() const { return d_context_; }  // empty but for backward
    RelativeBuckets buckets(Index tokens) const;                   // the buckets of transformers, T x T pairs
    RelativeBuckets longest_buckets() const { return buckets(shape_.tokens); }

    /// Raw float32, one file a tensor, and CRC-32 of each.
    std::map<std::string, std::uint32_t> write(const std::filesystem::path& folder) const;

    /// This head's context or gradients in `Scalar` by the readable functions of core.   positions false: c2c alone.
    template <class Scalar>
    HeadRows<Scalar> head(Index h, bool positions) const;
    /// The same head out of whole tensors: context [B,H,T,d], or the gradients of everything.
    HeadRows<float> head_of(const Tensor<float>& context, Index h) const;
    HeadRows<float> head_of(const cuda::FusedGradients& gradients, Index h) const;

private:
    AgainstShape shape_;
    cuda::FusedInput input_;
    Tensor<float> d_context_;
};

/// Largest difference of a tensor from the truth, in parts of the largest number that is expected in it; of the worst
/// tensor.  Infinite where one is missing, is empty, has another size or a number that is not finite, expected ones
/// too.
double relative_error(const HeadRows<float>& found, const HeadRows<double>& expected);

/// CRC-32 (IEEE 802.3), as zlib has it.
std::uint32_t crc32(const void* bytes, std::size_t count);

}  // namespace locus::bench
