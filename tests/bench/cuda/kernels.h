#pragma once
// locus bench cuda: the fused kernels by themselves.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

/// Forward and backward at every shape, or "not_measured" and the sentence why: "forward" is what a caller gets, beside
/// it the two kernels on tensor cores by name.  knows_ceilings: also the floor of each time on an H200, and the share.
nlohmann::ordered_json measure_kernels(bool knows_ceilings);

/// The same as rows of a table, its heading first.
std::vector<std::vector<std::string>> kernel_table(const nlohmann::ordered_json& kernels);

}  // namespace locus::bench
