#pragma once
// Who is how many times faster, and the table.
#include <nlohmann/json.hpp>

namespace locus::bench {

/// How many times ours are as fast as the best peer, Hugging Face eager and disentangled-flash; a goal of 0 is none.
/// A peer whose error is above a tenth of the largest number, or that leaves positions out, is shown but is no rival.
nlohmann::ordered_json ratios(const nlohmann::ordered_json& ways, double best, double hugging_face,
                              double disentangled_flash);

}  // namespace locus::bench
