#include "core/training/batch_reader.h"

#include <algorithm>
#include <span>
#include <string>

namespace locus {

namespace {

void check_rules(const BatchRules& rules) {
    LOCUS_CHECK(rules.batch_tokens >= 1,
                "batches: batch_tokens is " + std::to_string(rules.batch_tokens) + ", expected at least 1");
    LOCUS_CHECK(rules.window >= 1, "batches: window is " + std::to_string(rules.window) + ", expected at least 1");
    check_masking_rules(rules.masking);
}

using Batches = std::vector<std::vector<Index>>;

/// Sorts by length and cuts into batches.
Batches similar_lengths(std::vector<Index> chosen, const TokenSentences& sentences, Index batch_tokens) {
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](Index a, Index b) { return sentences.length(a) < sentences.length(b); });
    Batches batches;
    Index tokens = 0;
    for (const Index sentence : chosen) {
        const Index length = sentences.length(sentence);
        if (batches.empty() || tokens + length > batch_tokens) {
            batches.emplace_back();
            tokens = 0;
        }
        batches.back().push_back(sentence);
        tokens += length;
    }
    return batches;
}

/// The masks of sentence n in round `round` are those of the stream (use, round, n).
PackedBatch masked_batch(const std::vector<Index>& chosen, const TokenSentences& sentences,
                         const MaskingVocabulary& vocabulary, const BatchRules& rules, RandomUse use,
                         std::uint64_t round) {
    PackedBatch batch;
    batch.starts = {0};
    for (const Index sentence : chosen) {
        const auto ids = sentences.at(sentence);
        batch.tokens.insert(batch.tokens.end(), ids.begin(), ids.end());
        batch.starts.push_back(batch.rows());
    }
    batch.labels.resize(batch.tokens.size());
    for (std::size_t b = 0; b < chosen.size(); ++b) {
        RandomStream random(rules.seed, stream_of(use, round, static_cast<std::uint32_t>(chosen[b])));
        const auto first = static_cast<std::size_t>(batch.starts[b]);
        const auto length = static_cast<std::size_t>(batch.length(static_cast<Index>(b)));
        mask_ngrams(std::span(batch.tokens).subspan(first, length), std::span(batch.labels).subspan(first, length),
                    vocabulary, rules.masking, random);
    }
    return batch;
}

}  // namespace

BatchReader::BatchReader(const TokenSentences& sentences, const std::vector<Index>& places,
                         const MaskingVocabulary& vocabulary, const BatchRules& rules)
    : sentences_(sentences), places_(places), vocabulary_(vocabulary), rules_(rules) {
    check_rules(rules);
    LOCUS_CHECK(!places.empty(), "batches: there is no sentence to learn from");
    plan_epoch(0);
}

void BatchReader::plan_epoch(std::uint64_t epoch) {
    RandomStream random(rules_.seed, stream_of(RandomUse::order, epoch));
    std::vector<Index> order = places_;
    random.shuffle(order);
    plan_.clear();
    for (auto at = order.begin(); at != order.end();) {
        const auto end = at + std::min<std::ptrdiff_t>(rules_.window, order.end() - at);
        for (auto& batch : similar_lengths({at, end}, sentences_, rules_.batch_tokens))
            plan_.push_back(std::move(batch));
        at = end;
    }
    random.shuffle(plan_);
    place_ = {epoch, 0};
}

PackedBatch BatchReader::next() {
    PackedBatch batch = masked_batch(plan_[static_cast<std::size_t>(place_.batch)], sentences_, vocabulary_, rules_,
                                     RandomUse::masks, place_.epoch);
    if (++place_.batch == plan_.size()) plan_epoch(place_.epoch + 1);
    return batch;
}

void BatchReader::resume(const BatchPlace& place) {
    plan_epoch(place.epoch);
    LOCUS_CHECK(place.batch < plan_.size(), "batches: the training was at batch " + std::to_string(place.batch) +
                                                " of epoch " + std::to_string(place.epoch) + ", which has " +
                                                std::to_string(plan_.size()) +
                                                "; it was begun with another corpus or other options");
    place_ = place;
}

std::vector<PackedBatch> fixed_batches(const TokenSentences& sentences, const std::vector<Index>& places,
                                       const MaskingVocabulary& vocabulary, const BatchRules& rules) {
    check_rules(rules);
    std::vector<PackedBatch> batches;
    for (const auto& chosen : similar_lengths(places, sentences, rules.batch_tokens))
        batches.push_back(masked_batch(chosen, sentences, vocabulary, rules, RandomUse::heldout_masks, 0));
    return batches;
}

}  // namespace locus
