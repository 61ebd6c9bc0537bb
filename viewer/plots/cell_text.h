#pragma once
// The microscope as text: every number of one cell, to be pasted somewhere else.
#include <string>
#include <vector>

#include "core/attention/microscope.h"
#include "viewer/plots/bucket_steps.h"

namespace locus {

/// What the text says about the cell beside its replay.
struct CellText {
    std::string where;                // "tiny-v3, layer 2, head 3, dialect official"
    std::vector<std::string> tokens;  // [T]
    std::vector<float> scores;        // of row i, [T]
    std::vector<bool> visible;        // of row i, [T]; empty: everything
    std::vector<TableStep> steps;     // empty where no table is looked up
    bool softmax_follows = true;      // false: heads are mixed first, so the row's softmax is not of these scores
};

/// Right-aligned in so many columns.
std::string padded(const std::string& text, std::size_t width);
/// "score                       1.5\\n": values begin in one column.
std::string cell_text_line(const std::string& label, const std::string& value);

/// Lines that end with \n.  Numbers have nine significant digits, so that every float32 reads back as it was.
std::string cell_text(const CellExplanation<float>& cell, const CellText& about);

/// 0 c2c, 1 c2p, 2 p2c.
const TermExplanation<float>& term_of(const CellExplanation<float>& cell, int term);
bool is_kept(const CellExplanation<float>& cell, int term);

/// Why a pair that the mask hides has its probability: 0, or the same for every key where the dialect fills the row of
/// a query without visible keys.
std::string hidden_pair_sentence(const CellExplanation<float>& cell);

}  // namespace locus
