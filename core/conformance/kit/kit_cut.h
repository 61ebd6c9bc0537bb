#pragma once
// A part of a whole recorded case: what is given and what must follow from it.
#include "core/conformance/kit/kit_content.h"

namespace locus::conformance {

/// What to take from a whole case.  Names begin behind `scope`, or are whole behind a slash.
struct Cut {
    std::string name, from, scope;
    std::vector<std::string> inputs, outputs;  // outputs empty: every stage of the scope that is not an input
    std::vector<std::pair<std::string, std::string>> weights;  // name among the inputs, name in the checkpoint
    nlohmann::ordered_json config;
    std::string why;
};

/// Cuts a case of a level out of the whole ones.  Throws Error(usage) for a case, a stage or a weight that is not
/// there.
CaseContent cut_case(const std::vector<CaseContent>& whole, const Cut& cut, const std::string& level, bool with_model);

}  // namespace locus::conformance
