#pragma once
// Which words a masked-word model has to guess.  spec 5.1; microsoft/DeBERTa mlm_task.py NGramMaskGenerator.
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/training/random.h"

namespace locus {

/// What masking has to know of every piece.
struct MaskingVocabulary {
    std::int64_t mask = 0;                // id of [MASK]
    std::vector<std::uint8_t> special;    // [V], 1: never a target
    std::vector<std::uint8_t> continues;  // [V], 1: belongs to the word of the piece before it
    std::vector<std::int64_t> ordinary;   // ids a target may be replaced by, ascending
};

/// Reads the pieces 0 ... vocab_size - 1.  Special are [CLS], [SEP], [MASK], [PAD], [UNK] and ids without a piece.  A
/// word begins with the mark of SentencePiece; a piece that is one punctuation character stands by itself.
/// Throws Error(unsupported) if the tokenizer has no [MASK] or no ordinary piece is left.
MaskingVocabulary masking_vocabulary(const Tokenizer& tokenizer, Index vocab_size);

struct MaskingRules {
    double share = 0.15;  // of the tokens are targets; the window is floor(1 / share) units
    Index max_gram = 1;   // units that may be masked in a row; above 1, the pieces of a word are one unit
    double mask = 0.8;    // of the targets become [MASK],
    double keep = 0.1;    // of them stay as they are, and the others become a random ordinary piece
    Index most = 80;      // targets of a sentence: ceil(512 share / 10) 10
};

/// The generator of replaced-token detection: single pieces, all of them [MASK].  rtd_task.py.
inline constexpr MaskingRules kGeneratorMasking{0.15, 1, 1.0, 0.0, 80};

/// Throws Error(usage) naming the field: share in (0, 1], mask and keep in [0, 1] with a sum up to 1, max_gram and most
/// at least 1.
void check_masking_rules(const MaskingRules& rules);

/// Walks through the units of one sentence: draws n in 1 ... max_gram with probability ~ 1/n, then a start in the next
/// n * window units, masks n units from there, and goes on behind the window.  Stops after the unit that brings the
/// targets to min(most, max(1, round(share T))), so that only the rest of a word can pass it.
/// tokens [T] are replaced; labels [T] receive the original id of a target and 0 elsewhere.
/// The official code draws a replacement from all pieces; here special ones are left out, so none appears by chance.
/// Throws Error(usage) for an id outside the vocabulary or sizes that differ.
void mask_ngrams(std::span<std::int64_t> tokens, std::span<std::int64_t> labels, const MaskingVocabulary& vocabulary,
                 const MaskingRules& rules, RandomStream& random);

}  // namespace locus
