#pragma once
// A cell of a stage as a report names it, with the words of its tokens where they are known.
#include <string>
#include <vector>

#include "core/conformance/report/report.h"

namespace locus::conformance {

/// "[b0 h2 q5 'mat' k1 'the']" from the axes and an index; "[b0 h2 q5 k1]" where nobody knows the words, or an axis is
/// not as long as the text, as the keys of a segment with memory are not.
std::string place_in_words(const ShownStage& stage, const std::vector<Index>& index);

}  // namespace locus::conformance
