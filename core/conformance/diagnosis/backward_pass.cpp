#include "core/conformance/diagnosis/backward_pass.h"

#include <algorithm>
#include <vector>

#include "core/conformance/formulas/model_gradients.h"
#include "core/stages.h"

namespace locus::conformance {

namespace {

/// Stages of a layer, or of a pass of the decoder, that have a gradient.
constexpr const char* kOfLayer[] = {"output", "conv_act", "conv",      "output_before_conv",
                                    "ffn",    "ffn_act",  "attention", "context",
                                    "probs",  "scores",   "c2c",       "c2p",
                                    "p2c",    "q",        "k",         "v",
                                    "q_r",    "k_r"};

/// Names of all gradients that the pass may have, in the order in which they are computed.
std::vector<std::string> gradients_of(const RightPass& pass, const std::function<bool(const std::string&)>& wanted) {
    std::vector<std::string> names;
    for (const char* stage : {"mlm.logits", "mlm.transform", "emd.query.0", "relative.table", "embeddings.output"})
        names.push_back(std::string("grad.") + stage);
    const Evidence evidence{pass.trace, pass.trace, pass.model, pass.segments};
    for (const std::string& scope : uses_of_model(Replay(evidence, ""))) {
        const bool convolves = scope == "layer.0." && pass.model->deberta->config().conv_kernel_size > 0;
        for (const std::string stage : kOfLayer)
            if (convolves || stage.find("conv") == std::string::npos) names.push_back("grad." + scope + stage);
    }
    for (const std::string& parameter : pass.model->source->names())
        for (const std::string& name : {"grad.deberta." + parameter, "grad." + parameter})
            if (wanted(name)) names.push_back(name);
    std::sort(names.begin(), names.end(), stage_comes_before);
    return names;
}

}  // namespace

void add_backward_pass(RightPass& pass, const std::function<bool(const std::string& name)>& wanted,
                       const CancelToken& stop) {
    if (!pass.model || !pass.model->deberta || pass.segments.size() != 1 || pass.segments.front().labels.empty())
        return;
    if (!pass.trace.find("mlm.logits")) return;
    Evidence evidence{pass.trace, pass.trace, pass.model, pass.segments};
    evidence.dialect = pass.dialect;
    for (const std::string& name : gradients_of(pass, wanted)) {
        throw_if_cancelled(stop);
        if (pass.trace.find(name)) continue;
        const auto [scope, stem] = scope_and_stem(name);
        try {
            pass.trace.add<double>(name, Replay(evidence, scope).computed(stem));
        } catch (const NotEnough&) {  // a term that this model does not have, or a parameter of another head
        }
    }
}

}  // namespace locus::conformance
