#pragma once
// Slips of replaced-token detection and SiFT, tried on the two recorded cases.
#include "core/io/checkpoint.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/toy_training.h"
#include "tests/conformance/training_case.h"

namespace locus::conformance::toy {

/// The port with this slip (mistake 0: none) on a case, in double or in float.
template <class Scalar>
Trace run_training(const TrainingCase& one, const Slip& slip) {
    TrainingGiven given;
    given.config = one.model->deberta->config();
    given.weights = one.model->source.get();
    given.input = &one.segments.front();
    given.tensors = &one.inputs;
    if (one.name == "ms_rtd") return toy_rtd<Scalar>(given, slip);
    given.answers = std::is_same_v<Scalar, double> ? &one.exact : &one.recorded;
    given.sigma = one.json["probes"]["sigma"].get<double>();
    given.learning_rate = one.json["probes"]["learning_rate"].get<double>();
    return toy_sift<Scalar>(given, slip);
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

/// The case that a slip is made in; `cases` holds ms_rtd and ms_sift.
inline const TrainingCase& case_of(const std::vector<TrainingCase>& cases, const Slip& slip) {
    return cases.at(slip.mistake == 54 ? 0 : 1);
}

/// Full dumps and dumps of single stages, in float and in double.
inline std::vector<Finding> try_training_slip(const Slip& slip, const TrainingCase& one) {
    std::vector<Finding> findings;
    const auto add = [&](const Trace& reference, const Trace& candidate, bool in_float) {
        findings.push_back(judged(one, reference, candidate, in_float));
        for (const Stage& stage : candidate.stages())
            findings.push_back(judged(one, reference, candidate, in_float, stage.name));
    };
    add(one.recorded, run_training<float>(one, slip), true);
    add(one.exact, run_training<double>(one, slip), false);
    return findings;
}

}  // namespace locus::conformance::toy
