#include "core/conformance/kit/mistake.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "core/text/text_table.h"

namespace locus::conformance {

RightPass right_pass_of(const ModelRequest& request, Dialect dialect, const CancelToken& stop) {
    throw_if_cancelled(stop);
    auto model = ModelFolder::open(resolve_model(request.model).string());
    const auto opened = open_model<double>(model->config_json, model->location, model->source);
    PreparedInput prepared = prepare_input(request, std::filesystem::path(model->location).parent_path(), model->family,
                                           opened->input_names());
    if (request.segment > 0) check_memory(*opened, prepared.segments, dialect);
    return RightPass::of(std::move(model), std::move(prepared.segments), dialect, stop);
}

std::size_t MistakeEffect::best_way() const {
    for (const Effect wanted : {Effect::changes, Effect::nothing})
        for (std::size_t n = 0; n < ways.size(); ++n)
            if (ways[n].effect == wanted) return n;
    return 0;
}

Effect MistakeEffect::effect() const { return ways.empty() ? Effect::impossible : ways[best_way()].effect; }

std::vector<MistakeEffect> mistake_effects(const RightPass& right, const CancelToken& stop) {
    const PassSteps steps(right);
    std::vector<MistakeEffect> effects;
    for (const Mistake& mistake : catalogue()) {
        const auto& families = mistake.families;
        if (std::find(families.begin(), families.end(), right.model->family) == families.end()) continue;
        MistakeEffect effect{mistake.number, mistake.name, {}};
        for (const Variant& variant : mistake.variants) {
            WayEffect way{variant.how};
            try {
                const std::vector<ChangedStage> first = first_change(steps, variant, stop);
                if (!first.empty()) {
                    way.effect = Effect::changes;
                    way.first = first.front();
                }
            } catch (const NotEnough& lacking) {
                way.effect = Effect::impossible;
                way.needs = lacking.what;
            }
            effect.ways.push_back(std::move(way));
        }
        effects.push_back(std::move(effect));
    }
    return effects;
}

MistakenPort make_mistake(const RightPass& right, const MistakeChoice& choice, const CancelToken& stop) {
    const Mistake& mistake = mistake_of(choice.number);
    const Variant& variant = chosen_way(right, choice, stop);
    const auto way = static_cast<int>(&variant - mistake.variants.data()) + 1;
    return {mistake.number, way, mistake.name, variant.how, mistaken_pass(right, variant, stop)};
}

Trace as_dumped(const Trace& pass, bool exact, const StageFilter& wanted) {
    Trace trace;
    for (const Stage& stage : pass.stages()) {
        if (!wanted.keeps(stage.name)) continue;
        Stage dumped = stage;
        if (!exact && std::holds_alternative<Tensor<double>>(stage.values)) {
            const Tensor<double>& values = stage.as<double>();
            dumped.values = Tensor<float>(values.shape(), {values.values().begin(), values.values().end()});
        }
        trace.add(std::move(dumped));
    }
    return trace;
}

// locus kit mistake.

namespace {

using Json = nlohmann::ordered_json;

/// "[[1,6,2],[1,5,2]]", one list per sample; several segments are joined.
Json tokens_of(const std::vector<ModelInput>& segments) {
    Json samples = Json::array();
    for (Index b = 0; b < segments.front().batch(); ++b) {
        Json sample = Json::array();
        for (const ModelInput& segment : segments)
            for (Index t = 0; t < segment.length(); ++t) sample.push_back(segment.tokens[b * segment.length() + t]);
        samples.push_back(sample);
    }
    return samples;
}

const char* in_words(Effect effect) {
    return effect == Effect::changes ? "changes" : effect == Effect::nothing ? "changes nothing" : "cannot be made";
}

Json list_as_json(const MistakeRequest& request, const RightPass& right, const std::vector<MistakeEffect>& effects) {
    Json mistakes = Json::array();
    for (const MistakeEffect& mistake : effects) {
        Json ways = Json::array();
        for (const WayEffect& way : mistake.ways) {
            Json json = {{"way", ways.size() + 1}, {"how", way.how}, {"state", in_words(way.effect)}};
            if (way.effect == Effect::changes)
                json.update({{"stage", way.first.name}, {"wrong", way.first.wrong}, {"size", way.first.size}});
            if (way.effect == Effect::impossible) json["needs"] = way.needs;
            ways.push_back(std::move(json));
        }
        mistakes.push_back({{"number", mistake.number}, {"name", mistake.name}, {"ways", ways}});
    }
    return {{"format", "locus-mistakes-of-a-model"},
            {"version", "1.0"},
            {"model", request.input.model},
            {"family", to_string(right.model->family)},
            {"dialect", request.dialect},
            {"tokens", tokens_of(right.segments)},
            {"mistakes", mistakes}};
}

std::string list_as_text(const std::vector<MistakeEffect>& effects) {
    std::vector<std::vector<std::string>> rows = {{"", "mistake", "first stage that differs", "cells"}};
    for (const MistakeEffect& mistake : effects) {
        const WayEffect& best = mistake.ways[mistake.best_way()];
        const bool changes = best.effect == Effect::changes;
        rows.push_back({std::to_string(mistake.number), mistake.name, changes ? best.first.name : in_words(best.effect),
                        changes ? std::to_string(best.first.wrong) + " of " + std::to_string(best.first.size) : "-"});
    }
    return text_table(rows, {true, false, false, true});
}

Json made_as_json(const MistakeRequest& request, const MistakenPort& port) {
    Json changed = Json::array();
    for (const ChangedStage& stage : port.pass.changed)
        changed.push_back({{"stage", stage.name}, {"wrong", stage.wrong}, {"size", stage.size}});
    Json json = {{"mistake", port.number}, {"way", port.way},    {"name", port.name},
                 {"how", port.how},        {"changed", changed}, {"left_out", port.pass.left_out}};
    if (!request.out.empty()) json["file"] = request.out;
    return json;
}

std::string made_as_text(const MistakeRequest& request, const MistakenPort& port) {
    std::string text = "mistake " + std::to_string(port.number) + "." + std::to_string(port.way) + ": " + port.name +
                       (port.how.empty() ? "" : " (" + port.how + ")") + "\n";
    const std::vector<ChangedStage>& changed = port.pass.changed;
    if (changed.empty())
        text += "it changes nothing on this input\n";
    else
        text += "first stage that differs: " + changed.front().name + ", " + std::to_string(changed.front().wrong) +
                " of " + std::to_string(changed.front().size) + " values; " + std::to_string(changed.size()) +
                " stages differ in all\n";
    if (!port.pass.left_out.empty())
        text +=
            std::to_string(port.pass.left_out.size()) + " stages left out, as no formula says what becomes of them\n";
    return request.out.empty() ? text : text + request.out + "\n";
}

void write_dump(const MistakeRequest& request, const RightPass& right, const MistakenPort& port) {
    const StageFilter wanted = request.stages.empty() ? StageFilter() : StageFilter(request.stages);
    for (const std::string& pattern : wanted.unmatched(port.pass.trace.names()))
        throw Error(Fault::usage, "stages: " + pattern + " matches no stage of this pass");
    write_trace(request.out, as_dumped(port.pass.trace, request.precision == "f64", wanted),
                {{"model", request.input.model},
                 {"dialect", request.dialect},
                 {"precision", request.precision},
                 {"tokens", tokens_of(right.segments).dump()},
                 {"mistake", std::to_string(port.number) + "." + std::to_string(port.way)},
                 {"mistake_name", port.name},
                 {"mistake_how", port.how}});
}

std::string printed(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string run_mistake(const MistakeRequest& request) {
    const Dialect dialect = parse_dialect(request.dialect);
    LOCUS_CHECK(request.precision == "f32" || request.precision == "f64",
                "--precision is \"" + request.precision + "\", expected f32 or f64");
    LOCUS_CHECK(request.list == request.mistake.empty(),
                "expected either the number of a mistake, before --text, or --list");
    if (request.list) {
        LOCUS_CHECK(request.out.empty() && request.stages.empty(), "--list goes without --out and --stages");
        const RightPass right = right_pass_of(request.input, dialect);
        const std::vector<MistakeEffect> effects = mistake_effects(right);
        return request.json ? printed(list_as_json(request, right, effects)) : list_as_text(effects);
    }
    const MistakeChoice choice = MistakeChoice::parse(request.mistake);
    mistake_of(choice.number);  // an unknown number is refused before a model is opened
    const RightPass right = right_pass_of(request.input, dialect);
    const MistakenPort port = make_mistake(right, choice);
    if (!request.out.empty()) write_dump(request, right, port);
    return request.json ? printed(made_as_json(request, port)) : made_as_text(request, port);
}

}  // namespace locus::conformance
