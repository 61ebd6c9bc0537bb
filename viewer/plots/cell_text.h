#pragma once
// One cell of attention as text, to be pasted elsewhere: the steps from the offset i - j to a table row, then the cell
// of each scheme (disentangled, rotary, linear, relative).  Every number reads back with the same bits.
#include <string>
#include <vector>

#include "core/attention/disentangled.h"
#include "core/attention/linear.h"
#include "core/attention/relative.h"
#include "core/attention/rotary.h"
#include "core/models/deberta_config.h"
#include "core/positions/relative_buckets.h"

namespace locus {

/// How a model turns offsets into rows.
struct TableRule {
    Index buckets = 0;   // 0: offsets are only clamped
    Index span = 0;      // k; the table has 2k rows
    Index farthest = 0;  // where the logarithm ends
    OffsetClamp clamp = OffsetClamp::official;

    static TableRule of(const DebertaConfig& config, OffsetClamp clamp);
};

/// "bucket (|i−j| ≤ 16: itself)" and the number that comes out.
struct TableStep {
    std::string label;
    Index value = 0;
    std::string why = {};  // a sentence before it, where the label alone is a formula
};

/// The first step is i - j, the last one the row.
std::vector<TableStep> table_steps(const TableRule& rule, Index offset);

/// Nine significant digits, which tell any two float32 apart; a plain minus sign.
std::string exact_text(float value);

/// What the text says about the cell beside its replay.
struct CellText {
    std::string where;                // "tiny-v3, layer 2, head 3, dialect official"
    std::vector<std::string> tokens;  // [T]
    std::vector<float> scores;        // of row i, [T]
    std::vector<bool> visible;        // of row i, [T]; empty: everything
    std::vector<TableStep> steps;     // empty where no table is looked up
    bool softmax_follows = true;      // false: heads are mixed first, so the row's softmax is not of these scores
};

/// Lines that end with \n.  Numbers are those of exact_text.
std::string cell_text(const CellExplanation<float>& cell, const CellText& about);

/// 0 c2c, 1 c2p, 2 p2c.
const TermExplanation<float>& term_of(const CellExplanation<float>& cell, int term);
bool is_kept(const CellExplanation<float>& cell, int term);

/// Why a pair that the mask hides has its probability: 0, or the same for every key where the dialect fills the row of
/// a query without visible keys.
std::string hidden_pair_sentence(const CellExplanation<float>& cell);

/// Who looks at whom, and where.
struct ExplainedPair {
    std::string place;       // "tiny-roformer, layer 1, head 2"
    std::string query, key;  // tokens
    Index m = 0, n = 0;      // their positions
};

/// A cell of rotary attention.  theta [d/2]; `has_row`: the softmax steps belong to the sentence, otherwise they are
/// left out.
std::string cell_text(const RotaryExplanation<float>& cell, const ExplainedPair& pair, const std::vector<double>& theta,
                      bool has_row);
/// A cell of linear attention.  words: one per key.
std::string cell_text(const LinearExplanation<float>& cell, const ExplainedPair& pair,
                      const std::vector<std::string>& words);

/// Which scheme's letters are used.
enum class RelativeScheme { transformer_xl, xlnet };

/// One term with its names: "b", "q·r", "(q_i + v) · r".
struct NamedTerm {
    const char* letter;
    const char* product;
    const char* left;  // what the two vectors are
    const char* right;
    const TermExplanation<float>* term;
};
/// a b c d and the two that the code adds (ac, bd), or ac, bd and, where the model has types, ef.
std::vector<NamedTerm> named_terms(const RelativeCellExplanation<float>& cell, RelativeScheme scheme);

/// Who is meant by the cell.
struct CellNames {
    std::string model, place;  // "tiny-txl", "layer 0, head 0, content stream"
    std::string query, key;    // words
    std::string hidden;        // why the mask hides the pair; empty: it does not, or the reason is not known
};

/// Lines of text: every term channel by channel with products and running sums, the row and where it stood before the
/// shift, the scale and the steps of the softmax.  Nine significant digits: a float reads back as itself.
/// `shift`: where the number of bd stood in the matrix that is not yet shifted.
std::string cell_text(const RelativeCellExplanation<float>& cell, RelativeScheme scheme, const CellNames& names,
                      const ShiftSource& shift);

}  // namespace locus
