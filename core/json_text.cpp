#include "core/json_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace locus {

namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;

/// Reads a text before any value is built, and refuses what a map of values would hide.  (A callback of the parser
/// could do the same, but then the parser looks through a whole list after each object in it.)
class JsonWatch : public nlohmann::json_sax<Json> {
public:
    /// `expected`: "object" or "value", in sentences.
    JsonWatch(const std::string& location, std::string expected)
        : location_(location), expected_(std::move(expected)) {}

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_array(std::size_t) override { return enter(); }
    bool end_array() override { return --depth_ >= 0; }
    bool start_object(std::size_t) override {
        keys_.emplace_back();
        return enter();
    }
    bool end_object() override {
        keys_.pop_back();
        return --depth_ >= 0;
    }
    bool key(string_t& name) override {
        if (keys_.back().insert(name).second) return true;
        throw Error(Fault::unreadable,
                    location_ + ": the JSON holds the key " + excerpt(name) + " twice, expected it once");
    }
    bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
        // Only numbers are out of range.
        if (dynamic_cast<const Json::out_of_range*>(&error))
            throw Error(Fault::unreadable, location_ + ": not valid JSON, a number is larger than any double");
        throw_not_json(byte);
    }
    [[noreturn]] void throw_not_json(std::size_t byte) const {
        throw Error(Fault::unreadable,
                    location_ + ": not valid JSON at byte " + std::to_string(byte) + ", expected one " + expected_);
    }

private:
    bool enter() {
        if (++depth_ > kDeepest)
            throw Error(Fault::unreadable, location_ + ": the JSON nests deeper than " + std::to_string(kDeepest));
        return true;
    }

    const std::string& location_;
    std::string expected_;
    int depth_ = 0;
    std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

Json parse_watched(std::string_view text, const std::string& location, const std::string& expected) {
    if (text.empty()) throw Error(Fault::unreadable, location + ": is empty, expected one JSON " + expected);
    JsonWatch watch(location, expected);
    // The parser takes a NUL for the end of the text and would pass over what stands after it.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) watch.throw_not_json(nul + 1);
    Json::sax_parse(text, &watch);
    return Json::parse(text);
}

}  // namespace

Json parse_json(std::string_view text, const std::string& location) { return parse_watched(text, location, "value"); }

Json parse_json_object(std::string_view text, const std::string& location) {
    Json json = parse_watched(text, location, "object");
    if (!json.is_object()) throw Error(Fault::unreadable, location + ": is not a JSON object, expected one");
    return json;
}

std::string excerpt(const Json& value) {
    constexpr std::size_t kMost = 60;
    std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
    if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
    return text;
}

namespace {

void print(const nlohmann::ordered_json& value, const std::string& margin, std::string& text) {
    const bool is_flat =
        std::none_of(value.begin(), value.end(), [](const auto& item) { return item.is_structured(); });
    if (!value.is_structured() || value.empty() || (value.is_array() && is_flat)) {
        text += value.dump();
        return;
    }
    text += value.is_object() ? "{" : "[";
    const char* separator = "\n";
    for (const auto& [key, item] : value.items()) {
        text += separator + margin + " ";
        if (value.is_object()) text += nlohmann::ordered_json(key).dump() + ": ";
        print(item, margin + " ", text);
        separator = ",\n";
    }
    text += "\n" + margin + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string indented(const nlohmann::ordered_json& value) {
    std::string text;
    print(value, "", text);
    return text;
}

nlohmann::ordered_json json_number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

JsonFields::JsonFields(std::shared_ptr<const Json> json, std::string location)
    : json_(std::move(json)), location_(std::move(location)) {
    if (!json_->is_object())
        throw Error(Fault::unreadable, location_ + " is " + excerpt(*json_) + ", expected an object");
}

JsonFields::JsonFields(const Json& json, std::string location)
    : JsonFields(std::shared_ptr<const Json>(std::shared_ptr<const Json>(), &json), std::move(location)) {}

JsonFields JsonFields::parse(const std::string& text, std::string location) {
    auto json = std::make_shared<const Json>(parse_json_object(text, location));
    return {std::move(json), std::move(location)};
}

const Json* JsonFields::find(const std::string& name) const {
    const auto found = json_->find(name);
    return found == json_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonFields::is_null(const std::string& name) const {
    const auto found = json_->find(name);
    return found != json_->end() && found->is_null();
}

void JsonFields::throw_unreadable(const std::string& name, const std::string& expected, Fault fault) const {
    const Json* value = find(name);
    throw Error(fault,
                location_ + ": " + name + " is " + (value ? excerpt(*value) : "missing") + ", expected " + expected);
}

void JsonFields::throw_unknown_type(const std::string& known) const {
    throw Error(Fault::unsupported, location_ + ": type is " + excerpt(type()) + ", expected one of " + known);
}

std::optional<std::string> JsonFields::optional_text(const std::string& name) const {
    const Json* value = find(name);
    if (!value) return std::nullopt;
    if (!value->is_string()) throw_unreadable(name, "text");
    return value->get<std::string>();
}

std::string JsonFields::text(const std::string& name) const {
    const auto value = optional_text(name);
    if (!value) throw_unreadable(name, "text");
    return *value;
}

std::string JsonFields::text(const std::string& name, const std::string& fallback) const {
    return optional_text(name).value_or(fallback);
}

bool JsonFields::flag(const std::string& name, bool fallback) const {
    const Json* value = find(name);
    if (value && !value->is_boolean()) throw_unreadable(name, "true or false");
    return value ? value->get<bool>() : fallback;
}

std::int64_t JsonFields::whole(const std::string& name) const {
    const Json* value = find(name);
    if (!value || !value->is_number_unsigned() || value->get<std::uint64_t>() > 999'999'999)
        throw_unreadable(name, "a whole number from 0 to 999999999");
    return value->get<std::int64_t>();
}

Index JsonFields::number(const std::string& name, Index least, Index fallback, Index most) const {
    const Json* value = find(name);
    const bool larger = value && value->is_number_integer() && value->get<double>() > static_cast<double>(most);
    const std::string expected = most == kLargestNumber && !larger
                                     ? "a whole number of " + std::to_string(least) + " or more"
                                     : "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!value) {
        if (fallback < least) throw_unreadable(name, expected);
        return fallback;
    }
    if (!value->is_number_integer() || value->get<double>() < static_cast<double>(least) ||
        value->get<double>() > static_cast<double>(most))
        throw_unreadable(name, expected);
    return value->get<Index>();
}

double JsonFields::positive(const std::string& name, double fallback) const {
    const Json* value = find(name);
    if (!value) return fallback;
    if (!value->is_number() || !(value->get<double>() > 0)) throw_unreadable(name, "a number above 0");
    return value->get<double>();
}

double JsonFields::share(const std::string& name, double fallback) const {
    const Json* value = find(name);
    if (!value) return fallback;
    const double share = value->is_number() ? value->get<double>() : -1;
    if (!(share >= 0 && share < 1)) throw_unreadable(name, "a number from 0 to below 1");
    return share;
}

std::vector<std::string> JsonFields::names(const std::string& name) const {
    std::vector<std::string> names;
    const Json* value = find(name);
    if (!value) return names;
    const auto is_text = [](const Json& item) { return item.is_string(); };
    if (value->is_array() && std::all_of(value->begin(), value->end(), is_text))
        names = value->get<std::vector<std::string>>();
    else if (value->is_string())
        for (std::string rest = value->get<std::string>(); !rest.empty();) {
            const std::size_t bar = std::min(rest.find('|'), rest.size());
            names.push_back(rest.substr(0, bar));
            rest.erase(0, std::min(bar + 1, rest.size()));
        }
    else
        throw_unreadable(name, "a string such as \"c2p|p2c\" or a list of strings");
    for (std::string& one : names) {
        const std::size_t first = std::min(one.find_first_not_of(" \t\n"), one.size());
        one = one.substr(first, one.find_last_not_of(" \t\n") + 1 - first);
        std::transform(one.begin(), one.end(), one.begin(),
                       [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    }
    return names;
}

std::vector<JsonFields> JsonFields::list(const std::string& name) const {
    const Json* value = find(name);
    if (!value || !value->is_array()) throw_unreadable(name, "a list");
    std::vector<JsonFields> entries;
    for (std::size_t n = 0; n < value->size(); ++n)
        entries.push_back({std::shared_ptr<const Json>(json_, &(*value)[n]),
                           location_ + ": " + name + "[" + std::to_string(n) + "]"});
    return entries;
}

std::vector<Index> JsonFields::numbers(const std::string& name, Index least, Index most) const {
    const Json* value = find(name);
    if (!value) return {};
    const auto fits = [&](const Json& item) {
        return item.is_number_integer() && item.get<double>() >= static_cast<double>(least) &&
               item.get<double>() <= static_cast<double>(most);
    };
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), fits))
        throw_unreadable(name, "a list of whole numbers from " + std::to_string(least) + " to " + std::to_string(most));
    return value->get<std::vector<Index>>();
}

std::vector<bool> JsonFields::flags(const std::string& name) const {
    const Json* value = find(name);
    if (!value) return {};
    const auto is_flag = [](const Json& item) { return item.is_boolean(); };
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_flag))
        throw_unreadable(name, "a list of true and false");
    return value->get<std::vector<bool>>();
}

JsonFields JsonFields::child(const std::string& name) const {
    const Json* value = find(name);
    if (!value) throw_unreadable(name, "an object");
    return {std::shared_ptr<const Json>(json_, value), location_ + ": " + name};
}

}  // namespace locus
