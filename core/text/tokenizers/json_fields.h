#pragma once
// The fields of one component of tokenizer.json, each checked for its type, with the place for messages.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace locus {

class JsonFields {
public:
    /// `json` must outlive this.  Throws Error(unreadable) if it is not an object.
    JsonFields(const nlohmann::json& json, std::string location);

    const std::string& location() const { return location_; }
    const nlohmann::json& json() const { return *json_; }
    /// The field "type", which says what kind of component this is.
    std::string type() const { return text("type"); }

    /// Each throws Error(unreadable) that names the field if it is of another type, and, where there is no `fallback`,
    /// if it is absent or null.
    std::string text(const std::string& name) const;
    std::optional<std::string> optional_text(const std::string& name) const;
    bool flag(const std::string& name, bool fallback) const;
    std::int64_t whole(const std::string& name) const;
    std::vector<JsonFields> list(const std::string& name) const;
    JsonFields child(const std::string& name) const;
    /// Null where it is absent or null.
    const nlohmann::json* find(const std::string& name) const;

    [[noreturn]] void throw_unreadable(const std::string& name, const std::string& expected) const;
    /// Error(unsupported): this kind of component is not one that Locus knows.
    [[noreturn]] void refuse_type(const std::string& known) const;

private:
    const nlohmann::json* json_;
    std::string location_;
};

}  // namespace locus
