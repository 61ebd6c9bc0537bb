#include "core/training/ngram_masking.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

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
    LOCUS_CHECK(rules.max_gram >= 1,
                "masking: max_gram is " + std::to_string(rules.max_gram) + ", expected at least 1");
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

}  // namespace locus
