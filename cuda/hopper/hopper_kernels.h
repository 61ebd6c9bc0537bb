#pragma once
// The compiled Hopper forward kernels and the tensor maps that they are given.
#include <cuda.h>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda/fused/half_types.h"
#include "cuda/hopper/hopper_layout.h"
#include "cuda/hopper/rows_map.h"

namespace locus::cuda {

using HopperMaps = ForwardMaps<CUtensorMap>;

/// Its warpgroups of 64 queries, and who asks for copies: a warp, or a warpgroup where registers are handed on, which
/// only whole warpgroups do.
constexpr int hopper_threads(int tile_queries) { return 2 * tile_queries + (tile_queries == 128 ? 128 : 32); }

/// One kernel and what it needs.
template <class Scalar>
struct HopperKernel {
    int width, tile_queries;
    void (*run)(const ForwardArguments<Scalar>, const HopperMaps, int);

    int capacity(const ForwardArguments<Scalar>& args) const {
        return HopperLayout::capacity(args.table_rows, tile_queries, args.keys);
    }
    int bytes(const ForwardArguments<Scalar>& args) const {
        return HopperLayout::of(tile_queries, width, capacity(args), args.k_r, args.q_r).bytes;
    }
    int threads() const { return hopper_threads(tile_queries); }
    std::string tile() const { return std::to_string(tile_queries) + " x " + std::to_string(HopperLayout::kTileKeys); }
};

/// Those of Half or Bfloat16, width 64, the largest tile first.
template <class Scalar>
const std::vector<HopperKernel<Scalar>>& hopper_kernels();

/// Boxes of 64 rows and 64 channels, exchanged as hopper_layout.h says, zeros for what lies outside of `rows`.
/// numbers: CU_TENSOR_MAP_DATA_TYPE_FLOAT16 or _BFLOAT16.
/// Throws Error(unsupported) in one sentence if the driver knows no tensor maps or refuses this one.
CUtensorMap tensor_map(const RowsMap& rows, CUtensorMapDataType numbers);

}  // namespace locus::cuda
