#include "tests/conformance/toy/mutation_gradients.h"

#include "core/conformance/kit/kit_case.h"
#include "tests/conformance/toy/toy_gradients.h"

namespace locus::conformance::toy {

namespace {

constexpr const char* kWordTable = "grad.deberta.embeddings.word_embeddings.weight";

Trace only(const Trace& all, const std::string& globs) {
    const StageFilter filter(globs);
    Trace kept;
    for (const Stage& stage : all.stages())
        if (filter.keeps(stage.name)) kept.add(stage);
    return kept;
}

/// One share of the word table's gradient: the port's own for the output, what is left of the recorded one for lookups.
template <class Scalar>
Tensor<Scalar> share(const Stage& both, const Tensor<Scalar>& output, bool of_lookups) {
    Tensor<Scalar> values = output;
    for (Index n = 0; n < values.size() && of_lookups; ++n) values[n] = static_cast<Scalar>(both.at(n)) - output[n];
    return values;
}

template <class Scalar>
Trace whole_model(const GradientRange& range, const Slip& slip) {
    Trace trace = run_toy<Scalar>(range.content.model.string(), range.segments, {});
    const Tensor<Scalar> output = toy_share_of_the_output<Scalar>(trace, range.segments.front().labels);
    for (const Stage& stage : range.content.reference.stages()) {
        if (!stage.name.starts_with("grad.")) continue;
        Stage own = stage;
        if (stage.name == kWordTable && slip.is(53)) {
            own.values = share(stage, output, slip.variant == 0);
        } else {
            Tensor<Scalar> rounded(stage.shape());
            for (Index n = 0; n < rounded.size(); ++n) rounded[n] = static_cast<Scalar>(stage.at(n));
            own.values = std::move(rounded);
        }
        trace.add(std::move(own));
    }
    return trace;
}

Finding judge(const GradientRange& range, const Trace& candidate) {
    Evidence evidence{range.known, candidate, range.model, range.segments};
    evidence.family = range.content.family;
    return finding_of(evidence, range.content.reference);
}

}  // namespace

std::vector<GradientRange> gradient_ranges(const std::filesystem::path& oracle) {
    std::vector<GradientRange> ranges;
    for (CaseContent& content : gradient_cases(oracle)) {
        GradientRange range;
        range.content = std::move(content);
        for (const Trace* part : {&range.content.inputs, &range.content.reference})
            for (const Stage& stage : part->stages()) range.known.add(stage);
        if (!range.content.model.empty()) {
            range.model = ModelFolder::open(range.content.model.string());
            range.segments = segments_in(range.content.model.parent_path() / "inputs.safetensors");
        }
        ranges.push_back(std::move(range));
    }
    return ranges;
}

template <class Scalar>
Trace run_backward(const GradientRange& range, const Slip& slip) {
    if (range.model) return whole_model<Scalar>(range, slip);
    return run_toy_attention<Scalar>(range.content.family, range.content.inputs, slip,
                                     range.content.config["probes"].value("rotary_value", false));
}

std::vector<Finding> try_gradient_slip(const Slip& slip, const GradientRange& range) {
    std::vector<Finding> findings;
    const auto add = [&](const Trace& candidate, const char* precision) {
        std::vector<std::pair<std::string, std::string>> dumps = {{"everything", "*"}, {"gradients", "grad.*"}};
        if (!range.model)
            dumps.insert(dumps.end(), {{"gradients of q, k, v", "grad.*.q,grad.*.k,grad.*.v"},
                                       {"gradients of tables", "grad.*_r,grad.*.r_k,grad.*.bias.?"},
                                       {"gradient of q", "grad.*.q"}});
        for (const auto& [dump, globs] : dumps) {
            const Trace part = only(candidate, globs);
            if (part.stages().empty()) continue;
            Finding finding = judge(range, part);
            finding.where = range.content.id + ", " + precision;
            finding.in_float = std::string(precision) == "float32";
            finding.dump = dump;
            findings.push_back(std::move(finding));
        }
    };
    add(run_backward<float>(range, slip), "float32");
    add(run_backward<double>(range, slip), "float64");
    return findings;
}

template Trace run_backward<float>(const GradientRange&, const Slip&);
template Trace run_backward<double>(const GradientRange&, const Slip&);

}  // namespace locus::conformance::toy
