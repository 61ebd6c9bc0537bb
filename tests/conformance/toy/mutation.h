#pragma once
// A slip, made on every recorded case, compared and diagnosed.
#include <memory>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/diagnosis/diagnosis.h"
#include "tests/conformance/toy/injected_mistakes.h"

namespace locus::conformance::toy {

/// A recorded case with everything that a run and a judgement need.
struct Range {
    std::string name, model_folder;
    bool hugging_face = false;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
    Trace recorded;  // by other people's code
    Trace sharp;     // the same known to 1e-11 or better, for ports in double; by Locus where nobody else is as sharp
};

/// What one run of a mutated port came to.
struct Finding {
    std::string where;  // "ms_deberta_v3_emd, float64"
    bool in_float = false;
    std::string dump;     // "everything", "scores", ...
    std::string first;    // first wrong stage; empty if nothing is red
    int named = 0;        // 0: no name
    double residual = 0;  // of the name
    std::vector<int> equivalent;
};

/// The first stage of the evidence's candidate that is not as in `reference`, and the name of its mistake.
Finding finding_of(const Evidence& evidence, const Trace& reference);

/// The port with a slip on a case, in float and in double; full and partial dumps.
/// Partial dumps are tried only if `partial`.
std::vector<Finding> try_slip(const Slip& slip, const Range& range, bool partial);

/// Whether a name given for a slip is right: the number, or a documented equivalent.
bool names(int named, const Slip& slip);

}  // namespace locus::conformance::toy
