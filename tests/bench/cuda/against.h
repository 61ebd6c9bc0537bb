#pragma once
// The fused kernels beside what others make of the same tensors, call by call in turn.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

struct AgainstOptions {
    std::string python;             // whose torch; empty: default_python()
    std::vector<std::string> rows;  // "forward", "packed", "backward", "model"; empty: all
    bool rehearse = false;          // small shapes on the processor: programs, tensors and errors, no times to quote
    bool tune = false;              // peers that can tune themselves here may
};

/// {"packages", "rows": [{"what", B, H, T, d, ..., "ways": [{"name", "how", "ms", "error"} or {"name",
/// "not_measured"}], "ratios": [{"of", "to", "value", "goal", "met"}]}]}.  "ours" is the first way of a row.
nlohmann::ordered_json measure_against(const AgainstOptions& options);

std::string against_table(const nlohmann::ordered_json& measured);

}  // namespace locus::bench
