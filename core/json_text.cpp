#include "core/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "core/check.h"

namespace locus {

namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;

/// Follows the parser and refuses what a map of values would hide.
class Watch {
public:
    explicit Watch(const std::string& location) : location_(location) {}

    bool operator()(int depth, Json::parse_event_t event, Json& value) {
        using Event = Json::parse_event_t;
        if (depth > kDeepest)
            throw Error(Fault::unreadable, location_ + ": the JSON nests deeper than " + std::to_string(kDeepest));
        if (event == Event::object_start) keys_.emplace_back();
        if (event == Event::object_end) keys_.pop_back();
        if (event == Event::key && !keys_.back().insert(value.get<std::string>()).second)
            throw Error(Fault::unreadable,
                        location_ + ": the JSON holds the key " + excerpt(value) + " twice, expected it once");
        return true;
    }

private:
    const std::string& location_;
    std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

Json parse_json_object(std::string_view text, const std::string& location) {
    Json json;
    try {
        Watch watch(location);
        json = Json::parse(
            text, [&](int depth, Json::parse_event_t event, Json& value) { return watch(depth, event, value); });
    } catch (const Json::parse_error& error) {
        throw Error(Fault::unreadable,
                    location + ": not valid JSON at byte " + std::to_string(error.byte) + ", expected one object");
    } catch (const Json::exception&) {
        throw Error(Fault::unreadable, location + ": not valid JSON, a number is larger than any double");
    }
    if (!json.is_object()) throw Error(Fault::unreadable, location + ": is not a JSON object, expected one");
    return json;
}

std::string excerpt(const Json& value) {
    constexpr std::size_t kMost = 60;
    std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
    if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
    return text;
}

nlohmann::ordered_json json_number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace locus
