#pragma once
// The batches of a training: every sentence once an epoch, in another order and masked anew each time.
#include <cstdint>
#include <vector>

#include "core/training/batch.h"
#include "core/training/corpus_reader.h"
#include "core/training/ngram_masking.h"

namespace locus {

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

    /// The batch at place(), which moves on; behind the last one of an epoch the next begins.
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
