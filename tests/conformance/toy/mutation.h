#pragma once
// A mistake, made on every recorded case, compared and diagnosed.
#include <memory>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/diagnosis/diagnosis.h"
#include "core/conformance/kit/cases.h"
#include "tests/conformance/toy/injected_mistakes.h"

namespace locus::conformance::toy {

/// The stages that these patterns, as --stages has them, name.
Trace only(const Trace& all, const std::string& globs);

/// A recorded case with everything that a run and a judgement need.
struct Range {
    std::string name, model_folder;
    bool hugging_face = false;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
    Trace recorded;  // by other people's code
    Trace sharp;     // the same known to 1e-11 or better, for ports in double; by Locus where no other code is as sharp
    /// Hundreds of times as many pairs as in most other cases.
    bool is_long() const { return segments.front().length() > 100; }
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
    bool unwritten = false;  // the first wrong stage is a gradient that is 0 everywhere, which gets no name
};

/// The first stage of the evidence's candidate that is not as in `reference`, and the name of its mistake.
Finding finding_of(const Evidence& evidence, const Trace& reference);

/// The port with a mistake on a case, in float and in double; full and partial dumps.
/// Partial dumps are tried only if `partial`.
std::vector<Finding> try_mistake(const Injection& injected, const Range& range, bool partial);

/// Whether a name given for a mistake is right: the number, or a documented equivalent.
bool names(int named, const Injection& injected);

// A mistake of a backward pass, made on every recorded gradient case, compared and diagnosed.

/// A gradient case with everything that a run and a judgement need.
struct GradientRange {
    CaseContent content;
    Trace known;  // inputs and reference
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};
/// `oracle`: the folder of recorded cases.
std::vector<GradientRange> gradient_ranges(const std::filesystem::path& oracle);

/// The backward pass with a mistake on a case, in float or double; {}: the right one.  Of a whole model with the
/// forward pass before it.
template <class Scalar>
Trace run_backward(const GradientRange& range, const Injection& injected);

/// The same compared and diagnosed, in float and in double; full and partial dumps.
std::vector<Finding> try_gradient_mistake(const Injection& injected, const GradientRange& range);

extern template Trace run_backward<float>(const GradientRange&, const Injection&);
extern template Trace run_backward<double>(const GradientRange&, const Injection&);

// The table of core/conformance/README.md: mistake, who made it, what caught it, whether it was named.

/// "| 1 | p2c reads delta(j,i) | hf_deberta_v1, float32 | `layer.0.p2c` | yes |": of the findings the one that says
/// most, which is the right name, else a documented equivalent, else that something is red.  Throws Error(usage) if
/// there are no findings.
std::string table_row(const Injection& injected, const std::string& what, const std::string& no_name,
                      const std::vector<Finding>& all);
std::string table_row(const InjectedMistake& known, const std::vector<Finding>& all);

/// The rows that stand in the page, and the sum below them.
struct PrintedTable {
    std::vector<std::string> rows;
    std::string sum;
};
/// Throws Error(unreadable) if the page has no table.
const PrintedTable& printed_table();

/// Fails the running test unless the page has the row.
void check_row(const std::string& row);

}  // namespace locus::conformance::toy
