#include "viewer/data/comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/io/input_file.h"
#include "core/io/npy.h"
#include "core/io/safetensors.h"
#include "core/json_text.h"
#include "core/text/tokenizers/tokenizer.h"
#include "viewer/plots/stage_slice.h"

namespace locus {

namespace {

using Json = nlohmann::json;

/// "[[1,6,2]]" -> {{"1", "6", "2"}}; empty for anything else.
std::vector<std::vector<std::string>> token_lists(const std::string& text) {
    std::vector<std::vector<std::string>> samples;
    Json json;
    try {
        json = parse_json(text, "tokens");
    } catch (const Error&) {  // a label that cannot be read is none
        return {};
    }
    if (!json.is_array()) return {};
    for (const Json& sample : json) {
        std::vector<std::string>& words = samples.emplace_back();
        if (!sample.is_array()) return {};
        for (const Json& id : sample) words.push_back(id.is_string() ? id.get<std::string>() : id.dump());
    }
    return samples;
}

std::string stem_of(const std::string& stage) {
    return layer_of(stage) < 0 ? stage : stage.substr(std::min(stage.find('.', 6), stage.size()));
}

}  // namespace

OpenedDump open_dump(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::exists(file, error))
        throw Error(Fault::unreadable,
                    printable(file.string()) + ": no such file, expected a trace or a dump of stages");
    if (std::filesystem::is_directory(file, error))
        throw Error(Fault::unreadable,
                    printable(file.string()) + ": is a folder, expected one .safetensors file with stages");
    OpenedDump dump;
    dump.file = file;
    dump.written = std::filesystem::last_write_time(file, error);
    if (file.extension() == ".npy") {  // one stage, called as the file is
        std::string stored;
        Stage stage = read_npy(file, stored);
        stage.name = file.stem().string();
        dump.stored[stage.name] = stored;
        dump.trace.add(std::move(stage));
        return dump;
    }
    for (const auto& [key, value] : open_safetensors(file).metadata) {
        if (key == "tokens") dump.tokens = token_lists(value);
        if (key == "pieces") dump.pieces = token_lists(value);
        if (key == "model") dump.model = value;
    }
    for (std::vector<std::string>& sample : dump.pieces)
        for (std::string& piece : sample)
            if (const std::string shown = display_piece(piece); !shown.empty()) piece = shown;
    dump.trace = read_trace(file, &dump.stored);
    return dump;
}

void require_stage(const OpenedDump& dump, const std::string& stage, const std::string& wanted_by) {
    if (dump.trace.find(stage)) return;
    throw Error(Fault::unreadable, printable(dump.file.string()) + ": has no stage \"" + printable(stage) +
                                       "\", which " + wanted_by + " asks for");
}

std::vector<std::string> common_stages(const std::vector<std::string>& a, const std::vector<std::string>& b,
                                       Index a_layer, Index b_layer) {
    std::vector<std::string> both;
    const auto has = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    for (const std::string& name : a)
        if (has(a, at_layer(name, a_layer)) && has(b, at_layer(name, b_layer))) both.push_back(name);
    std::stable_sort(both.begin(), both.end(), stage_comes_before);
    return both;
}

std::string nearest_stage(const std::string& wanted, const std::vector<std::string>& stages) {
    const auto find = [&](auto&& fits) {
        const auto at = std::find_if(stages.begin(), stages.end(), fits);
        return at == stages.end() ? std::string() : *at;
    };
    for (const std::string& found :
         {find([&](const std::string& name) { return name == wanted; }),
          find([&](const std::string& name) { return layer_of(name) >= 0 && stem_of(name) == stem_of(wanted); }),
          find([&](const std::string& name) { return stem_of(name) == ".scores"; })})
        if (!found.empty()) return found;
    return stages.empty() ? "" : stages.front();
}

std::vector<std::string> stages_without_tokens(const std::vector<std::string>& stages) {
    std::vector<std::string> kept;
    for (const std::string& name : stages) {
        const auto described = describe_stage(name);
        if (described && std::none_of(described->axes.begin(), described->axes.end(),
                                      [](const std::string& axis) { return axis.starts_with('T') || axis == "N"; }))
            kept.push_back(name);
    }
    return kept;
}

}  // namespace locus
