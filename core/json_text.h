#pragma once
// JSON as files hold it: checked for what the parser alone would let through.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace locus {

/// Parses a text that must be one JSON object.  `location` names the file in messages.
/// Throws Error(unreadable) that says at which byte it is not JSON, which key is there twice, or that it nests deeper
/// than 64 (no file of a model does, and printing such a value would cost the stack).
nlohmann::json parse_json_object(std::string_view text, const std::string& location);

/// A value as it may stand in a sentence: ASCII, at most 60 characters.
std::string excerpt(const nlohmann::json& value);

/// JSON has no NaN or infinity; they become the strings "nan", "inf", "-inf".
nlohmann::ordered_json json_number(double value);

}  // namespace locus
