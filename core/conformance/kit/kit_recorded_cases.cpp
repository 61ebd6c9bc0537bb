// L3: whole tiny models that other people's code ran, from tests/oracle.
#include <algorithm>
#include <fstream>

#include "core/conformance/kit/kit_content.h"
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
                                     "hf_deberta_v2_c2p_only",
                                     "hf_deberta_v2_clamp",
                                     "hf_deberta_v2_conv",
                                     "hf_deberta_v2_inputs",
                                     "hf_deberta_v2_long",
                                     "hf_deberta_v2_p2c_only",
                                     "hf_deberta_v2_short",
                                     "hf_deberta_v2_unshared",
                                     "hf_roformer",
                                     "hf_roformer_factorised",
                                     "hf_roformer_mask3d",
                                     "hf_roformer_rotate_value",
                                     "txl_basic",
                                     "txl_clamp_len",
                                     "txl_pre_lnorm",
                                     "txl_same_length",
                                     "hf_xlnet_bi",
                                     "hf_xlnet_bi_data",
                                     "hf_xlnet_clamp_len",
                                     "hf_xlnet_mems",
                                     "hf_xlnet_order_3241",
                                     "hf_xlnet_same_length",
                                     "hf_xlnet_uni"};

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
    for (const Json& note : json.value("notes", Json::array())) content.notes.push_back(note.get<std::string>());
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

}  // namespace locus::conformance
