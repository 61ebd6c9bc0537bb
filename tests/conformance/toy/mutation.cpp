#include "tests/conformance/toy/mutation.h"

#include <algorithm>

namespace locus::conformance::toy {

namespace {

Trace only(const Trace& all, const std::string& globs) {
    const StageFilter filter(globs);
    Trace kept;
    for (const Stage& stage : all.stages())
        if (filter.keeps(stage.name)) kept.add(stage);
    return kept;
}

}  // namespace

Finding finding_of(const Evidence& evidence, const Trace& reference) {
    Finding finding;
    const Comparison comparison = compare(reference, evidence.candidate);
    const StageVerdict* first = comparison.first();
    if (!first) return finding;
    finding.first = first->name;
    const Diagnosis diagnosis = diagnose(evidence, comparison, *first);
    if (diagnosis.named) {
        finding.named = diagnosis.named->mistake;
        finding.residual = diagnosis.named->residual;
    }
    finding.equivalent = diagnosis.equivalent;
    return finding;
}

std::vector<Finding> try_slip(const Slip& slip, const Range& range, bool partial) {
    ToyOptions options;
    options.hugging_face = range.hugging_face;
    options.slip = slip;
    std::vector<Finding> verdicts;
    const auto add = [&](const Trace& reference, const Trace& candidate, const char* precision) {
        std::vector<std::pair<std::string, std::string>> dumps = {{"everything", "*"}};
        if (partial)
            dumps.insert(dumps.end(), {{"scores", "*.scores"},
                                       {"terms and scores", "*.c2c,*.c2p,*.p2c,*.ac,*.bd,*.ef,*.scores"},
                                       {"outputs", "*.output,*.logits"}});
        for (const auto& [dump, globs] : dumps) {
            const Trace dumped = only(candidate, globs);
            Finding verdict = finding_of({reference, dumped, range.model, range.segments}, reference);
            verdict.where = range.name + ", " + precision;
            verdict.in_float = std::string(precision) == "float32";
            verdict.dump = dump;
            verdicts.push_back(std::move(verdict));
        }
    };
    add(range.recorded, run_toy<float>(range.model_folder, range.segments, options), "float32");
    add(range.sharp, run_toy<double>(range.model_folder, range.segments, options), "float64");
    return verdicts;
}

bool names(int named, const Slip& slip) {
    return named == slip.mistake ||
           std::any_of(equivalents().begin(), equivalents().end(),
                       [&](const Equivalent& pair) { return pair.made == slip.mistake && pair.named == named; });
}

}  // namespace locus::conformance::toy
