#include "core/conformance/kit/found_inputs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>

#include "core/conformance/kit/pair.h"
#include "core/io/recorded_inputs.h"
#include "core/io/safetensors.h"

namespace locus::conformance {

namespace {

constexpr double kSamePass = 0.05;  // of the largest value: far above rounding of half precision, far below other words

std::string metadata_of(const std::string& file, const std::string& key) {
    for (const auto& [name, value] : open_safetensors(file).metadata)
        if (name == key) return value;
    return "";
}

bool has_segments(const TraceView& reference) {
    const std::vector<std::string> names = reference.names();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.starts_with("segment."); });
}

double distance_over_size(const Tensor<double>& found, const Tensor<double>& expected) {
    if (found.shape() != expected.shape()) return 1;
    double worst = 0, size = 1e-300;
    for (Index n = 0; n < found.size(); ++n) {
        const double difference = std::abs(found[n] - expected[n]);
        if (std::isnan(found[n]) != std::isnan(expected[n])) return 1;
        if (std::isfinite(difference)) worst = std::max(worst, difference);
        if (std::isfinite(expected[n])) size = std::max(size, std::abs(expected[n]));
    }
    return worst / size;
}

/// Throws Error(usage) for a field whose shape does not go with the tokens, or flags that are not 0 and 1.
void check_fields(const ModelInput& input) {
    const Index batch = input.batch(), length = input.length();
    check_input(input, std::numeric_limits<Index>::max(), 0);
    check_flags(input.perm_mask, "perm_mask", {batch, length, length});
    check_flags(input.input_mask, "input_mask", {batch, length});
    if (!input.target_mapping.empty())
        check_flags(input.target_mapping, "target_mapping",
                    {batch, input.target_mapping.rank() == 3 ? input.target_mapping.extent(1) : 0, length});
}

/// Stages of a reference that tokens and masks alone decide, beside what it reports itself.
std::vector<std::string> witnesses(const TraceView& reference) {
    std::vector<std::string> names, probs;
    for (const std::string& name : reference.names()) {
        const std::string stem = scope_and_stem(name).second;
        if (stem == "/embeddings.word" || stem == "/embeddings.output") names.push_back(name);
        if (stem == "probs" && probs.empty()) probs = {name};
    }
    names.insert(names.end(), probs.begin(), probs.end());
    return names;
}

/// Stages that not every family has.
const std::map<std::string, std::vector<Family>> kOwnStages = {{"c2p", {Family::deberta}},
                                                               {"p2c", {Family::deberta}},
                                                               {"k_r", {Family::deberta}},
                                                               {"q_r", {Family::deberta}},
                                                               {"q_rot", {Family::roformer}},
                                                               {"k_rot", {Family::roformer}},
                                                               {"ef", {Family::xlnet}},
                                                               {"bd", {Family::transformer_xl, Family::xlnet}},
                                                               {"r_k", {Family::transformer_xl, Family::xlnet}}};

}  // namespace

std::optional<Family> family_shown(const TraceView& reference) {
    for (const std::string& name : reference.names()) {
        const auto own = kOwnStages.find(scope_and_stem(name).second);
        if (own != kOwnStages.end() && own->second.size() == 1) return own->second.front();
    }
    return std::nullopt;
}

std::string other_family(const TraceView& reference, const ModelFolder& model) {
    for (const std::string& name : reference.names()) {
        const auto own = kOwnStages.find(scope_and_stem(name).second);
        if (own == kOwnStages.end()) continue;
        if (std::find(own->second.begin(), own->second.end(), model.family) != own->second.end()) continue;
        return std::string("is a ") + to_string(model.family) + ", and the reference's " + name + " is a stage of a " +
               to_string(own->second.front());
    }
    return "";
}

namespace {

std::string contradiction_by(const Evidence& evidence) {
    const TraceView& reference = evidence.reference;
    for (const std::string& name : witnesses(reference)) {
        const auto [scope, stem] = scope_and_stem(name);
        try {
            const Tensor<double> expected = Replay(evidence, scope).computed(stem);
            if (distance_over_size(widened(*reference.at(name)), expected) > kSamePass)
                return "the reference's " + name + " is that of other tokens, masks or weights";
        } catch (const NotEnough&) {
        } catch (const Error&) {  // tokens that the model does not have, shapes that do not fit
            return "the reference's " + name + " cannot be that of these tokens";
        }
    }
    return "";
}

}  // namespace

std::string contradiction(const TraceView& reference, const std::shared_ptr<const ModelFolder>& model,
                          const std::vector<ModelInput>& segments, Dialect& dialect) {
    try {
        for (const ModelInput& segment : segments) check_fields(segment);
    } catch (const Error& error) {
        return error.what();
    }
    std::string reason;
    std::vector<Dialect> dialects = {dialect};
    for (const Dialect other : {Dialect::reference, Dialect::official, Dialect::hf})
        if (other != dialect) dialects.push_back(other);
    for (const Dialect one : dialects) {
        Evidence evidence{reference, reference, model, segments};
        evidence.dialect = one;
        const std::string said = contradiction_by(evidence);
        if (said.empty()) {
            dialect = one;
            return "";
        }
        if (reason.empty()) reason = said;
    }
    return reason;
}

Dialect dialect_said(const std::string& file) {
    const std::string name = metadata_of(file, "dialect");
    for (const Dialect dialect : {Dialect::official, Dialect::hf, Dialect::paper})
        if (name == to_string(dialect)) return dialect;
    return Dialect::reference;
}

namespace {

/// inputs.safetensors in the folder of the reference; empty where there is none.
std::filesystem::path inputs_beside(const std::string& reference_file) {
    const auto beside = std::filesystem::absolute(reference_file).parent_path() / "inputs.safetensors";
    std::error_code ignored;
    return std::filesystem::is_regular_file(beside, ignored) ? beside : std::filesystem::path();
}

}  // namespace

bool says_inputs(const std::string& reference_file, const std::string& candidate_file, const TraceView& reference) {
    if (!inputs_beside(reference_file).empty()) return true;
    for (const std::string& file : {reference_file, candidate_file})
        for (const char* key : {"inputs", "tokens"})
            if (!metadata_of(file, key).empty() && (std::string_view(key) == "inputs" || !has_segments(reference)))
                return true;
    return false;
}

FoundInputs find_inputs(const std::string& reference_file, const std::string& candidate_file,
                        const TraceView& reference, const std::shared_ptr<const ModelFolder>& model, Dialect& dialect) {
    FoundInputs found;
    using Read = std::function<std::vector<ModelInput>()>;
    const auto try_one = [&](const std::string& where, const Read& read) {
        if (!found.segments.empty()) return;
        std::string reason;
        try {
            std::vector<ModelInput> segments = read();
            if (segments.empty()) return;
            reason = contradiction(reference, model, segments, dialect);
            if (reason.empty()) {
                found.segments = std::move(segments);
                found.where = where;
                return;
            }
        } catch (const Error& error) {
            reason = error.what();
        }
        if (found.not_used.empty()) found.not_used = where + " is not used: " + reason;
    };
    const auto in_metadata = [&](const std::string& file, const char* key, const std::string& whose) {
        try_one(std::string(key) + " in the metadata of the " + whose, [&]() -> std::vector<ModelInput> {
            const std::string text = metadata_of(file, key);
            return text.empty() ? std::vector<ModelInput>() : inputs_from_json(text, std::string("\"") + key + "\"");
        });
    };
    in_metadata(reference_file, "inputs", "reference");
    in_metadata(candidate_file, "inputs", "candidate");
    if (const auto beside = inputs_beside(reference_file); !beside.empty())
        try_one("inputs.safetensors beside the reference", [&] { return segments_of(beside.string(), *model); });
    if (!has_segments(reference)) {  // the tokens of several segments stand there as one list
        in_metadata(reference_file, "tokens", "reference");
        in_metadata(candidate_file, "tokens", "candidate");
    }
    if (!found.segments.empty()) found.not_used.clear();
    return found;
}

}  // namespace locus::conformance
