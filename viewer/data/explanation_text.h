#pragma once
// A cell of rotary or of linear attention as text: what "copy as text" puts on the clipboard.  Every number is written
// so that it reads back with the same bits.
#include <string>

#include "core/attention/linear.h"
#include "core/attention/rotary.h"

namespace locus {

/// Who looks at whom, and where.
struct ExplainedPair {
    std::string place;       // "tiny-roformer, layer 1, head 2"
    std::string query, key;  // tokens
    Index m = 0, n = 0;      // their positions
};

/// theta [d/2]; `has_row`: the softmax steps belong to the sentence, otherwise they are left out.
std::string text_of(const RotaryExplanation<float>& cell, const ExplainedPair& pair, const std::vector<double>& theta,
                    bool has_row);
/// words: one per key.
std::string text_of(const LinearExplanation<float>& cell, const ExplainedPair& pair,
                    const std::vector<std::string>& words);

}  // namespace locus
