#include "viewer/data/mistake_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <sstream>

#include "core/conformance/kit/mistake.h"
#include "core/stages.h"
#include "viewer/data/stand_in.h"
#include "viewer/ui/characters.h"

namespace locus {

namespace {

conformance::RightPass right_pass(const MistakeQuery& query, const CancelToken& stop) {
    ModelRequest request;
    request.model = query.model;
    if (query.tokens.empty()) {
        request.texts = {query.text};
    } else {
        request.tokens = query.tokens;
        request.mask = query.mask;
    }
    return conformance::right_pass_of(request, query.dialect, stop);
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
    for (const Family known : kFamilies)
        if (family == to_string(known)) return written_name(known);
    return family;
}

}  // namespace

const conformance::MistakeEffect* MistakeEffects::find(int number) const {
    const auto found =
        std::find_if(mistakes.begin(), mistakes.end(), [&](const auto& one) { return one.number == number; });
    return found == mistakes.end() ? nullptr : &*found;
}

MistakeEffects list_mistakes(const MistakeQuery& query, const CancelToken& stop) {
    MistakeEffects list;
    list.query = query;
    try {
        list.mistakes = conformance::mistake_effects(right_pass(query, stop), stop);
    } catch (const Error& error) {
        list.error = error.what();
    } catch (const Cancelled& cancelled) {
        list.error = cancelled.what();
    } catch (const std::bad_alloc&) {
        list.error = "the mistakes of this text need more memory than there is, expected a shorter one";
    }
    return list;
}

MadeMistake make_mistake(const MistakeQuery& query, const std::string& mistake, bool exact, const CancelToken& stop) {
    const conformance::MistakeChoice choice = conformance::MistakeChoice::parse(mistake);
    conformance::mistake_of(choice.number);  // an unknown number is refused before a model is opened
    conformance::MistakenPort port = conformance::make_mistake(right_pass(query, stop), choice, stop);
    MadeMistake made;
    made.number = port.number;
    made.way = port.way;
    made.name = std::move(port.name);
    made.how = std::move(port.how);
    const std::vector<conformance::ChangedStage>& changed = port.pass.changed;
    made.stages = static_cast<Index>(changed.size());
    if (!changed.empty()) {
        made.first = changed.front().name;
        made.wrong = changed.front().wrong;
        made.size = changed.front().size;
    }
    made.trace = conformance::as_dumped(port.pass.trace, exact);
    return made;
}

std::string as_sentence(const std::string& words) {
    const std::string first = words.substr(0, words.find_first_of(" ,"));
    const bool short_name = first.size() == 2 && describe_stage("layer.0." + first, Scheme::two_stream).has_value();
    const bool is_name =
        (first.size() == 1 && first != "a") || short_name || first.find_first_of("_0123456789") != std::string::npos;
    return (is_name ? words : capital(words)) + ".";
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

std::vector<MistakeGroup> mistake_groups(const std::vector<MistakeEntry>& entries, const std::string& family,
                                         const std::string& typed) {
    struct Range {
        const char* title;
        int last;
    };
    // The parts of the catalogue as they are numbered.
    constexpr std::array<Range, 7> parts = {
        Range{"index and layout", 25},     {"scale, mask, softmax", 38},
        {"layers, decoder, heads", 55},    {"rotation, memory, streams", 77},
        {"gradients, tiles, buffers", 83}, {"first ports: angles, parts left out", 128},
        {"backward passes by hand", 143}};
    std::vector<MistakeGroup> groups;
    int first = 1;
    for (const Range& part : parts) {
        MistakeGroup group{part.title, {}};
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
                std::find_if(groups.begin(), groups.end(), [&](const MistakeGroup& one) { return one.title == title; });
            if (at == groups.end()) at = groups.insert(groups.end(), MistakeGroup{title, {}});
            at->entries.push_back(&entry);
        }
    return groups;
}

}  // namespace locus
