#include "cuda/hopper/hopper_kernels.h"

#include "cuda/hopper/hopper_layout.h"

namespace locus::cuda {

namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// Asked of the driver that runs, so that the program also starts where there is none.
Encode encode_of_driver() {
    constexpr unsigned kSince = 12000;  // CUDA 12.0
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    LOCUS_CUDA_CHECK(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, kSince, cudaEnableDefault, &result));
    if (result != cudaDriverEntryPointSuccess || !found)
        throw Error(
            Fault::unsupported,
            "CUDA: this driver knows no tensor maps, expected that of CUDA 12.0 or newer for the Hopper kernels");
    return reinterpret_cast<Encode>(found);
}

}  // namespace

CUtensorMap tensor_map(const RowsMap& rows, CUtensorMapDataType numbers) {
    static const Encode encode = encode_of_driver();
    const auto of = [](long long n) { return static_cast<cuuint64_t>(n); };
    const cuuint64_t extents[] = {of(rows.channels), of(rows.rows), of(rows.heads), of(rows.samples)};
    const cuuint64_t strides[] = {of(rows.row_bytes), of(rows.head_bytes), of(rows.sample_bytes)};
    const cuuint32_t box[] = {kPanelChannels, HopperLayout::kBoxRows, 1, 1}, steps[] = {1, 1, 1, 1};
    CUtensorMap map;
    const CUresult status = encode(&map, numbers, 4, const_cast<void*>(rows.data), extents, strides, box, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS)
        throw Error(Fault::unsupported, "CUDA: the driver refuses the tensor map of " + std::to_string(rows.rows) +
                                            " rows of " + std::to_string(rows.channels) + " channels, " +
                                            std::to_string(rows.row_bytes) + " bytes apart (status " +
                                            std::to_string(static_cast<int>(status)) +
                                            "); the CPU computes the same with --device cpu");
    return map;
}

}  // namespace locus::cuda
