#pragma once
// The fields of a config.json, each refused by name when it is wrong.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/models/activation.h"
#include "core/tensor.h"

namespace locus {

class ConfigFields {
public:
    /// Parses the text of a config.json; `location` is the file's name, for messages.
    /// Throws Error(unreadable) if it is not one JSON object.
    ConfigFields(const std::string& text, std::string location);

    /// "<file>: <field> is <what it is>, expected <expected>"
    [[noreturn]] void throw_unreadable(const std::string& field, const std::string& expected, Fault fault) const;

    /// False where the field is absent or null.
    bool has(const std::string& field) const;
    /// A whole number between least and 2^31; `fallback` where the field is absent, refused if that is below least.
    Index number(const std::string& field, Index least, Index fallback) const;
    bool flag(const std::string& field, bool fallback) const;
    std::string text(const std::string& field, const std::string& fallback) const;
    double positive(const std::string& field, double fallback) const;
    /// At least 0 and less than 1: a probability of dropping.
    double share(const std::string& field, double fallback) const;
    /// "c2p|p2c" or ["c2p", "p2c"], lower-cased; empty where the field is absent.
    std::vector<std::string> names(const std::string& field) const;
    /// Throws Error(unsupported) for a name that Locus does not know.
    Activation activation(const std::string& field, const std::string& fallback) const;
    /// How many items a list has; 0 where the field is absent.
    std::size_t list_length(const std::string& field) const;

private:
    nlohmann::json json_;
    std::string location_;
};

}  // namespace locus
