#pragma once
// One cell of relative attention in words and numbers that can be read back to the last bit.
#include <string>
#include <vector>

#include "core/attention/relative.h"

namespace locus {

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
    std::string hidden;        // why the mask hides the pair; empty: it does not, or nobody says
};

/// Lines of text: every term channel by channel with products and running sums, the row and where it stood before the
/// shift, the scale and the steps of the softmax.  Nine significant digits: a float reads back as itself.
/// `shift`: where the number of bd stood in the matrix that is not yet shifted.
std::string cell_text(const RelativeCellExplanation<float>& cell, RelativeScheme scheme, const CellNames& names,
                      const ShiftSource& shift);

/// Nine significant digits, a plain minus sign.
std::string exact_text(float value);

}  // namespace locus
