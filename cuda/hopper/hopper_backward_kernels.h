#pragma once
// The compiled Hopper backward kernels.
#include <cuda.h>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "cuda/fused/half_types.h"
#include "cuda/hopper/hopper_backward_layout.h"
#include "cuda/hopper/rows_map.h"

namespace locus::cuda {

using HopperBackwardMaps = BackwardMaps<CUtensorMap>;

/// One kernel, around queries or keys, and what it needs.
template <class Scalar>
struct HopperBackwardKernel {
    int width, tile_outer;
    bool around_keys;
    void (*run)(const BackwardArguments<Scalar>, const HopperBackwardMaps, int);

    int outer(const BackwardArguments<Scalar>& args) const {
        return around_keys ? args.forward.keys : args.forward.queries;
    }
    int capacity(const BackwardArguments<Scalar>& args) const {
        const int inner = around_keys ? args.forward.queries : args.forward.keys;
        return HopperBackwardLayout::capacity(args.forward.table_rows, tile_outer, inner);
    }
    int bytes(const BackwardArguments<Scalar>& args) const {
        const bool c2p = args.forward.k_r != nullptr, p2c = args.forward.q_r != nullptr;
        return HopperBackwardLayout::of(tile_outer, width, capacity(args), around_keys, around_keys ? p2c : c2p,
                                        around_keys ? c2p : p2c)
            .bytes;
    }
    int threads() const { return 2 * tile_outer; }
    std::string tile() const {
        return std::to_string(tile_outer) + " x " + std::to_string(HopperBackwardLayout::kInner);
    }
};

/// Those of Half or Bfloat16, width 64, around queries and around keys, the largest tile first.
template <class Scalar>
const std::vector<HopperBackwardKernel<Scalar>>& hopper_backward_kernels();

}  // namespace locus::cuda
