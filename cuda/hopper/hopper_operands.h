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

}  // namespace locus::cuda
