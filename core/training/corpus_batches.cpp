#include "core/training/corpus_batches.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/text/corpus/corpus_text.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/unicode.h"
#include "core/training/random.h"

namespace locus {

namespace {

constexpr std::size_t kLongestText = 1 << 16;  // bytes given to the tokenizer at once

bool ends_sentence(const std::string& piece) {
    for (const char* mark : {".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f"})
        if (piece.ends_with(mark)) return true;
    return false;
}

bool starts_word(const std::string& piece) {
    return piece.starts_with("\u2581") || piece.starts_with("\u0120") || piece.starts_with(" ");
}

/// Where the pieces [from, ...) are cut so that at most `room` come in front.
std::size_t cut_after(const std::vector<std::string>& pieces, std::size_t from, std::size_t end, std::size_t room) {
    if (end - from <= room) return end;
    for (std::size_t cut = from + room; cut > from; --cut)
        if (ends_sentence(pieces[cut - 1])) return cut;
    for (std::size_t cut = from + room; cut > from; --cut)
        if (starts_word(pieces[cut])) return cut;
    return from + room;
}

/// Is there a piece that is neither special nor unknown nor the bare mark of a word?
bool knows_a_piece(const Tokens& tokens, const Tokenizer& tokenizer, std::size_t from, std::size_t end) {
    const std::set<std::string> empty = {"[UNK]", "<unk>", "\u2581", "\u0120"};
    for (std::size_t t = from; t < end; ++t)
        if (!tokens.special[t] && !empty.contains(tokenizer.piece(tokens.ids[t]))) return true;
    return false;
}

/// Adds the sentences of one text, each with the frame that the tokenizer put around the whole.
void add_text(const std::string& text, const Tokenizer& tokenizer, std::size_t max_length, TokenSentences& sentences) {
    const Tokens tokens = tokenizer.encode(text);
    const auto [front, back] = tokenizer.frame();
    const std::size_t room = max_length - front - back, last = tokens.ids.size() - back;
    for (std::size_t from = front; from < last;) {
        const std::size_t end = cut_after(tokens.pieces, from, last, room);
        std::vector<std::int64_t> ids(tokens.ids.begin(), tokens.ids.begin() + static_cast<std::ptrdiff_t>(front));
        const auto place = [&](std::size_t t) { return tokens.ids.begin() + static_cast<std::ptrdiff_t>(t); };
        ids.insert(ids.end(), place(from), place(end));
        ids.insert(ids.end(), place(last), tokens.ids.end());
        if (knows_a_piece(tokens, tokenizer, from, end)) sentences.add(ids);
        from = end;
    }
}

}  // namespace

void TokenSentences::add(std::span<const std::int64_t> ids) {
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
    starts_.push_back(tokens_.size());
}

std::span<const std::int64_t> TokenSentences::at(Index sentence) const {
    const std::size_t begin = starts_.at(static_cast<std::size_t>(sentence));
    return {tokens_.data() + begin, starts_.at(static_cast<std::size_t>(sentence) + 1) - begin};
}

TokenSentences read_token_sentences(const std::filesystem::path& corpus, const Tokenizer& tokenizer, Index max_length) {
    const auto [front, back] = tokenizer.frame();
    LOCUS_CHECK(max_length > static_cast<Index>(front + back), "sentences of at most " + std::to_string(max_length) +
                                                                   " tokens were asked for, expected more than the " +
                                                                   std::to_string(front + back) +
                                                                   " special ones around a sentence");
    const std::string text = read_corpus_text(corpus);
    TokenSentences sentences;
    for (const std::string_view line : short_lines(text, kLongestText)) {
        const Index before = sentences.count();
        add_text(std::string(line), tokenizer, static_cast<std::size_t>(max_length), sentences);
        sentences.count_cuts(std::max<Index>(0, sentences.count() - before - 1));
    }
    if (sentences.count() == 0)
        throw Error(
            Fault::unreadable,
            corpus.string() +
                ": holds no word that its tokenizer knows, special pieces aside, expected sentences to learn from");
    return sentences;
}

CorpusSplit split_corpus(Index count, double share, std::uint64_t seed) {
    LOCUS_CHECK(share >= 0 && share < 1,
                "a share of " + std::to_string(share) + " was to be held out, expected at least 0 and less than 1");
    std::vector<Index> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), Index{0});
    RandomStream(seed, stream_of(RandomUse::heldout)).shuffle(all);
    const Index wished = static_cast<Index>(std::llround(share * static_cast<double>(count)));
    const auto middle = all.begin() + std::max<Index>(0, std::min(wished, count - 1));
    CorpusSplit split{{middle, all.end()}, {all.begin(), middle}};
    std::sort(split.learn.begin(), split.learn.end());
    std::sort(split.heldout.begin(), split.heldout.end());
    return split;
}

namespace {

constexpr char kWordMark[] = "\u2581";

bool is_punctuation(const std::string& piece) {
    if (piece.empty()) return false;
    std::size_t at = 0;
    const char32_t character = next_character(piece, at);
    return at == piece.size() && is_bert_punctuation(character);
}

/// Places of the tokens that are masked together, in order.
using Unit = std::vector<std::size_t>;

std::vector<Unit> units_of(std::span<const std::int64_t> tokens, const MaskingVocabulary& vocabulary,
                           bool whole_words) {
    std::vector<Unit> units;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
        const auto id = static_cast<std::size_t>(tokens[t]);
        LOCUS_CHECK(tokens[t] >= 0 && id < vocabulary.special.size(),
                    "masking: the sentence holds id " + std::to_string(tokens[t]) + ", expected one from 0 to " +
                        std::to_string(vocabulary.special.size()) + " - 1");
        if (vocabulary.special[id]) continue;
        if (whole_words && !units.empty() && vocabulary.continues[id])
            units.back().push_back(t);
        else
            units.push_back({t});
    }
    return units;
}

/// n in 1 ... most with probability ~ 1/n.
std::size_t draw_gram(Index most, RandomStream& random) {
    if (most == 1) return 1;
    double total = 0;
    for (Index n = 1; n <= most; ++n) total += 1.0 / static_cast<double>(n);
    double left = random.uniform() * total;
    for (Index n = 1; n < most; ++n)
        if ((left -= 1.0 / static_cast<double>(n)) < 0) return static_cast<std::size_t>(n);
    return static_cast<std::size_t>(most);
}

std::vector<std::uint8_t> chosen_units(std::size_t count, const MaskingRules& rules, RandomStream& random) {
    std::vector<std::uint8_t> chosen(count);
    const auto window = static_cast<std::size_t>(1 / rules.share);
    for (std::size_t offset = 0; offset < count;) {
        const std::size_t n = draw_gram(rules.max_gram, random);
        const std::size_t context = std::min(n * window, count - offset);
        const std::size_t start = offset + static_cast<std::size_t>(random.next_below(context));
        const std::size_t end = std::min(start + n, count);
        std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(start),
                  chosen.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{1});
        offset = std::max(offset + context, end);
    }
    return chosen;
}

std::int64_t replacement(std::int64_t id, const MaskingVocabulary& vocabulary, const MaskingRules& rules,
                         RandomStream& random) {
    const double draw = random.uniform();
    if (draw < rules.mask) return vocabulary.mask;
    if (draw < rules.mask + rules.keep) return id;
    return vocabulary.ordinary[static_cast<std::size_t>(random.next_below(vocabulary.ordinary.size()))];
}

}  // namespace

MaskingVocabulary masking_vocabulary(const Tokenizer& tokenizer, Index vocab_size) {
    const auto mask = tokenizer.mask_id();
    if (!mask || *mask >= vocab_size)
        throw Error(Fault::unsupported, "masking: the tokenizer has no [MASK] below vocab_size " +
                                            std::to_string(vocab_size) + ", which masked words need");
    const std::set<std::string> specials = {"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"};
    MaskingVocabulary vocabulary;
    vocabulary.mask = *mask;
    for (std::int64_t id = 0; id < vocab_size; ++id) {
        const std::string piece = tokenizer.piece(id);
        const bool special = specials.contains(piece) || piece == "<" + std::to_string(id) + ">";
        vocabulary.special.push_back(special);
        vocabulary.continues.push_back(!special && !piece.starts_with(kWordMark) && !is_punctuation(piece));
        if (!special) vocabulary.ordinary.push_back(id);
    }
    if (vocabulary.ordinary.empty())
        throw Error(Fault::unsupported, "masking: the tokenizer has special pieces only, expected words");
    return vocabulary;
}

void check_masking_rules(const MaskingRules& rules) {
    LOCUS_CHECK(rules.share > 0 && rules.share <= 1,
                "masking: share is " + std::to_string(rules.share) + ", expected above 0 and at most 1");
    LOCUS_CHECK(rules.mask >= 0 && rules.keep >= 0 && rules.mask + rules.keep <= 1 + 1e-12,
                "masking: mask is " + std::to_string(rules.mask) + " and keep " + std::to_string(rules.keep) +
                    ", expected shares from 0 to 1 with a sum up to 1");
    LOCUS_CHECK(
        rules.max_gram >= 1 && rules.max_gram <= kMostGram,
        "masking: max_gram is " + std::to_string(rules.max_gram) + ", expected 1 to " + std::to_string(kMostGram));
    LOCUS_CHECK(rules.most >= 1, "masking: most is " + std::to_string(rules.most) + ", expected at least 1");
}

void mask_ngrams(std::span<std::int64_t> tokens, std::span<std::int64_t> labels, const MaskingVocabulary& vocabulary,
                 const MaskingRules& rules, RandomStream& random) {
    check_masking_rules(rules);
    LOCUS_CHECK(labels.size() == tokens.size(), "masking: there are " + std::to_string(labels.size()) +
                                                    " labels, expected " + std::to_string(tokens.size()) +
                                                    " like tokens");
    std::fill(labels.begin(), labels.end(), 0);
    const std::vector<Unit> units = units_of(tokens, vocabulary, rules.max_gram > 1);
    const std::vector<std::uint8_t> chosen = chosen_units(units.size(), rules, random);
    // Halves go to the even neighbour, as Python rounds.
    const auto wished = static_cast<Index>(std::nearbyint(rules.share * static_cast<double>(tokens.size())));
    const Index most = std::min(rules.most, std::max<Index>(1, wished));
    Index targets = 0;
    for (std::size_t u = 0; u < units.size() && targets < most; ++u) {
        if (!chosen[u]) continue;
        for (const std::size_t t : units[u]) {
            labels[t] = tokens[t];
            tokens[t] = replacement(tokens[t], vocabulary, rules, random);
            ++targets;
        }
    }
}

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
    const BatchPlace before = place_;
    plan_epoch(place.epoch);
    const std::size_t count = plan_.size();
    if (place.batch < count) {
        place_ = place;
        return;
    }
    plan_epoch(before.epoch);
    place_ = before;
    throw Error(Fault::usage, "batches: the training was at batch " + std::to_string(place.batch) + " of epoch " +
                                  std::to_string(place.epoch) + ", which has " + std::to_string(count) +
                                  "; it was begun with another corpus or other options");
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
