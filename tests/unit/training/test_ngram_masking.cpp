// Which words a masked-word model has to guess.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "core/training/corpus_batches.h"
#include "tests/files.h"

namespace locus::test::test_ngram_masking {

using locus::test::refusal;

namespace {

constexpr std::int64_t kPieces = 300, kMask = kPieces - 1;

/// 0 ... 3 are special, and [MASK] is the last; of the others, every id that 3 divides begins a word.
MaskingVocabulary toy_vocabulary() {
    MaskingVocabulary vocabulary;
    vocabulary.mask = kMask;
    for (std::int64_t id = 0; id < kPieces; ++id) {
        const bool special = id < 4 || id == kMask;
        vocabulary.special.push_back(special);
        vocabulary.continues.push_back(!special && id % 3 != 0);
        if (!special) vocabulary.ordinary.push_back(id);
    }
    return vocabulary;
}

struct Masked {
    std::vector<std::int64_t> before, tokens, labels;
    Index targets() const {
        return static_cast<Index>(std::count_if(labels.begin(), labels.end(), [](auto id) { return id != 0; }));
    }
};

Masked mask(std::vector<std::int64_t> sentence, const MaskingRules& rules, RandomStream& random) {
    Masked masked{sentence, sentence, std::vector<std::int64_t>(sentence.size(), -1)};
    mask_ngrams(masked.tokens, masked.labels, toy_vocabulary(), rules, random);
    return masked;
}

/// [CLS], `words` ordinary ids from 6 on, [SEP].
std::vector<std::int64_t> sentence_of(std::int64_t words) {
    std::vector<std::int64_t> ids = {1};
    for (std::int64_t n = 0; n < words; ++n) ids.push_back(6 + n % 290);
    ids.push_back(2);
    return ids;
}

bool within(double count, double trials, double p) {
    return std::abs(count - trials * p) < 4 * std::sqrt(trials * p * (1 - p));
}

}  // namespace

TEST_CASE("masking: 80 % [MASK], 10 % kept, 10 % a random ordinary piece", "[masking]") {
    RandomStream random(1, 0);
    double targets = 0, masked = 0, kept = 0, other = 0;
    for (int n = 0; n < 300; ++n) {
        const Masked one = mask(sentence_of(510), {}, random);
        CHECK(one.targets() == 77);  // round(0.15 * 512), below the limit of 80
        for (std::size_t t = 0; t < one.tokens.size(); ++t) {
            if (one.labels[t] == 0) continue;
            ++targets;
            masked += one.tokens[t] == kMask;
            kept += one.tokens[t] == one.before[t];
            other += one.tokens[t] != kMask && one.tokens[t] != one.before[t];
        }
    }
    const double again = 0.1 / (kPieces - 5);  // the random piece is the one that was there
    CHECK(within(masked, targets, 0.8));
    CHECK(within(kept, targets, 0.1 + again));
    CHECK(within(other, targets, 0.1 - again));
}

TEST_CASE("masking: no special piece is a target or appears by chance; labels are 0 elsewhere", "[masking]") {
    RandomStream random(2, 0);
    std::vector<std::int64_t> sentence = sentence_of(40);
    for (const std::size_t t : {3, 9, 20}) sentence[t] = 3;
    sentence[12] = kMask;
    sentence[13] = 0;
    const MaskingVocabulary vocabulary = toy_vocabulary();
    for (int n = 0; n < 2000; ++n) {
        const Masked one = mask(sentence, {0.15, 1 + n % 3, 0.3, 0.1, 80}, random);
        for (std::size_t t = 0; t < one.tokens.size(); ++t) {
            const bool special = vocabulary.special[static_cast<std::size_t>(sentence[t])];
            const bool target = one.labels[t] != 0;
            if ((special && target) || (target && one.labels[t] != sentence[t]) ||
                (!target && one.tokens[t] != sentence[t]))
                FAIL("token " << t << " has label " << one.labels[t]);
            if (target && one.tokens[t] != kMask && vocabulary.special[static_cast<std::size_t>(one.tokens[t])])
                FAIL("token " << t << " became the special piece " << one.tokens[t]);
        }
    }
}

TEST_CASE("masking: one target in each window of six, every place of it equally likely", "[masking]") {
    constexpr int kTrials = 6000;
    RandomStream random(3, 0);
    std::vector<double> counts(18);
    for (int n = 0; n < kTrials; ++n) {
        const Masked one = mask(sentence_of(18), {}, random);
        for (std::size_t window = 0; window < 3; ++window) {
            int hits = 0;
            for (std::size_t place = 0; place < 6; ++place) {
                const bool hit = one.labels[1 + window * 6 + place] != 0;
                hits += hit;
                counts[window * 6 + place] += hit;
            }
            if (hits != 1) FAIL("window " << window << " has " << hits << " targets");
        }
    }
    for (const double count : counts) CHECK(within(count, kTrials, 1.0 / 6));
}

TEST_CASE("masking: n pieces in a row with probability ~ 1/n", "[masking]") {
    constexpr int kTrials = 20000;
    RandomStream random(4, 0);
    // Six words of one piece, so one window, and so many [SEP] that the limit is out of reach.
    std::vector<std::int64_t> sentence(100, 2);
    for (std::size_t t = 0; t < 6; ++t) sentence[t] = 6 + 3 * static_cast<std::int64_t>(t);
    std::vector<double> runs(4);
    for (int n = 0; n < kTrials; ++n)
        ++runs.at(static_cast<std::size_t>(mask(sentence, {0.15, 3, 0.8, 0.1, 80}, random).targets()));
    const double p1 = 6.0 / 11, p2 = 3.0 / 11, p3 = 2.0 / 11;
    CHECK(runs[0] == 0);
    CHECK(within(runs[1], kTrials, p1 + (p2 + p3) / 6));  // a run that starts at the last word is cut
    CHECK(within(runs[2], kTrials, p2 * 5 / 6 + p3 / 6));
    CHECK(within(runs[3], kTrials, p3 * 4 / 6));
}

TEST_CASE("masking: longer runs have wider windows, so their share is the same", "[masking]") {
    RandomStream random(11, 0);
    std::vector<std::int64_t> sentence(512, 2);  // 180 words of one piece, and a limit out of reach
    for (std::size_t t = 0; t < 180; ++t) sentence[t] = 6 + 3 * static_cast<std::int64_t>(t % 90);
    for (int n = 0; n < 1000; ++n) {
        const Index targets = mask(sentence, {0.15, 3, 0.8, 0.1, 80}, random).targets();
        // One sixth, and what is left for the last run; less what runs reach beyond their windows.
        if (targets > 180 / 6 + 2 || targets < 180 / 8 - 2) FAIL(targets << " targets of 180 words");
    }
}

TEST_CASE("masking: a word is masked as a whole where n-grams are", "[masking]") {
    RandomStream random(5, 0);
    const std::vector<std::int64_t> sentence = sentence_of(90);  // words of three pieces: 6 7 8, 9 10 11, ...
    bool cut = false;
    for (int n = 0; n < 2000; ++n) {
        const Masked whole = mask(sentence, {0.15, 3, 0.8, 0.1, 80}, random), single = mask(sentence, {}, random);
        for (std::size_t t = 1; t + 2 < sentence.size(); t += 3) {
            if ((whole.labels[t] != 0) != (whole.labels[t + 1] != 0) ||
                (whole.labels[t] != 0) != (whole.labels[t + 2] != 0))
                FAIL("the word at " << t << " is masked in part");
            cut = cut || (single.labels[t] != 0) != (single.labels[t + 1] != 0);
        }
    }
    CHECK(cut);  // single pieces know no words
}

TEST_CASE("masking: the number of targets is limited, up to the rest of a word", "[masking]") {
    RandomStream random(6, 0);
    CHECK(mask(sentence_of(1), {}, random).targets() == 1);   // round(0.45), at least 1
    CHECK(mask(sentence_of(28), {}, random).targets() == 4);  // round(4.5) to the even neighbour; five windows
    CHECK(mask(sentence_of(900), {}, random).targets() == 80);
    CHECK(mask({1, 2}, {}, random).targets() == 0);  // nothing but special pieces
    bool passed = false;
    for (int n = 0; n < 500; ++n) {
        const Index targets = mask(sentence_of(90), {0.15, 3, 0.8, 0.1, 80}, random).targets();
        if (targets > 16) FAIL(targets << " targets, expected at most 14 and the rest of a word");
        passed = passed || targets > 14;
    }
    CHECK(passed);
}

TEST_CASE("masking: the generator's targets are all [MASK]", "[masking]") {
    RandomStream random(7, 0);
    const Masked one = mask(sentence_of(510), kGeneratorMasking, random);
    CHECK(one.targets() == 77);
    for (std::size_t t = 0; t < one.tokens.size(); ++t) CHECK((one.labels[t] != 0) == (one.tokens[t] == kMask));
}

TEST_CASE("masking: the same place of the same stream gives the same mask, another one another", "[masking]") {
    RandomStream first(8, 2), again(8, 2), other(8, 3);
    const MaskingRules rules{0.15, 3, 0.8, 0.1, 80};
    const Masked a = mask(sentence_of(200), rules, first), b = mask(sentence_of(200), rules, again);
    CHECK(a.tokens == b.tokens);
    CHECK(a.labels == b.labels);
    CHECK(a.labels != mask(sentence_of(200), rules, other).labels);
    CHECK(a.labels != mask(sentence_of(200), rules, first).labels);
}

TEST_CASE("masking: a tokenizer's pieces, special ones and words", "[masking]") {
    const auto tokenizer = open_tokenizer(test::fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3");
    const MaskingVocabulary vocabulary = masking_vocabulary(*tokenizer, 6016);
    CHECK(vocabulary.mask == 6000);
    CHECK(std::accumulate(vocabulary.special.begin(), vocabulary.special.end(), 0) ==
          5 + 15);  // 6001 ... 6015 are none
    CHECK(vocabulary.ordinary.size() == 6016 - 20);
    int inside = 0;
    for (std::int64_t id = 4; id < 6000; ++id) {
        const std::string piece = tokenizer->piece(id);
        const bool continues = vocabulary.continues[static_cast<std::size_t>(id)];
        INFO(piece);
        if (piece.starts_with("\u2581") || piece == "," || piece == "." || piece == "\u2019") CHECK_FALSE(continues);
        if (piece == "s" || piece == "ing") CHECK(continues);
        inside += continues;
    }
    CHECK(inside > 100);
    CHECK(refusal([&] { masking_vocabulary(*tokenizer, 6000); }, Fault::unsupported) ==
          "masking: the tokenizer has no [MASK] below vocab_size 6000, which masked words need");
}

TEST_CASE("masking: rules and sentences that make no sense are named", "[masking]") {
    RandomStream random(9, 0);
    const auto sentence = [&](const MaskingRules& rules) {
        return refusal([&] { mask(sentence_of(5), rules, random); }, Fault::usage);
    };
    CHECK(sentence({0, 1, 0.8, 0.1, 80}) == "masking: share is 0.000000, expected above 0 and at most 1");
    CHECK(sentence({0.15, 0, 0.8, 0.1, 80}) == "masking: max_gram is 0, expected at least 1");
    CHECK(sentence({0.15, 1, 0.8, 0.1, 0}) == "masking: most is 0, expected at least 1");
    CHECK(sentence({0.15, 1, 0.9, 0.2, 80}) ==
          "masking: mask is 0.900000 and keep 0.200000, expected shares from 0 to 1 with a sum up to 1");
    CHECK_THROWS_AS(mask(sentence_of(5), {std::nan(""), 1, 0.8, 0.1, 80}, random), Error);
    CHECK(refusal(
              [&] {
                  mask({1, kPieces, 2}, {}, random);
              },
              Fault::usage) == "masking: the sentence holds id 300, expected one from 0 to 300 - 1");
}

}  // namespace locus::test::test_ngram_masking
