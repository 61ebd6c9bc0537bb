#pragma once
// locus bench cuda: the versions of cuda/ladder.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

/// Milliseconds of every version in float32 at three lengths, or its sentence why not; the tests have compared them
/// before.
nlohmann::ordered_json measure_ladder();

/// The same as rows of a table, its heading first.
std::vector<std::vector<std::string>> ladder_table(const nlohmann::ordered_json& ladder);

}  // namespace locus::bench
