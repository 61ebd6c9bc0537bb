#pragma once
// The line at the bottom: the equation of the cell with its numbers.
#include "core/attention/disentangled.h"
#include "viewer/page.h"

namespace locus {

/// A_{3,5} = ( q·k −12.08 + q·kʳ 61.11 + k·qʳ 7.25 ) / √96 = 5.744
void draw_score_formula(const Scene& scene, const Rect& bar, const CellExplanation<float>& cell);

/// A sentence at the right end, muted.
void draw_bar_note(const Scene& scene, const Rect& bar, const std::string& sentence, float left_end);

}  // namespace locus
