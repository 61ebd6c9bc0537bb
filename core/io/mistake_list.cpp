#include "core/io/mistake_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/io/input_file.h"

namespace locus {

namespace {

using Json = nlohmann::json;

std::vector<std::string> words_of(const Json& list) { return list.get<std::vector<std::string>>(); }

MistakeEntry entry_from(const Json& json) {
    MistakeEntry entry;
    entry.number = json.at("number").get<int>();
    for (const auto& [field, words] : {std::pair{"name", &entry.name},
                                       {"symptom", &entry.symptom},
                                       {"betrays", &entry.betrays},
                                       {"evidence", &entry.evidence},
                                       {"lesson", &entry.lesson}})
        *words = json.at(field).get<std::string>();
    entry.families = words_of(json.at("families"));
    entry.first_wrong = words_of(json.at("first_wrong"));
    entry.ways = words_of(json.at("ways"));
    return entry;
}

}  // namespace

std::vector<MistakeEntry> read_mistake_list(const std::filesystem::path& file) {
    const Json json = read_json_file(file);
    std::vector<MistakeEntry> entries;
    try {
        for (const Json& each : json.at("mistakes")) entries.push_back(entry_from(each));
    } catch (const Json::exception& problem) {
        throw Error(Fault::unreadable, file.string() + ": mistakes[" + std::to_string(entries.size()) +
                                           "] is not an entry of the catalogue: " + problem.what());
    }
    return entries;
}

std::filesystem::path mistake_list_file() { return asset_path("mistakes.json"); }

const MistakeEntry& entry_of(const std::vector<MistakeEntry>& entries, int number) {
    const auto found =
        std::find_if(entries.begin(), entries.end(), [&](const MistakeEntry& entry) { return entry.number == number; });
    LOCUS_CHECK(found != entries.end(), "the catalogue has no mistake " + std::to_string(number));
    return *found;
}

}  // namespace locus
