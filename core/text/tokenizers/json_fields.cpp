#include "core/text/tokenizers/json_fields.h"

#include "core/check.h"
#include "core/json_text.h"

namespace locus {

JsonFields::JsonFields(const nlohmann::json& json, std::string location)
    : json_(&json), location_(std::move(location)) {
    if (!json.is_object()) throw Error(Fault::unreadable, location_ + " is " + excerpt(json) + ", expected an object");
}

const nlohmann::json* JsonFields::find(const std::string& name) const {
    const auto found = json_->find(name);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::throw_unreadable(const std::string& name, const std::string& expected) const {
    const nlohmann::json* value = find(name);
    throw Error(Fault::unreadable,
                location_ + ": " + name + " is " + (value ? excerpt(*value) : "missing") + ", expected " + expected);
}

void JsonFields::refuse_type(const std::string& known) const {
    throw Error(Fault::unsupported, location_ + ": type is " + excerpt(type()) + ", expected one of " + known);
}

std::string JsonFields::text(const std::string& name) const {
    const auto value = optional_text(name);
    if (!value) throw_unreadable(name, "text");
    return *value;
}

std::optional<std::string> JsonFields::optional_text(const std::string& name) const {
    const nlohmann::json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_string()) throw_unreadable(name, "text");
    return value->get<std::string>();
}

bool JsonFields::flag(const std::string& name, bool fallback) const {
    const nlohmann::json* value = find(name);
    if (value && !value->is_boolean()) throw_unreadable(name, "true or false");
    return value ? value->get<bool>() : fallback;
}

std::int64_t JsonFields::whole(const std::string& name) const {
    const nlohmann::json* value = find(name);
    if (!value || !value->is_number_unsigned() || value->get<std::uint64_t>() > 999'999'999)
        throw_unreadable(name, "a whole number from 0 to 999999999");
    return value->get<std::int64_t>();
}

std::vector<JsonFields> JsonFields::list(const std::string& name) const {
    const nlohmann::json* value = find(name);
    if (!value || !value->is_array()) throw_unreadable(name, "a list");
    std::vector<JsonFields> entries;
    for (std::size_t n = 0; n < value->size(); ++n)
        entries.emplace_back((*value)[n], location_ + ": " + name + "[" + std::to_string(n) + "]");
    return entries;
}

JsonFields JsonFields::child(const std::string& name) const {
    const nlohmann::json* value = find(name);
    if (!value) throw_unreadable(name, "an object");
    return {*value, location_ + ": " + name};
}

}  // namespace locus
