// From a text file to masked batches: sentences, the words that are hidden, the order of an epoch.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "core/training/corpus_batches.h"
#include "tests/files.h"

namespace locus::test::test_corpus_batches {

namespace {

const Tokenizer& tiny() {
    static const auto tokenizer = open_tokenizer(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-v3");
    return *tokenizer;
}

std::vector<std::int64_t> ids_of(const TokenSentences& sentences, Index n) {
    const auto ids = sentences.at(n);
    return {ids.begin(), ids.end()};
}

/// 400 sentences of 3 to 40 tokens, of which the second says which it is.
const TokenSentences& toy_sentences() {
    static const TokenSentences sentences = [] {
        TokenSentences made;
        for (std::int64_t n = 0; n < 400; ++n) {
            std::vector<std::int64_t> ids = {1, 10 + n};
            ids.resize(static_cast<std::size_t>(2 + 1 + n * 7 % 38), 5);
            ids.back() = 2;
            made.add(ids);
        }
        return made;
    }();
    return sentences;
}

MaskingVocabulary toy_vocabulary() {
    MaskingVocabulary vocabulary;
    vocabulary.mask = 499;
    for (std::int64_t id = 0; id < 500; ++id) {
        vocabulary.special.push_back(id < 4 || id == 499);
        vocabulary.continues.push_back(0);
        if (id >= 4 && id < 499) vocabulary.ordinary.push_back(id);
    }
    return vocabulary;
}

std::vector<Index> all_places(Index count) {
    std::vector<Index> places(static_cast<std::size_t>(count));
    std::iota(places.begin(), places.end(), Index{0});
    return places;
}

/// The tokens as they were before they were masked.
std::vector<std::int64_t> unmasked(const PackedBatch& batch) {
    std::vector<std::int64_t> tokens = batch.tokens;
    for (std::size_t n = 0; n < tokens.size(); ++n)
        if (batch.labels[n] != 0) tokens[n] = batch.labels[n];
    return tokens;
}

/// Which toy sentences a batch holds, in order.
std::vector<std::int64_t> names_of(const PackedBatch& batch) {
    std::vector<std::int64_t> names;
    const auto tokens = unmasked(batch);
    for (Index b = 0; b < batch.sentences(); ++b)
        names.push_back(tokens[static_cast<std::size_t>(batch.starts[static_cast<std::size_t>(b)]) + 1] - 10);
    return names;
}

struct Setting {
    std::vector<Index> places = all_places(400);
    MaskingVocabulary vocabulary = toy_vocabulary();
    BatchRules rules{200, 64, {}, 7};
    BatchReader reader() const { return {toy_sentences(), places, vocabulary, rules}; }
};

bool equal(const PackedBatch& a, const PackedBatch& b) {
    return a.tokens == b.tokens && a.labels == b.labels && a.starts == b.starts;
}

}  // namespace

TEST_CASE("corpus reader: a line is a sentence between its special pieces", "[corpus]") {
    const TemporaryFolder folder;
    const fs::path corpus = write_bytes(folder / "corpus.txt", "a new store opened\n\n  the old mall.\r\n");
    const TokenSentences sentences = read_token_sentences(corpus, tiny(), 64);
    REQUIRE(sentences.count() == 2);
    CHECK(ids_of(sentences, 0) == tiny().encode("a new store opened").ids);
    CHECK(ids_of(sentences, 1) == tiny().encode("the old mall.").ids);
    CHECK(sentences.length(0) == static_cast<Index>(sentences.at(0).size()));
}

TEST_CASE("corpus reader: a long line is cut after sentences, or else in front of words", "[corpus]") {
    const TemporaryFolder folder;
    const fs::path corpus = write_bytes(folder / "corpus.txt", "the store is new. the mall is old. the bank is big.");
    const auto texts = [&](Index max_length) {
        const TokenSentences sentences = read_token_sentences(corpus, tiny(), max_length);
        std::vector<std::string> found;
        for (Index n = 0; n < sentences.count(); ++n) {
            const auto ids = ids_of(sentences, n);
            CHECK(static_cast<Index>(ids.size()) <= max_length);
            CHECK(ids.front() == 1);
            CHECK(ids.back() == 2);
            found.emplace_back();
            for (std::size_t t = 1; t + 1 < ids.size(); ++t) found.back() += display_piece(tiny().piece(ids[t])) + " ";
        }
        return found;
    };
    using Texts = std::vector<std::string>;
    CHECK(texts(17) == Texts{"the store is new . the mall is old . the bank is big . "});
    CHECK(texts(16) == Texts{"the store is new . the mall is old . ", "the bank is big . "});
    CHECK(texts(7) == Texts{"the store is new . ", "the mall is old . ", "the bank is big . "});
    CHECK(texts(6) == Texts{"the store is ", "new . ", "the mall is ", "old . ", "the bank is ", "big . "});
    CHECK(texts(3).size() == 15);
    CHECK(refusal([&] { read_token_sentences(corpus, tiny(), 2); }, Fault::usage) ==
          "sentences of at most 2 tokens were asked for, expected more than the 2 special ones around a sentence");
}

TEST_CASE("corpus reader: nothing of a line of 10 MB is lost", "[corpus][bad]") {
    const TemporaryFolder folder;
    std::string line;
    Index words = 0;
    for (; line.size() < 10'000'000; words += 5) line += "the store opened near the ";
    const TokenSentences sentences = read_token_sentences(write_bytes(folder / "corpus.txt", line), tiny(), 66);
    Index pieces = 0;
    for (Index n = 0; n < sentences.count(); ++n) pieces += sentences.length(n) - 2;
    CHECK(pieces == words);
    CHECK(sentences.count() < words / 64 + 200);
}

TEST_CASE("corpus reader: a corpus without a known word is named", "[corpus][bad]") {
    const TemporaryFolder folder;
    const fs::path corpus = write_bytes(folder / "corpus.txt", "\u16a0\u16a0\nthe \u16a1 store\n");
    CHECK(read_token_sentences(corpus, tiny(), 9).count() == 1);
    write_bytes(corpus, "\u16a0\u16a1 \u16a2\u16a3\n");
    CHECK(refusal([&] { read_token_sentences(corpus, tiny(), 9); }) ==
          corpus.string() +
              ": holds no word that its tokenizer knows, special pieces aside, expected sentences to learn from");
}

TEST_CASE("corpus split: the held-out share, nobody twice, the same for the same seed", "[corpus]") {
    const CorpusSplit split = split_corpus(1000, 0.05, 3);
    CHECK(split.heldout.size() == 50);
    CHECK(split.learn.size() == 950);
    std::set<Index> all(split.learn.begin(), split.learn.end());
    all.insert(split.heldout.begin(), split.heldout.end());
    CHECK(all.size() == 1000);
    CHECK(*all.rbegin() == 999);
    CHECK(std::is_sorted(split.learn.begin(), split.learn.end()));
    CHECK(split_corpus(1000, 0.05, 3).heldout == split.heldout);
    CHECK(split_corpus(1000, 0.05, 4).heldout != split.heldout);
    CHECK(split_corpus(3, 0.99, 1).learn.size() == 1);
    CHECK(split_corpus(1, 0.5, 1).learn.size() == 1);
    CHECK(split_corpus(10, 0, 1).heldout.empty());
    CHECK_THROWS_AS(split_corpus(10, 1, 1), Error);
    CHECK_THROWS_AS(split_corpus(10, -0.1, 1), Error);
}

TEST_CASE("batches: every sentence once an epoch, in another order and masked anew", "[batches]") {
    const Setting setting;
    BatchReader reader = setting.reader();
    std::vector<std::vector<std::int64_t>> orders;
    std::map<std::int64_t, std::vector<std::int64_t>> labels;  // of the first epoch
    int same = 0;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        orders.emplace_back();
        while (reader.place().epoch == epoch) {
            const PackedBatch batch = reader.next();
            check_batch(batch, 500);
            CHECK((batch.rows() <= 200 || batch.sentences() == 1));
            const auto tokens = unmasked(batch);
            const auto names = names_of(batch);
            orders.back().insert(orders.back().end(), names.begin(), names.end());
            for (Index b = 0; b < batch.sentences(); ++b) {
                const auto from = batch.starts[static_cast<std::size_t>(b)], to = from + batch.length(b);
                const std::int64_t name = names[static_cast<std::size_t>(b)];
                if (std::vector<std::int64_t>(tokens.begin() + from, tokens.begin() + to) !=
                    ids_of(toy_sentences(), name))
                    FAIL("sentence " << name << " came out as another one");
                const std::vector<std::int64_t> now(batch.labels.begin() + from, batch.labels.begin() + to);
                if (std::all_of(now.begin(), now.end(), [](auto label) { return label == 0; }))
                    FAIL("sentence " << name << " has no target");
                if (epoch == 0)
                    labels[name] = now;
                else
                    same += now == labels[name] && now.size() > 8;
            }
        }
        std::vector<std::int64_t> sorted = orders.back();
        std::sort(sorted.begin(), sorted.end());
        REQUIRE(sorted.size() == 400);
        for (std::int64_t n = 0; n < 400; ++n) CHECK(sorted[static_cast<std::size_t>(n)] == n);
    }
    CHECK(orders[0] != orders[1]);
    CHECK(same < 60);
}

TEST_CASE("batches: the sentences of a batch have similar lengths, batches of all lengths are mixed", "[batches]") {
    const Setting setting;
    BatchReader reader = setting.reader();
    std::vector<Index> longest;
    double spread = 0;
    const Index count = reader.batches_in_epoch();
    for (Index n = 0; n < count; ++n) {
        const PackedBatch batch = reader.next();
        Index low = 1000, high = 0;
        for (Index b = 0; b < batch.sentences(); ++b) {
            low = std::min(low, batch.length(b));
            high = std::max(high, batch.length(b));
        }
        spread += static_cast<double>(high - low) / static_cast<double>(count);
        longest.push_back(high);
    }
    CHECK(spread < 8);  // of lengths from 3 to 40
    int rises = 0;
    for (std::size_t n = 1; n < longest.size(); ++n) rises += longest[n] > longest[n - 1];
    CHECK(rises > count / 4);
    CHECK(rises < count * 3 / 4);
}

TEST_CASE("batches: a training that resumes goes on with the very next batch", "[batches]") {
    const Setting setting;
    BatchReader whole = setting.reader(), resumed = setting.reader();
    const Index count = whole.batches_in_epoch();
    for (Index n = 0; n < 2 * count + 3; ++n) {
        const BatchPlace place = whole.place();
        const PackedBatch expected = whole.next();
        resumed.resume(place);
        CHECK(equal(resumed.next(), expected));
        CHECK(resumed.place() == whole.place());
    }
    CHECK(whole.place().epoch >= 1);
    CHECK(refusal(
              [&] {
                  resumed.resume({1, 4000});
              },
              Fault::usage)
              .starts_with("batches: the training was at batch 4000 of epoch 1, which has "));
    CHECK(resumed.place() == whole.place());  // as it was
    CHECK(equal(resumed.next(), whole.next()));
}

TEST_CASE("batches: another seed draws another order and other masks", "[batches]") {
    Setting setting;
    BatchReader first = setting.reader();
    setting.rules.seed = 8;
    BatchReader other = setting.reader();
    CHECK(names_of(first.next()) != names_of(other.next()));
}

TEST_CASE("batches: those to judge by are masked the same every time", "[batches]") {
    const Setting setting;
    const std::vector<Index> places = {5, 17, 300, 2};
    const auto batches = fixed_batches(toy_sentences(), places, setting.vocabulary, setting.rules);
    const auto again = fixed_batches(toy_sentences(), places, setting.vocabulary, setting.rules);
    REQUIRE(batches.size() == again.size());
    std::vector<std::int64_t> names;
    for (std::size_t n = 0; n < batches.size(); ++n) {
        CHECK(equal(batches[n], again[n]));
        const auto more = names_of(batches[n]);
        names.insert(names.end(), more.begin(), more.end());
    }
    std::sort(names.begin(), names.end());
    CHECK(names == std::vector<std::int64_t>{2, 5, 17, 300});
    CHECK(fixed_batches(toy_sentences(), {}, setting.vocabulary, setting.rules).empty());
}

TEST_CASE("batches: rules that make no sense are named", "[batches][bad]") {
    Setting setting;
    setting.rules.batch_tokens = 0;
    CHECK(refusal([&] { setting.reader(); }, Fault::usage) == "batches: batch_tokens is 0, expected at least 1");
    setting.rules.batch_tokens = 1;
    BatchReader one = setting.reader();
    CHECK(one.batches_in_epoch() == 400);
    setting.places.clear();
    CHECK(refusal([&] { setting.reader(); }, Fault::usage) == "batches: there is no sentence to learn from");
}

// Which words a masked-word model has to guess.

namespace {

constexpr std::int64_t kPieces = 300, kMask = kPieces - 1;

/// 0 ... 3 are special, and [MASK] is the last; of the others, every id that 3 divides begins a word.
MaskingVocabulary small_vocabulary() {
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
    mask_ngrams(masked.tokens, masked.labels, small_vocabulary(), rules, random);
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
    const MaskingVocabulary vocabulary = small_vocabulary();
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
    CHECK(sentence({0.15, 0, 0.8, 0.1, 80}) == "masking: max_gram is 0, expected 1 to 100");
    CHECK(sentence({0.15, 101, 0.8, 0.1, 80}) == "masking: max_gram is 101, expected 1 to 100");
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

}  // namespace locus::test::test_corpus_batches
