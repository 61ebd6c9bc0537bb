#include "core/models/config_fields.h"

#include <algorithm>
#include <cctype>

namespace locus {

using Json = nlohmann::json;

ConfigFields::ConfigFields(const std::string& text, std::string location)
    : json_(Json::parse(text, nullptr, /*allow_exceptions=*/false)), location_(std::move(location)) {
    if (json_.is_discarded() || !json_.is_object())
        throw Error(Fault::unreadable, location_ + ": not valid JSON, expected one object");
}

void ConfigFields::throw_unreadable(const std::string& field, const std::string& expected, Fault fault) const {
    const std::string found = json_.contains(field) ? "is " + json_.at(field).dump() : "is missing";
    throw Error(fault, location_ + ": " + field + " " + found + ", expected " + expected);
}

bool ConfigFields::has(const std::string& field) const { return json_.contains(field) && !json_.at(field).is_null(); }

Index ConfigFields::number(const std::string& field, Index least, Index fallback) const {
    const std::string expected = "a whole number of " + std::to_string(least) + " or more";
    if (!has(field)) {
        if (fallback < least) throw_unreadable(field, expected, Fault::unreadable);
        return fallback;
    }
    const Json& value = json_.at(field);
    if (!value.is_number_integer() || value.get<double>() < static_cast<double>(least) ||
        value.get<double>() > 2147483647.0)
        throw_unreadable(field, expected, Fault::unreadable);
    return value.get<Index>();
}

bool ConfigFields::flag(const std::string& field, bool fallback) const {
    if (!has(field)) return fallback;
    if (!json_.at(field).is_boolean()) throw_unreadable(field, "true or false", Fault::unreadable);
    return json_.at(field).get<bool>();
}

std::string ConfigFields::text(const std::string& field, const std::string& fallback) const {
    if (!has(field)) return fallback;
    if (!json_.at(field).is_string()) throw_unreadable(field, "a string", Fault::unreadable);
    return json_.at(field).get<std::string>();
}

double ConfigFields::positive(const std::string& field, double fallback) const {
    if (!has(field)) return fallback;
    if (!json_.at(field).is_number() || !(json_.at(field).get<double>() > 0))
        throw_unreadable(field, "a number above 0", Fault::unreadable);
    return json_.at(field).get<double>();
}

double ConfigFields::share(const std::string& field, double fallback) const {
    if (!has(field)) return fallback;
    const double value = json_.at(field).is_number() ? json_.at(field).get<double>() : -1;
    if (!(value >= 0 && value < 1)) throw_unreadable(field, "a number from 0 to below 1", Fault::unreadable);
    return value;
}

std::vector<std::string> ConfigFields::names(const std::string& field) const {
    std::vector<std::string> names;
    if (!has(field)) return names;
    const Json& value = json_.at(field);
    const auto is_text = [](const Json& item) { return item.is_string(); };
    if (value.is_array() && std::all_of(value.begin(), value.end(), is_text))
        names = value.get<std::vector<std::string>>();
    else if (value.is_string())
        for (std::string rest = value.get<std::string>(); !rest.empty();) {
            const std::size_t bar = std::min(rest.find('|'), rest.size());
            names.push_back(rest.substr(0, bar));
            rest.erase(0, std::min(bar + 1, rest.size()));
        }
    else
        throw_unreadable(field, "a string such as \"c2p|p2c\" or a list of strings", Fault::unreadable);
    for (std::string& name : names)
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return names;
}

Activation ConfigFields::activation(const std::string& field, const std::string& fallback) const {
    Activation activation;
    if (parse_activation(text(field, fallback), activation)) return activation;
    throw_unreadable(field, "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu or tanh", Fault::unsupported);
}

std::size_t ConfigFields::list_length(const std::string& field) const {
    if (!has(field)) return 0;
    if (!json_.at(field).is_array()) throw_unreadable(field, "a list", Fault::unreadable);
    return json_.at(field).size();
}

}  // namespace locus
