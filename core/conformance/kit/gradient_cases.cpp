// Gradients that other people's autograd recorded: single attentions (L1), and a whole model with all its parameters.
#include <algorithm>
#include <map>

#include "core/conformance/diagnosis/backward_pass.h"
#include "core/conformance/kit/case.h"
#include "core/conformance/kit/cases.h"
#include "core/io/checkpoint.h"
#include "core/io/input_file.h"
#include "core/io/safetensors.h"

namespace locus::conformance {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Attention {
    const char *recorded, *id;
    Family family;
    const char* why;
};

constexpr Attention kAttentions[] = {
    {"grads_deberta_short", "grad_t5_k7", Family::deberta,
     "Backward of disentangled attention: rows of the table that no pair reads have gradient exactly 0."},
    {"grads_deberta_long", "grad_t11_k3", Family::deberta,
     "Backward where both ends of the table are shared: gradients of many pairs add up in one row."},
    {"grads_deberta_cross", "grad_q4_k13_b6", Family::deberta,
     "Backward with fewer queries than keys, and log buckets."},
    {"grads_rope", "grad_rope", Family::roformer, "Backward of a rotation: dq = R(-m) d(q_rot)."},
    {"grads_rope_value", "grad_rope_value", Family::roformer, "The same where values are rotated too."},
    {"grads_txl_attention", "grad_txl", Family::transformer_xl,
     "Backward of the shift; u, v and r_k collect from all samples."},
    {"grads_txl_attention_same_length", "grad_txl_same_length", Family::transformer_xl,
     "The same with old keys hidden as well."},
};

/// What the recorded files call it -> its name as a stage.
std::string stage_name(const std::string& recorded) {
    if (recorded.starts_with("grad.")) return "grad." + stage_name(recorded.substr(5));
    static const std::map<std::string, std::string> other = {{"index", "relative.index"},
                                                             {"sin", "rotary.sin"},
                                                             {"cos", "rotary.cos"},
                                                             {"mask", "mask"},
                                                             {"r_w_bias", "layer.0.bias.u"},
                                                             {"r_r_bias", "layer.0.bias.v"},
                                                             {"d_context", "grad.layer.0.context"}};
    const auto found = other.find(recorded);
    return found != other.end() ? found->second : "layer.0." + recorded;
}

/// The same tensors under names of stages, in the order of a pass.
Trace renamed(const Trace& recorded, Family family) {
    std::map<std::string, Stage> all;
    std::vector<std::string> names;
    for (Stage stage : recorded.stages()) {
        stage.name = stage_name(stage.name);
        if (const auto known = describe_stage(stage.name, scheme_of(family))) {
            stage.axes = known->axes;
            stage.formula = known->formula;
        } else {
            stage.formula = "1 = visible";
        }
        names.push_back(stage.name);
        all[stage.name] = std::move(stage);
    }
    std::sort(names.begin(), names.end(), stage_comes_before);
    Trace trace;
    for (const std::string& name : names) trace.add(all.at(name));
    return trace;
}

/// case.json, who computed what, and how exact.
CaseContent recorded_content(const fs::path& folder, const std::string& id, const std::vector<std::string>& by_locus) {
    if (!fs::is_directory(folder))
        throw Error(Fault::unreadable,
                    folder.string() + ": no such folder, expected a recorded case of the source tree");
    const Json json = read_json_file(folder / "case.json");
    CaseContent content;
    content.id = id;
    content.source = json.at("source");
    content.source["computed_by_locus"] = by_locus;
    content.accuracy = json.at("tolerance").get<double>();
    content.dialect = content.source.at("library").get<std::string>().find("transformers") != std::string::npos
                          ? Dialect::hf
                          : Dialect::official;
    content.config = {{"probes", json.at("probes")}};
    content.notes = {"grad.X is the gradient of sum(context * grad.layer.0.context) with respect to X.",
                     "The stages under source.computed_by_locus were computed by Locus in float64, all others by "
                     "the library."};
    return content;
}

/// Gradients between those that were recorded, so that a port can report them too.
void add_inner_gradients(CaseContent& content) {
    Trace everything;
    for (const Trace* part : {&content.inputs, &content.reference})
        for (const Stage& stage : part->stages()) everything.add(stage);
    Evidence evidence{everything, everything, nullptr, {}};
    evidence.family = content.family;
    const Replay replay(evidence, "layer.0.");
    Trace with_inner;
    bool added = false;
    for (const Stage& stage : content.reference.stages()) {
        if (stage.name.starts_with("grad.") && !added) {
            for (const char* stem : {"grad.probs", "grad.scores"})
                with_inner.add<double>(replay.full_name(stem), replay(stem));
            added = true;
        }
        with_inner.add(stage);
    }
    content.reference = std::move(with_inner);
}

CaseContent attention_case(const fs::path& oracle, const Attention& attention) {
    const fs::path folder = oracle / attention.recorded;
    CaseContent content =
        recorded_content(folder, std::string("L1/") + attention.id, {"grad.layer.0.probs", "grad.layer.0.scores"});
    content.family = attention.family;
    content.why = attention.why;
    content.inputs = renamed(read_trace(folder / "inputs.safetensors"), content.family);
    content.reference = renamed(read_trace(folder / "trace.safetensors"), content.family);
    if (content.family == Family::deberta)
        content.notes.push_back("context = (probs keep) v: keep is what dropout multiplies probabilities with.");
    add_inner_gradients(content);
    return content;
}

/// All gradients of a model, and the forward stages after which they come.
CaseContent model_case(const fs::path& oracle, const std::string& name, const std::string& why) {
    const fs::path folder = oracle / name;
    CaseContent content = recorded_content(folder, "L3/" + name, {});
    content.why = why;
    content.model = folder / "model";
    content.inputs = read_trace(folder / "inputs.safetensors");
    const Trace recorded = read_trace(folder / "trace.safetensors");
    const Checkpoint checkpoint = open_checkpoint(content.model);
    const auto model = open_model<double>(checkpoint.config_json, checkpoint.config_file.string(), checkpoint.weights);
    RightPass pass{
        ModelFolder::open(content.model.string()), segments_in(folder / "inputs.safetensors"), content.dialect, {}};
    pass.trace = model->forward(pass.segments, content.dialect);
    add_backward_pass(pass, [&](const std::string& gradient) { return recorded.find(gradient) != nullptr; });
    std::vector<std::string> by_locus;
    for (const Stage& stage : pass.trace.stages()) {
        const Stage* theirs = recorded.find(stage.name);
        content.reference.add(theirs ? *theirs : stage);
        if (!theirs) by_locus.push_back(stage.name);
    }
    content.source["computed_by_locus"] = by_locus;
    content.notes.front() =
        "grad.<parameter> is the gradient of the mean of mlm.loss; the word table collects from its lookups and as the "
        "output matrix; word 0 is padding and collects nothing from lookups.";
    return content;
}

}  // namespace

std::vector<CaseContent> gradient_cases(const fs::path& oracle) {
    std::vector<CaseContent> cases;
    for (const Attention& attention : kAttentions) cases.push_back(attention_case(oracle, attention));
    cases.push_back(model_case(oracle, "grads_deberta_model",
                               "Gradients of every stage and parameter: shared keys, normed table, a decoder that uses "
                               "the last layer twice, tied words."));
    cases.push_back(model_case(oracle, "grads_deberta_model_conv",
                               "The same with position projections of their own, clamped offsets, positions in the "
                               "embeddings, and a convolution."));
    return cases;
}

}  // namespace locus::conformance
