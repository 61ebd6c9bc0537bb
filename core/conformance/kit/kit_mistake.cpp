#include "core/conformance/kit/kit_mistake.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/io/safetensors.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

using Json = nlohmann::ordered_json;

RightPass right_pass_of(const MistakeRequest& request) {
    auto model = ModelFolder::open(resolve_model(request.input.model).string());
    const auto opened = open_model<double>(model->config_json, model->location, model->source);
    PreparedInput prepared = prepare_input(request.input, std::filesystem::path(model->location).parent_path(),
                                           model->family, opened->input_names());
    return RightPass::of(std::move(model), std::move(prepared.segments), parse_dialect(request.dialect));
}

/// "[[1,6,2],[1,5,2]]", one list per sample; several segments are joined.
std::string tokens_as_json(const std::vector<ModelInput>& segments) {
    Json samples = Json::array();
    for (Index b = 0; b < segments.front().batch(); ++b) {
        Json sample = Json::array();
        for (const ModelInput& segment : segments)
            for (Index t = 0; t < segment.length(); ++t) sample.push_back(segment.tokens[b * segment.length() + t]);
        samples.push_back(sample);
    }
    return samples.dump();
}

/// The stages that are wanted, in the precision that is wanted.
Trace as_written(const Trace& pass, const MistakeRequest& request) {
    const StageFilter wanted = request.stages.empty() ? StageFilter() : StageFilter(request.stages);
    for (const std::string& pattern : wanted.unmatched(pass.names()))
        throw Error(Fault::usage, "stages: " + pattern + " matches no stage of this pass");
    Trace trace;
    for (const Stage& stage : pass.stages()) {
        if (!wanted.keeps(stage.name)) continue;
        Stage written = stage;
        if (request.precision == "f32" && std::holds_alternative<Tensor<double>>(stage.values)) {
            const Tensor<double>& exact = stage.as<double>();
            written.values = Tensor<float>(exact.shape(), {exact.values().begin(), exact.values().end()});
        }
        trace.add(std::move(written));
    }
    return trace;
}

/// 1, 2 ... of the way among those of its mistake.
int number_of(const Mistake& mistake, const Variant& way) {
    return static_cast<int>(&way - mistake.variants.data()) + 1;
}

Json way_as_json(const RightPass& right, const Mistake& mistake, const Variant& way) {
    Json json = {{"way", number_of(mistake, way)}, {"how", way.how}, {"state", "changes nothing"}};
    try {
        const std::vector<ChangedStage> first = first_change(right, way);
        if (first.empty()) return json;
        json["state"] = "changes";
        json["stage"] = first.front().name;
        json["wrong"] = first.front().wrong;
        json["size"] = first.front().size;
    } catch (const NotEnough& lacking) {
        json["state"] = "cannot be made";
        json["needs"] = lacking.what;
    }
    return json;
}

Json list_of(const MistakeRequest& request) {
    const RightPass right = right_pass_of(request);
    Json mistakes = Json::array();
    for (const Mistake& mistake : catalogue()) {
        const auto& families = mistake.families;
        if (std::find(families.begin(), families.end(), right.model->family) == families.end()) continue;
        Json ways = Json::array();
        for (const Variant& way : mistake.variants) ways.push_back(way_as_json(right, mistake, way));
        mistakes.push_back({{"number", mistake.number}, {"name", mistake.name}, {"ways", ways}});
    }
    return {{"format", "locus-mistakes-of-a-model"},
            {"version", "1.0"},
            {"model", request.input.model},
            {"family", to_string(right.model->family)},
            {"dialect", request.dialect},
            {"tokens", Json::parse(tokens_as_json(right.segments))},
            {"mistakes", mistakes}};
}

std::string list_as_text(const Json& list) {
    std::vector<std::vector<std::string>> rows = {{"", "mistake", "first stage that differs", "cells"}};
    for (const Json& mistake : list["mistakes"]) {
        const Json* best = &mistake["ways"].front();
        for (const Json& way : mistake["ways"])
            if ((*best)["state"] != "changes" && way["state"] != (*best)["state"] && way["state"] != "cannot be made")
                best = &way;
        const bool changes = (*best)["state"] == "changes";
        rows.push_back({std::to_string(mistake["number"].get<int>()), mistake["name"],
                        changes ? (*best)["stage"].get<std::string>() : (*best)["state"].get<std::string>(),
                        changes ? std::to_string((*best)["wrong"].get<Index>()) + " of " +
                                      std::to_string((*best)["size"].get<Index>())
                                : "-"});
    }
    return text_table(rows, {true, false, false, true});
}

Json made_as_json(const MistakeRequest& request, const Mistake& mistake, const Variant& way, const MistakenPass& pass) {
    Json changed = Json::array();
    for (const ChangedStage& stage : pass.changed)
        changed.push_back({{"stage", stage.name}, {"wrong", stage.wrong}, {"size", stage.size}});
    Json json = {{"mistake", mistake.number}, {"way", number_of(mistake, way)},
                 {"name", mistake.name},      {"how", way.how},
                 {"changed", changed},        {"left_out", pass.left_out}};
    if (!request.out.empty()) json["file"] = request.out;
    return json;
}

std::string made_as_text(const Json& made) {
    const std::string how = made["how"];
    std::string text = "mistake " + std::to_string(made["mistake"].get<int>()) + "." +
                       std::to_string(made["way"].get<int>()) + ": " + made["name"].get<std::string>() +
                       (how.empty() ? "" : " (" + how + ")") + "\n";
    if (made["changed"].empty()) {
        text += "it changes nothing on this input\n";
    } else {
        const Json& first = made["changed"].front();
        text += "first stage that differs: " + first["stage"].get<std::string>() + ", " +
                std::to_string(first["wrong"].get<Index>()) + " of " + std::to_string(first["size"].get<Index>()) +
                " values; " + std::to_string(made["changed"].size()) + " stages differ in all\n";
    }
    if (!made["left_out"].empty())
        text += std::to_string(made["left_out"].size()) + " stages left out, as no formula says what becomes of them\n";
    if (made.contains("file")) text += made["file"].get<std::string>() + "\n";
    return text;
}

std::string printed(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string make(const MistakeRequest& request, const MistakeChoice& choice) {
    const Mistake& mistake = mistake_of(choice.number);
    const RightPass right = right_pass_of(request);
    const Variant& way = chosen_way(right, choice);
    const MistakenPass pass = mistaken_pass(right, way);
    const Json made = made_as_json(request, mistake, way, pass);
    if (!request.out.empty())
        write_trace(request.out, as_written(pass.trace, request),
                    {{"model", request.input.model},
                     {"dialect", request.dialect},
                     {"precision", request.precision},
                     {"tokens", tokens_as_json(right.segments)},
                     {"mistake", std::to_string(mistake.number) + "." + std::to_string(number_of(mistake, way))},
                     {"mistake_name", mistake.name},
                     {"mistake_how", way.how}});
    return request.json ? printed(made) : made_as_text(made);
}

}  // namespace

std::string run_mistake(const MistakeRequest& request) {
    parse_dialect(request.dialect);
    LOCUS_CHECK(request.precision == "f32" || request.precision == "f64",
                "--precision is \"" + request.precision + "\", expected f32 or f64");
    LOCUS_CHECK(request.list == request.mistake.empty(),
                "expected either the number of a mistake, before --text, or --list");
    if (!request.list) return make(request, MistakeChoice::parse(request.mistake));
    LOCUS_CHECK(request.out.empty() && request.stages.empty(), "--list goes without --out and --stages");
    const Json list = list_of(request);
    return request.json ? printed(list) : list_as_text(list);
}

}  // namespace locus::conformance
