#pragma once
// From a text file to sentences of token ids.
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/training/batch.h"
#include "core/training/random.h"

namespace locus {

/// Sentences of uneven length, one after the other, each with the special pieces of its tokenizer around it.
class TokenSentences {
public:
    void add(std::span<const std::int64_t> ids);
    Index count() const { return static_cast<Index>(starts_.size()) - 1; }
    std::span<const std::int64_t> at(Index sentence) const;
    Index length(Index sentence) const { return static_cast<Index>(at(sentence).size()); }
    /// How many of them begin in the middle of a line, because the line was too long.
    Index cuts() const { return cuts_; }
    void count_cuts(Index more) { cuts_ += more; }

private:
    std::vector<std::int64_t> tokens_;
    std::vector<std::size_t> starts_ = {0};
    Index cuts_ = 0;
};

/// One sentence a line, in the order of the file.  A line of more than max_length tokens, special ones included, is cut
/// after the last sentence that fits, or else before a word, or else where it must be.  Lines without a known
/// piece are left out.
/// Throws what read_corpus_text() throws, Error(usage) for a max_length without room for a word, and Error(unreadable)
/// if every piece is unknown to the tokenizer.
TokenSentences read_token_sentences(const std::filesystem::path& corpus, const Tokenizer& tokenizer, Index max_length);

/// Sentences to learn from, and those held out to judge by; both ascending.
struct CorpusSplit {
    std::vector<Index> learn, heldout;
};
/// Holds out round(share * count) sentences drawn at random, but leaves at least one to learn from.
/// Throws Error(usage) unless 0 <= share < 1.
CorpusSplit split_corpus(Index count, double share, std::uint64_t seed);

// Which words a masked-word model has to guess.  microsoft/DeBERTa mlm_task.py NGramMaskGenerator.

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

/// Units that may be masked in a row at most.
inline constexpr Index kMostGram = 100;

struct MaskingRules {
    double share = 0.15;  // of the tokens are targets; the window is floor(1 / share) units
    Index max_gram = 1;   // units that may be masked in a row; above 1, the pieces of a word are one unit
    double mask = 0.8;    // of the targets become [MASK],
    double keep = 0.1;    // of them stay as they are, and the others become a random ordinary piece
    Index most = 80;      // targets of a sentence: 10 * ceil(512 * share / 10)
};

/// The generator of replaced-token detection: single pieces, all of them [MASK].  rtd_task.py.
inline constexpr MaskingRules kGeneratorMasking{0.15, 1, 1.0, 0.0, 80};

/// Throws Error(usage) naming the field: share in (0, 1], mask and keep in [0, 1] with a sum up to 1, max_gram from 1
/// to kMostGram, most at least 1.
void check_masking_rules(const MaskingRules& rules);

/// Walks through the units of one sentence: draws n in 1 ... max_gram with probability ~ 1/n, then a start in the next
/// n * window units, masks n units from there, and goes on after the window.  Stops after the unit that brings the
/// targets to min(most, max(1, round(share T))), so that only the rest of a word can pass it.
/// tokens [T] are replaced; labels [T] receive the original id of a target and 0 elsewhere.
/// The official code draws a replacement from all pieces; here special ones are left out, so none appears by chance.
/// Throws Error(usage) for an id outside the vocabulary or sizes that differ.
void mask_ngrams(std::span<std::int64_t> tokens, std::span<std::int64_t> labels, const MaskingVocabulary& vocabulary,
                 const MaskingRules& rules, RandomStream& random);

// The batches of a training: every sentence once an epoch, in another order and masked anew each time.

struct BatchRules {
    Index batch_tokens = 2048;  // a batch ends before the sentence that would pass this; it has at least one
    Index window = 512;         // sentences in a row that are sorted by length, so that a batch has similar ones
    MaskingRules masking;
    std::uint64_t seed = 1;
};

/// Where a training stands in its corpus; all that a checkpoint needs to go on with the very next batch.
struct BatchPlace {
    std::uint64_t epoch = 0, batch = 0;
    bool operator==(const BatchPlace&) const = default;
};

/// Order and masks are functions of the seed, the epoch and the sentence alone.
class BatchReader {
public:
    /// The sentences named by `places`; both are referred to, not copied.
    /// Throws Error(usage) if there are none, or naming the rule that makes no sense.
    BatchReader(const TokenSentences& sentences, const std::vector<Index>& places, const MaskingVocabulary& vocabulary,
                const BatchRules& rules);

    /// The batch at place(), which moves on; after the last one of an epoch the next begins.
    PackedBatch next();

    BatchPlace place() const { return place_; }
    /// Goes on from there.  Throws Error(usage) if the epoch has no such batch, as with another corpus or other rules.
    void resume(const BatchPlace& place);
    Index batches_in_epoch() const { return static_cast<Index>(plan_.size()); }

private:
    void plan_epoch(std::uint64_t epoch);

    const TokenSentences& sentences_;
    const std::vector<Index>& places_;
    const MaskingVocabulary& vocabulary_;
    BatchRules rules_;
    BatchPlace place_;
    std::vector<std::vector<Index>> plan_;  // the sentences of each batch of the epoch
};

/// Batches to judge by: sentences sorted by length, and masks that are the same every time.  Throws as above, except
/// that no sentences give no batches.
std::vector<PackedBatch> fixed_batches(const TokenSentences& sentences, const std::vector<Index>& places,
                                       const MaskingVocabulary& vocabulary, const BatchRules& rules);

}  // namespace locus
