// L3: whole tiny models that other people's code ran, from tests/oracle.
#include <algorithm>
#include <array>
#include <fstream>

#include "core/conformance/kit/cases.h"
#include "core/io/checkpoint.h"
#include "core/io/input_file.h"
#include "core/io/safetensors.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// The recorded cases that go into a kit; the trained models are too large for it, and show nothing that these do not.
constexpr const char* kRecorded[] = {"ms_deberta_v3_emd",
                                     "ms_deberta_v3_long",
                                     "ms_deberta_v2_conv_emd",
                                     "ms_deberta_clamp",
                                     "ms_deberta_clamp_short",
                                     "ms_deberta_biased",
                                     "ms_rtd",
                                     "ms_sift",
                                     "hf_deberta_v1",
                                     "hf_deberta_v1_long",
                                     "hf_deberta_v1_talking_head",
                                     "hf_deberta_v1_token_classes",
                                     "hf_deberta_v2_c2p_only",
                                     "hf_deberta_v2_clamp",
                                     "hf_deberta_v2_conv",
                                     "hf_deberta_v2_inputs",
                                     "hf_deberta_v2_long",
                                     "hf_deberta_v2_p2c_only",
                                     "hf_deberta_v2_short",
                                     "hf_deberta_v2_t300",
                                     "hf_deberta_v2_text_classes",
                                     "hf_deberta_v2_unshared",
                                     "hf_roformer",
                                     "hf_roformer_factorised",
                                     "hf_roformer_mask3d",
                                     "hf_roformer_rotate_value",
                                     "hf_roformer_t300",
                                     "hf_roformer_text_classes",
                                     "txl_basic",
                                     "txl_clamp_len",
                                     "txl_pre_lnorm",
                                     "txl_same_length",
                                     "txl_t300",
                                     "txl_word_clusters",
                                     "hf_txl_word_clusters",
                                     "hf_xlnet_bi",
                                     "hf_xlnet_bi_data",
                                     "hf_xlnet_clamp_len",
                                     "hf_xlnet_mems",
                                     "hf_xlnet_order_3241",
                                     "hf_xlnet_same_length",
                                     "hf_xlnet_t300",
                                     "hf_xlnet_text_classes",
                                     "hf_xlnet_uni"};

/// True of notes about files and bounds that stay behind: a kit has one reference, and a rule of its own.
bool speaks_of_recording(const std::string& note) {
    constexpr std::array<const char*, 4> kStarts = {"trace_exact.safetensors", "Tolerance rule", "tolerance is wide",
                                                    "Compare a stage by"};
    return std::any_of(kStarts.begin(), kStarts.end(), [&](const char* start) { return note.starts_with(start); });
}

CaseContent recorded_case(const fs::path& folder) {
    const Json json = read_json_file(folder / "case.json");
    const fs::path exact = folder / "trace_exact.safetensors";
    CaseContent content;
    content.id = "L3/" + folder.filename().string();
    content.model = folder / "model";
    const Checkpoint checkpoint = open_checkpoint(content.model);
    content.family = family_of(checkpoint.config_json, checkpoint.config_file.string());
    content.why = json.at("why").get<std::string>();
    content.source = json.at("source");
    content.dialect = content.source.at("library").get<std::string>().find("transformers") != std::string::npos
                          ? Dialect::hf
                          : Dialect::official;
    // A step along a gradient of float magnifies its rounding (the notes of ms_sift say how far): the bound is wide.
    const bool steps = json.at("probes").contains("learning_rate");
    content.accuracy = json.at(fs::exists(exact) && !steps ? "tolerance_exact" : "tolerance").get<double>();
    for (const Json& each : json.value("notes", Json::array()))
        if (const auto note = each.get<std::string>(); !speaks_of_recording(note)) content.notes.push_back(note);
    // What SiFT is asked for is in no file of the model.
    for (const char* parameter : {"sigma", "learning_rate"})
        if (json.at("probes").contains(parameter)) content.config[parameter] = json.at("probes").at(parameter);
    content.reference = read_trace(fs::exists(exact) ? exact : folder / "trace.safetensors");
    content.inputs = read_trace(folder / "inputs.safetensors");
    return content;
}

}  // namespace

std::vector<CaseContent> recorded_cases(const fs::path& oracle) {
    std::vector<CaseContent> cases;
    for (const char* name : kRecorded) {
        if (!fs::is_directory(oracle / name))
            throw Error(Fault::unreadable,
                        (oracle / name).string() + ": no such folder, expected a recorded case of the source tree");
        cases.push_back(recorded_case(oracle / name));
    }
    return cases;
}

// Parts of a whole case.

namespace {

std::string whole_name(const Cut& cut, const std::string& name) {
    return name.starts_with('/') ? name.substr(1) : cut.scope + name;
}

Stage weight_stage(const WeightSource& weights, const std::string& as, const std::string& name) {
    const std::optional<Shape> shape = weights.shape(name);
    LOCUS_CHECK(shape, weights.location() + " has no tensor " + name);
    const Matrix<double> rows = weights.rows_f64(name, 0, shape->front());
    Stage stage;
    stage.name = as;
    stage.formula = name;
    stage.values = Tensor<double>(*shape, std::vector<double>(rows.data(), rows.data() + rows.size()));
    return stage;
}

}  // namespace

CaseContent cut_case(const std::vector<CaseContent>& whole, const Cut& cut, const std::string& level, bool with_model) {
    const auto from =
        std::find_if(whole.begin(), whole.end(), [&](const CaseContent& one) { return one.id == "L3/" + cut.from; });
    LOCUS_CHECK(from != whole.end(), "kit: there is no whole case " + cut.from);
    CaseContent content;
    content.id = level + "/" + cut.name;
    content.family = from->family;
    content.why = cut.why;
    content.dialect = from->dialect;
    content.accuracy = from->accuracy;
    content.cut_from = from->id;
    content.source = from->source;
    if (!cut.config.is_null()) content.config = cut.config;
    if (with_model) content.model = from->model;
    // A name is a stage of the whole case, or one of the inputs of its model.
    std::vector<std::string> given;
    for (const std::string& input : cut.inputs) {
        const std::string name = whole_name(cut, input);
        given.push_back(name);
        const Stage* stage = from->reference.find(name);
        content.inputs.add(stage ? *stage : from->inputs.at(name));
    }
    if (!cut.weights.empty()) {
        const Checkpoint checkpoint = open_checkpoint(from->model);
        for (const auto& [as, name] : cut.weights) content.inputs.add(weight_stage(*checkpoint.weights, as, name));
    }
    for (const std::string& output : cut.outputs) content.reference.add(from->reference.at(whole_name(cut, output)));
    if (cut.outputs.empty())
        for (const Stage& stage : from->reference.stages())
            if (stage.name.starts_with(cut.scope) && std::find(given.begin(), given.end(), stage.name) == given.end())
                content.reference.add(stage);
    return content;
}

}  // namespace locus::conformance
