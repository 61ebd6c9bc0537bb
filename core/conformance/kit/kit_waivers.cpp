#include "core/conformance/kit/kit_waivers.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/check.h"
#include "core/io/input_file.h"
#include "core/json_text.h"

namespace locus::conformance {

namespace {

std::string text_of(const nlohmann::json& entry, const char* field, const std::string& where) {
    if (!entry.is_object() || !entry.contains(field) || !entry[field].is_string() ||
        entry[field].get<std::string>().empty())
        throw Error(Fault::unreadable,
                    where + " has no \"" + field + "\", expected id, stage, reason and expires, each a text");
    return entry[field].get<std::string>();
}

bool is_day(const std::string& text) {
    static const std::regex pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}");
    if (!std::regex_match(text, pattern)) return false;
    const std::chrono::year_month_day day{std::chrono::year(std::stoi(text.substr(0, 4))),
                                          std::chrono::month(static_cast<unsigned>(std::stoi(text.substr(5, 2)))),
                                          std::chrono::day(static_cast<unsigned>(std::stoi(text.substr(8, 2))))};
    return day.ok();
}

}  // namespace

std::vector<Waiver> read_waivers(const std::filesystem::path& file) {
    const MappedFile mapped(file);
    const std::string name = printable(file.string());
    // The list is wrapped, so that the checks for duplicate keys and deep nesting see it.
    const std::string text(reinterpret_cast<const char*>(mapped.data()), mapped.size());
    const nlohmann::json parsed = parse_json_object("{\"waivers\":" + text + "}", file.string());
    if (parsed.size() != 1 || !parsed["waivers"].is_array())
        throw Error(Fault::unreadable,
                    name + ": is no list of waivers, expected [{\"id\", \"stage\", \"reason\", \"expires\"}]");
    std::vector<Waiver> waivers;
    for (const nlohmann::json& entry : parsed["waivers"]) {
        const std::string where = name + ": waiver " + std::to_string(waivers.size() + 1);
        Waiver waiver{text_of(entry, "id", where), text_of(entry, "stage", where), text_of(entry, "reason", where),
                      text_of(entry, "expires", where)};
        if (!is_day(waiver.expires))
            throw Error(Fault::unreadable,
                        where + " expires on \"" + printable(waiver.expires) + "\", expected a day like 2027-01-31");
        waivers.push_back(std::move(waiver));
    }
    return waivers;
}

std::string today() {
    const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", int{day.year()}, unsigned{day.month()}, unsigned{day.day()});
    return text;
}

}  // namespace locus::conformance
