#include "core/conformance/mistakes/catalogue_list.h"

#include <nlohmann/json.hpp>

#include "core/conformance/mistakes/mistake.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

using Json = nlohmann::ordered_json;

Json entry(const Mistake& mistake) {
    Json families = Json::array(), first = Json::array(), ways = Json::array();
    for (const Family family : mistake.families) families.push_back(to_string(family));
    for (const std::string& stem : mistake.stems) first.push_back(stem.starts_with('/') ? stem.substr(1) : stem);
    for (const Variant& variant : mistake.variants)
        if (!variant.how.empty()) ways.push_back(variant.how);
    return {{"number", mistake.number},   {"name", mistake.name},         {"symptom", mistake.symptom},
            {"betrays", mistake.betrays}, {"evidence", mistake.evidence}, {"lesson", mistake.lesson},
            {"families", families},       {"first_wrong", first},         {"ways", ways}};
}

}  // namespace

std::string catalogue_json() {
    Json entries = Json::array();
    for (const Mistake& mistake : catalogue()) entries.push_back(entry(mistake));
    return Json{{"format", "locus-mistakes"}, {"version", "1.0"}, {"mistakes", entries}}.dump(1) + "\n";
}

std::string catalogue_text() {
    std::vector<std::vector<std::string>> rows = {{"", "mistake", "lesson"}};
    for (const Mistake& mistake : catalogue())
        rows.push_back({std::to_string(mistake.number), mistake.name,
                        mistake.lesson.empty() ? "" : std::to_string(std::stoi(mistake.lesson))});
    return text_table(rows, {true, false, true}) + "locus check --explain N tells more of one\n";
}

}  // namespace locus::conformance
