#pragma once
// What the tokens around a wrong value are called: by pieces where a tokenizer or a trace says them, else by ids.
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/conformance/report/report.h"
#include "core/models/model.h"

namespace locus::conformance {

/// Names of the tokens of every sample, as the metadata of a trace keeps them.
struct RecordedTokens {
    std::vector<std::vector<std::string>> samples;
    bool in_words = false;  // "store", not "86"
};

/// "pieces" in the metadata of the reference, or of a candidate that names no other ids than it; else "tokens" of the
/// first that has them.  Nothing for what cannot be read: nobody asked for it.
RecordedTokens recorded_tokens(const std::string& reference_file, const std::string& candidate_file);

/// Names the tokens of the sample that the worst cell lies in: by the tokenizer of the folder, where there is one, from
/// the ids that the pass was given; else as they were recorded; else by these ids.
void name_tokens(ShownStage& shown, const StageVerdict& verdict, const std::vector<ModelInput>& segments,
                 const std::string& model_folder, const RecordedTokens& recorded = {});

}  // namespace locus::conformance
