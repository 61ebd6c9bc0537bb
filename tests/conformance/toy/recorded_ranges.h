#pragma once
// The recorded cases of tests/oracle that injected mistakes are tried on.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/conformance/kit/pair.h"
#include "core/io/checkpoint.h"
#include "tests/conformance/recorded.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/toy_training.h"
#include "tests/oracle_cases.h"

namespace locus::conformance::toy {

inline Range range_of(const test::Case& one) {
    Range range;
    range.name = one.name();
    range.model_folder = one.model.string();
    range.hugging_face = one.dialect() == Dialect::hf;
    range.model = ModelFolder::open(range.model_folder);
    range.segments = test::read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors");
    range.recorded = read_trace(one.folder / "trace.safetensors");
    const auto exact = one.folder / "trace_exact.safetensors";
    if (test::fs::exists(exact))
        range.sharp = read_trace(exact);
    else if (one.json["tolerance"].get<double>() <= 1e-11)
        range.sharp = range.recorded;
    else  // rounded to float32 here and there by the code that was recorded
        range.sharp = test::open_case_model<double>(range.model_folder)->forward(range.segments, one.dialect());
    return range;
}

/// Two samples of eight tokens on a table of sixteen rows: reshaped by tokens, every sample gets rows of its own.
inline Range divided_table() {
    Range range;
    range.name = "T = 8 on hf_deberta_v2_short's model";
    range.model_folder = (test::kOracle / "hf_deberta_v2_short" / "model").string();
    range.hugging_face = true;
    range.model = ModelFolder::open(range.model_folder);
    ModelInput input;
    input.tokens = IndexTensor({2, 8}, {3, 17, 4, 25, 11, 6, 19, 2, 8, 21, 5, 14, 1, 28, 9, 12});
    range.segments = {input};
    range.sharp = range.recorded = test::open_case_model<double>(range.model_folder)->forward({input}, Dialect::hf);
    return range;
}

/// All recorded cases of a family but the trained model, long ones last, and one of Locus' own whose table divides into
/// samples (mistake 14).
inline std::vector<Range> ranges_of(Family family) {
    const std::map<Family, std::vector<std::string>> beginnings = {{Family::deberta, {"hf_deberta_", "ms_deberta_"}},
                                                                   {Family::roformer, {"hf_roformer"}},
                                                                   {Family::transformer_xl, {"txl_", "hf_txl_"}},
                                                                   {Family::xlnet, {"hf_xlnet_"}}};
    std::vector<Range> ranges;
    for (const auto& entry : test::fs::directory_iterator(test::kOracle))
        for (const std::string& beginning : beginnings.at(family))
            if (entry.path().filename().string().starts_with(beginning))
                ranges.push_back(
                    range_of({entry.path(), entry.path() / "model", test::read_json(entry.path() / "case.json")}));
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.name < b.name; });
    if (family == Family::deberta) ranges.push_back(divided_table());
    std::stable_partition(ranges.begin(), ranges.end(), [](const Range& range) { return !range.is_long(); });
    return ranges;
}

// Mistakes of replaced-token detection and SiFT, tried on the two recorded cases.

/// The port with this mistake (0: none) on a case, in double or in float.
template <class Scalar>
Trace run_training(const TrainingCase& one, const Injection& injected) {
    TrainingGiven given;
    given.config = one.model->deberta->config();
    given.weights = one.model->source.get();
    given.input = &one.segments.front();
    given.tensors = &one.inputs;
    if (one.name == "ms_rtd") return toy_rtd<Scalar>(given, injected);
    given.answers = std::is_same_v<Scalar, double> ? &one.exact : &one.recorded;
    given.sigma = one.json["probes"]["sigma"].get<double>();
    given.learning_rate = one.json["probes"]["learning_rate"].get<double>();
    return toy_sift<Scalar>(given, injected);
}

/// What a diagnosis makes of the candidate, compared as a whole or, if `stage` is named, of that stage alone.
inline Finding judged(const TrainingCase& one, const Trace& reference, const Trace& candidate, bool in_float,
                      const std::string& stage = "") {
    Trace dump;
    for (const Stage& each : candidate.stages())
        if (stage.empty() || each.name == stage) dump.add(each);
    const Trace known = one.with_noise(reference);
    Finding finding = finding_of({known, dump, one.model, one.segments, Dialect::official}, reference);
    finding.where = one.name + (in_float ? ", float32" : ", float64");
    finding.in_float = in_float;
    finding.dump = stage.empty() ? "everything" : stage;
    return finding;
}

/// The case that a mistake is made in; `cases` holds ms_rtd and ms_sift.
inline const TrainingCase& case_of(const std::vector<TrainingCase>& cases, const Injection& injected) {
    return cases.at(injected.mistake == 54 ? 0 : 1);
}

/// Full dumps and dumps of single stages, in float and in double.
inline std::vector<Finding> try_training_mistake(const Injection& injected, const TrainingCase& one) {
    std::vector<Finding> findings;
    const auto add = [&](const Trace& reference, const Trace& candidate, bool in_float) {
        findings.push_back(judged(one, reference, candidate, in_float));
        for (const Stage& stage : candidate.stages())
            findings.push_back(judged(one, reference, candidate, in_float, stage.name));
    };
    add(one.recorded, run_training<float>(one, injected), true);
    add(one.exact, run_training<double>(one, injected), false);
    return findings;
}

/// Mistakes and their ways, by number.
using Ways = std::vector<std::pair<int, int>>;

/// A recorded case by its name; made once per process.
inline const Range& several_range(Family family, const std::string& name) {
    static std::map<Family, std::vector<Range>> all;
    if (!all.count(family)) all[family] = ranges_of(family);
    const auto found =
        std::find_if(all[family].begin(), all[family].end(), [&](const Range& range) { return range.name == name; });
    REQUIRE(found != all[family].end());
    return *found;
}

/// What a port dumps that makes all these mistakes.
template <class Scalar>
Trace port_with_all(const Range& range, const Ways& ways) {
    ToyOptions options;
    options.hugging_face = range.hugging_face;
    options.injected = {ways.front().first, ways.front().second, {ways.begin() + 1, ways.end()}};
    return run_toy<Scalar>(range.model_folder, range.segments, options);
}

/// What is found of a candidate beside the sharp values of a range, with its model and inputs.
inline CaseReport judged(const Range& range, const Trace& candidate) {
    TracePair pair;
    pair.reference = range.sharp;
    pair.candidate = candidate;
    pair.model = range.model;
    pair.segments = range.segments;
    return judge_pair(pair);
}

}  // namespace locus::conformance::toy
