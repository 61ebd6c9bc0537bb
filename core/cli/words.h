#pragma once
// Words as the programs take and print them.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/io/model_request.h"

namespace locus::cli {

class Command;

/// The text with U+FFFD in place of bytes that are not UTF-8; one line on stderr says how many there were.
std::string readable_text(const Command& program, const std::string& text);

/// Up to 20 blocks for a probability of 1.
std::string bar(double probability);
/// One line per word with its probability and a bar.
std::string as_table(const std::vector<Guess>& guesses);
/// [{"piece", "id", "logit", "probability"}, ...]
nlohmann::ordered_json as_json(const std::vector<Guess>& guesses);

}  // namespace locus::cli
