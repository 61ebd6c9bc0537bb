#pragma once
// A checkpoint as large as the real ones, with weights that mean nothing.
#include <cstdint>
#include <filesystem>

namespace locus::bench {

/// Writes config.json and an fp16 pytorch_model.bin (zip, stored, as torch lays it out) of deberta-v3-base's shape:
/// 128100 words, 768 wide, 12 layers, 12 heads, 256 buckets; about 371 MB of seeded values.
void write_v3_base_checkpoint(const std::filesystem::path& folder, std::uint64_t seed);

}  // namespace locus::bench
