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

Finding judge(const Range& range, const Trace& reference, const Trace& candidate) {
    Finding verdict;
    const Comparison comparison = compare(reference, candidate);
    const StageVerdict* first = comparison.first();
    if (!first) return verdict;
    verdict.first = first->name;
    const Diagnosis diagnosis = diagnose({reference, candidate, range.model, range.segments}, comparison, *first);
    if (diagnosis.named) {
        verdict.named = diagnosis.named->mistake;
        verdict.residual = diagnosis.named->residual;
    }
    verdict.equivalent = diagnosis.equivalent;
    return verdict;
}

}  // namespace

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
            Finding verdict = judge(range, reference, only(candidate, globs));
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
