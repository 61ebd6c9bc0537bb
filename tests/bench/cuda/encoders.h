#pragma once
// locus bench cuda: whole encoders.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace locus::bench {

/// The encoder of DeBERTa v3 base with random weights, B 16 and T 512, in each 16-bit format and with each kind of
/// products: milliseconds kernel by kernel and in a graph, or "not_measured" and the sentence why.
nlohmann::ordered_json measure_encoders();

/// The same as rows of a table, its heading first.
std::vector<std::vector<std::string>> encoder_table(const nlohmann::ordered_json& encoders);

}  // namespace locus::bench
