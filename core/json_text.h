#pragma once
// JSON as files hold it: checked for what the parser alone would let through, and its fields one by one.
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/tensor.h"

namespace locus {

/// Parses a text that must be one JSON object.  `location` names the file in messages.
/// Throws Error(unreadable) that says at which byte it is not JSON, which key is there twice, or that it nests deeper
/// than 64 (no file of a model does, and printing such a value would cost the stack).
nlohmann::json parse_json_object(std::string_view text, const std::string& location);

/// The same for a text that may be any JSON value, such as a list in the metadata of a file.
nlohmann::json parse_json(std::string_view text, const std::string& location);

/// A value as it may stand in a sentence: ASCII, at most 60 characters.
std::string excerpt(const nlohmann::json& value);

/// A value as text for people: an object a field to a line, a list of words or numbers on one; ends without a newline.
std::string indented(const nlohmann::ordered_json& value);

/// JSON has no NaN or infinity; they become the strings "nan", "inf", "-inf".
nlohmann::ordered_json json_number(double value);

/// The fields of one JSON object, each checked for its type and refused by name: of a config.json, or of one component
/// of a tokenizer.json.  A field that is null counts as absent.
class JsonFields {
public:
    /// An object inside a larger value, which must outlive this.  `location` names the file, and the place in it, in
    /// messages.  Throws Error(unreadable) if it is not an object.
    JsonFields(const nlohmann::json& json, std::string location);
    /// The text of a file.  Throws as parse_json_object.
    static JsonFields parse(const std::string& text, std::string location);

    const std::string& location() const { return location_; }
    const nlohmann::json& json() const { return *json_; }
    /// nullptr where it is absent.
    const nlohmann::json* find(const std::string& name) const;
    bool has(const std::string& name) const { return find(name) != nullptr; }
    /// True where the field is there and null, which everything else here takes for absent.
    bool is_null(const std::string& name) const;

    // Each throws Error(unreadable) that names the field if it is of another type, and, where there is no `fallback`,
    // if it is absent.
    std::string text(const std::string& name) const;
    std::string text(const std::string& name, const std::string& fallback) const;
    std::optional<std::string> optional_text(const std::string& name) const;
    bool flag(const std::string& name, bool fallback) const;
    /// From 0 to 999999999.
    std::int64_t whole(const std::string& name) const;
    /// A whole number between least and most; `fallback` where the field is absent, refused if that is below least.
    Index number(const std::string& name, Index least, Index fallback, Index most = kLargestNumber) const;
    static constexpr Index kLargestNumber = 2'147'483'647;
    double positive(const std::string& name, double fallback) const;
    /// At least 0 and less than 1: a probability of dropping.
    double share(const std::string& name, double fallback) const;
    /// "c2p | p2c" or ["c2p", "p2c"], lower-cased and without blanks around; empty where the field is absent.
    std::vector<std::string> names(const std::string& name) const;
    /// The objects of a list.
    std::vector<JsonFields> list(const std::string& name) const;
    /// Whole numbers, each between least and most; empty where the field is absent.
    std::vector<Index> numbers(const std::string& name, Index least, Index most) const;
    /// Of true and false; empty where the field is absent.
    std::vector<bool> flags(const std::string& name) const;
    JsonFields child(const std::string& name) const;
    /// The field "type", which says what kind of component this is.
    std::string type() const { return text("type"); }

    /// Throws Error(fault): "<location>: <name> is <what it is>, expected <expected>"
    [[noreturn]] void throw_unreadable(const std::string& name, const std::string& expected,
                                       Fault fault = Fault::unreadable) const;
    /// Throws Error(unsupported): this kind of component is not one that Locus knows.
    [[noreturn]] void throw_unknown_type(const std::string& known) const;

private:
    JsonFields(std::shared_ptr<const nlohmann::json> json, std::string location);

    std::shared_ptr<const nlohmann::json> json_;  // keeps alive what parse() read
    std::string location_;
};

}  // namespace locus
