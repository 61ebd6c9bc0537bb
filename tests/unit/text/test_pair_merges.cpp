// Byte-pair merging against loops that anyone can check.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "core/text/tokenizers/pair_merges.h"

namespace locus::test::test_pair_merges {

using Ids = std::vector<std::int64_t>;

namespace {

struct Rule {
    std::int64_t left, right, merged;
};

struct Rules {
    std::vector<Rule> list;
    PairMerges merges;
    void add(const Rule& rule) {
        if (merges.add(rule.left, rule.right, rule.merged)) list.push_back(rule);
    }
};

std::int64_t below(std::mt19937& generator, std::int64_t limit) {
    return static_cast<std::int64_t>(generator()) % limit;
}

bool matches(const Ids& word, std::size_t at, const Rule& rule) {
    return at + 1 < word.size() && word[at] == rule.left && word[at + 1] == rule.right;
}

/// The first rule of the list that fits anywhere in the word.
const Rule* best_rule(const Ids& word, const std::vector<Rule>& rules) {
    for (const Rule& rule : rules)
        for (std::size_t at = 0; at < word.size(); ++at)
            if (matches(word, at, rule)) return &rule;
    return nullptr;
}

/// encoder.py of GPT-2: every place of the best pair, from the left, then look again.
Ids merge_in_rounds(Ids word, const std::vector<Rule>& rules) {
    while (const Rule* rule = best_rule(word, rules)) {
        Ids next;
        for (std::size_t at = 0; at < word.size(); ++at)
            if (matches(word, at, *rule)) {
                next.push_back(rule->merged);
                ++at;
            } else {
                next.push_back(word[at]);
            }
        word = next;
    }
    return word;
}

/// word.rs of tokenizers: one place of the best pair, the leftmost, then look again.
Ids merge_one_by_one(Ids word, const std::vector<Rule>& rules) {
    while (const Rule* rule = best_rule(word, rules))
        for (std::size_t at = 0; at < word.size(); ++at)
            if (matches(word, at, *rule)) {
                word[at] = rule->merged;
                word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
                break;
            }
    return word;
}

/// As training makes them: every rule merges letters or pieces that an earlier rule has made.
Rules trained_rules(std::mt19937& generator) {
    Rules rules;
    std::int64_t next = 4;
    for (int n = 0; n < 24; ++n) {
        const std::int64_t left = below(generator, next), right = below(generator, next);
        rules.add({left, right, next});
        next = static_cast<std::int64_t>(4 + rules.list.size());
    }
    return rules;
}

/// In any order: a rule may come before the one that makes its parts.
Rules shuffled_rules(std::mt19937& generator) {
    Rules ordered = trained_rules(generator), rules;
    std::shuffle(ordered.list.begin(), ordered.list.end(), generator);
    for (const Rule& rule : ordered.list) rules.add(rule);
    return rules;
}

Ids random_word(std::mt19937& generator) {
    Ids word(generator() % 40);
    for (auto& letter : word) letter = below(generator, 4);
    return word;
}

}  // namespace

TEST_CASE("merges: the queue merges as the loop of GPT-2 does", "[tokenizer][bpe][law]") {
    std::mt19937 generator(1);
    int orders_differ = 0;
    for (int round = 0; round < 4000; ++round) {
        const Rules rules = round % 2 ? trained_rules(generator) : shuffled_rules(generator);
        const Ids word = random_word(generator);
        INFO("round " << round);
        const Ids rounds = rules.merges.merge(word, MergeOrder::rounds);
        const Ids single = rules.merges.merge(word, MergeOrder::one_by_one);
        CHECK(rounds == merge_in_rounds(word, rules.list));
        CHECK(single == merge_one_by_one(word, rules.list));
        if (round % 2) CHECK(rounds == single);
        orders_differ += rounds != single;
    }
    CHECK(orders_differ > 10);  // so the two orders are really two
}

TEST_CASE("merges: equal letters merge from the left", "[tokenizer][bpe]") {
    PairMerges merges;
    CHECK(merges.add(0, 0, 1));
    CHECK(merges.add(1, 0, 2));
    CHECK_FALSE(merges.add(0, 0, 3));
    CHECK(merges.size() == 2);
    CHECK(merges.merge({}, MergeOrder::rounds).empty());
    CHECK(merges.merge({0, 0, 0, 0}, MergeOrder::rounds) == Ids{1, 1});
    CHECK(merges.merge({0, 0, 0}, MergeOrder::one_by_one) == Ids{2});
    CHECK(merges.merge({7, 0, 0, 7}, MergeOrder::rounds) == Ids{7, 1, 7});
}

TEST_CASE("merges: one word of a million letters takes a moment, not a day", "[tokenizer][bpe]") {
    PairMerges merges;
    for (std::int64_t n = 0; n < 16; ++n) merges.add(n, n, n + 1);
    CHECK(merges.merge(Ids(1 << 20, 0), MergeOrder::rounds) == Ids(1 << 4, 16));
}

}  // namespace locus::test::test_pair_merges
