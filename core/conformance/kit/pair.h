#pragma once
// Two traces of one pass, a reference and a candidate: which stage is the first wrong one, and which mistake is it?
// `locus check` prints what comes out, the Python package returns it.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cancel.h"
#include "core/compare.h"
#include "core/conformance/diagnosis/evidence.h"
#include "core/conformance/kit/token_labels.h"
#include "core/conformance/report/report.h"

namespace locus::conformance {

struct TracePair {
    TraceView reference, candidate;
    std::map<std::string, std::string> stored = {};  // dtype that each stage of the candidate came in, "F16"
    std::string reference_name = "the reference";    // for messages and the report: a file, mostly
    std::string candidate_name = "the candidate";
    std::shared_ptr<const ModelFolder> model = nullptr;                      // with it more stages can be explained
    std::vector<ModelInput> segments = {};                                   // what the pass was given; may be empty
    bool says_inputs = false;                                                // and would be read from the files
    RecordedTokens recorded = {};                                            // as the traces call their tokens
    Dialect dialect = Dialect::reference;                                    // that the reference is thought to follow
    std::optional<Tolerance> fixed = std::nullopt;                           // instead of what rounding explains
    double accuracy = 0;                                                     // of the reference, as compare has it
    CancelToken stop = {};                                                   // asked before every hypothesis
    std::function<void(std::size_t done, std::size_t of)> passes_done = {};  // as Evidence has it
    std::function<void(const StageVerdict&)> compared = {};  // called with each verdict as soon as it is known
};

/// What the model of a pair was given, by an input file as `locus trace --input` reads it; nothing for no file.
/// Throws Error(unreadable) for a damaged file.
std::vector<ModelInput> segments_of(const std::string& input_file, const ModelFolder& model);

/// Compares the pair and, where it differs, looks for the mistake behind the first stage that is wrong although what it
/// follows from is right.  `tell` is called with what is known before that search: verdicts and the first wrong stage.
/// Throws Error(usage) where the two have no stage in common, naming the nearest one; Cancelled.
CaseReport judge_pair(const TracePair& pair, const std::function<void(const CaseReport& so_far)>& tell = {});

/// The report as `locus check` prints it: a table of all stages, and what is known of the first wrong one.
std::string pair_text(const CaseReport& report, const std::optional<Tolerance>& fixed = std::nullopt);
/// Its beginning: the table, and the first wrong stage.  explanation_text() is the rest.
std::string pair_verdicts(const CaseReport& report, const std::optional<Tolerance>& fixed = std::nullopt);
/// The same as JSON: what report.h says of a case, and the tolerance.
std::string pair_json(const CaseReport& report, const std::optional<Tolerance>& fixed = std::nullopt);

}  // namespace locus::conformance
