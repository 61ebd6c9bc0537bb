#include "viewer/data/mistake_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/io/atomic_file.h"
#include "core/io/safetensors.h"
#include "core/io/subprocess.h"
#include "viewer/ui/utf8.h"

namespace locus {

namespace {

using Json = nlohmann::json;
constexpr double kMakingPatience = 120;  // seconds
constexpr const char* kName = "locus-kit";

std::vector<std::string> words_for(const ZooQuery& query) {
    std::vector<std::string> words = {"--json", "--model=" + query.model, "--dialect", to_string(query.dialect)};
    if (query.tokens.empty())
        words.push_back("--text=" + query.text);
    else
        words.push_back("--tokens=" + query.tokens);
    if (!query.tokens.empty() && !query.mask.empty()) words.push_back("--mask=" + query.mask);
    return words;
}

/// What the program printed.  Throws Error(unsupported).
Json asked(const std::filesystem::path& program, std::vector<std::string> words, const CancelToken& stop) {
    words.insert(words.begin(), "mistake");
    const ProgramOutput output = run_subprocess(program, words, stop, kMakingPatience);
    if (output.end == ProgramOutput::End::cancelled) throw Cancelled();
    if (!output.succeeded()) throw Error(Fault::unsupported, output.error(kName));
    Json json = Json::parse(output.out, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) throw Error(Fault::unreadable, std::string(kName) + ": what it printed is no JSON");
    return json;
}

ZooWay way_from(const Json& json) {
    ZooWay way;
    way.how = json.at("how").get<std::string>();
    const std::string state = json.at("state").get<std::string>();
    if (state == "changes") {
        way.effect = ZooEffect::changes;
        way.stage = json.at("stage").get<std::string>();
        way.wrong = json.at("wrong").get<Index>();
        way.size = json.at("size").get<Index>();
    } else if (state == "cannot be made") {
        way.effect = ZooEffect::impossible;
        way.needs = json.at("needs").get<std::string>();
    }
    return way;
}

bool holds_words(const MistakeEntry& entry, const std::string& typed) {
    const std::string all = lower_ascii(std::to_string(entry.number) + " " + entry.name + " " + entry.symptom + " " +
                                        entry.betrays + " " + entry.evidence);
    std::istringstream words(lower_ascii(typed));
    for (std::string word; words >> word;) {
        const bool number = std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
        if (number ? std::to_string(entry.number).rfind(word, 0) != 0 : all.find(word) == std::string::npos)
            return false;
    }
    return true;
}

bool is_of(const MistakeEntry& entry, const std::string& family) {
    return std::find(entry.families.begin(), entry.families.end(), family) != entry.families.end();
}

std::string family_title(const std::string& family) {
    return family == "deberta"      ? "DeBERTa"
           : family == "roformer"   ? "RoFormer"
           : family == "transfo-xl" ? "Transformer-XL"
           : family == "xlnet"      ? "XLNet"
                                    : family;
}

}  // namespace

std::size_t ZooMistake::best_way() const {
    for (const ZooEffect wanted : {ZooEffect::changes, ZooEffect::nothing})
        for (std::size_t n = 0; n < ways.size(); ++n)
            if (ways[n].effect == wanted) return n;
    return 0;
}

ZooEffect ZooMistake::effect() const { return ways.empty() ? ZooEffect::impossible : ways[best_way()].effect; }

const ZooMistake* ZooList::find(int number) const {
    const auto found =
        std::find_if(mistakes.begin(), mistakes.end(), [&](const ZooMistake& one) { return one.number == number; });
    return found == mistakes.end() ? nullptr : &*found;
}

ZooList list_mistakes(const std::filesystem::path& program, const ZooQuery& query, const CancelToken& stop) {
    ZooList list;
    list.query = query;
    try {
        std::vector<std::string> words = words_for(query);
        words.push_back("--list");
        const Json json = asked(program, std::move(words), stop);
        for (const Json& each : json.at("mistakes")) {
            ZooMistake mistake;
            mistake.number = each.at("number").get<int>();
            for (const Json& way : each.at("ways")) mistake.ways.push_back(way_from(way));
            list.mistakes.push_back(std::move(mistake));
        }
    } catch (const Error& error) {
        list.trouble = error.what();
    } catch (const Cancelled&) {
        list.trouble = std::string(kName) + " was stopped";
    } catch (const Json::exception&) {
        list.trouble = std::string(kName) + ": its list of mistakes is not as expected";
    }
    if (!list.trouble.empty()) list.mistakes.clear();
    return list;
}

MadeMistake make_mistake(const std::filesystem::path& program, const ZooQuery& query, const std::string& mistake,
                         bool exact, const CancelToken& stop) {
    const ScratchFolder folder("view");
    const std::filesystem::path file = folder / "mistake.safetensors";
    std::vector<std::string> words = words_for(query);
    words.insert(words.begin(), mistake);
    words.insert(words.end(), {"--precision", exact ? "f64" : "f32", "--out", file.string()});
    MadeMistake made;
    try {
        const Json json = asked(program, std::move(words), stop);
        made.number = json.at("mistake").get<int>();
        made.way = json.at("way").get<int>();
        made.name = json.at("name").get<std::string>();
        made.how = json.at("how").get<std::string>();
        const Json& changed = json.at("changed");
        made.stages = static_cast<Index>(changed.size());
        if (!changed.empty()) {
            made.first = changed.front().at("stage").get<std::string>();
            made.wrong = changed.front().at("wrong").get<Index>();
            made.size = changed.front().at("size").get<Index>();
        }
    } catch (const Json::exception&) {
        throw Error(Fault::unreadable,
                    std::string(kName) + ": what it says of mistake " + mistake + " is not as expected");
    }
    made.trace = read_trace(file);
    return made;
}

std::optional<std::pair<int, int>> parse_mistake(const std::string& text) {
    int number = 0, way = 0;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, number);
    if (first.ec != std::errc{} || number < 1) return std::nullopt;
    if (first.ptr == end) return std::pair(number, 0);
    const auto second = std::from_chars(first.ptr + 1, end, way);
    if (*first.ptr != '.' || second.ec != std::errc{} || second.ptr != end || way < 1) return std::nullopt;
    return std::pair(number, way);
}

std::vector<ZooGroup> zoo_groups(const std::vector<MistakeEntry>& entries, const std::string& family,
                                 const std::string& typed) {
    struct Range {
        const char* title;
        int last;
    };
    // The parts of the catalogue (spec 13.1 to 13.4) as they are numbered.
    constexpr std::array<Range, 5> parts = {Range{"index and layout", 25},
                                            {"scale, mask, softmax", 38},
                                            {"layers, decoder, heads", 55},
                                            {"rotation, memory, streams", 77},
                                            {"gradients, tiles, buffers", 83}};
    std::vector<ZooGroup> groups;
    int first = 1;
    for (const Range& part : parts) {
        ZooGroup group{part.title, {}};
        for (const MistakeEntry& entry : entries)
            if (entry.number >= first && entry.number <= part.last && is_of(entry, family) && holds_words(entry, typed))
                group.entries.push_back(&entry);
        first = part.last + 1;
        if (!group.entries.empty()) groups.push_back(std::move(group));
    }
    for (const MistakeEntry& entry : entries)
        if (!is_of(entry, family) && !entry.families.empty() && holds_words(entry, typed)) {
            const std::string title = "of " + family_title(entry.families.front());
            auto at =
                std::find_if(groups.begin(), groups.end(), [&](const ZooGroup& one) { return one.title == title; });
            if (at == groups.end()) at = groups.insert(groups.end(), ZooGroup{title, {}});
            at->entries.push_back(&entry);
        }
    return groups;
}

}  // namespace locus
