#include "core/text/statistics/factorisation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus {

std::vector<Factor> autoregressive_factors(const std::vector<Index>& order, Index known) {
    check_order(order);
    const auto length = static_cast<Index>(order.size());
    LOCUS_CHECK(known >= 0 && known <= length, "autoregressive_factors: known is " + std::to_string(known) +
                                                   ", expected 0 to " + std::to_string(length));
    std::vector<Factor> factors;
    for (auto target = order.begin() + known; target != order.end(); ++target)
        factors.push_back({*target, {order.begin(), target}});
    return factors;
}

std::vector<Factor> autoencoding_factors(Index length, const std::vector<Index>& masked) {
    std::vector<bool> hidden(static_cast<std::size_t>(std::max<Index>(length, 0)) + 1, false);
    for (const Index position : masked) {
        LOCUS_CHECK(position >= 1 && position <= length, "autoencoding_factors: masked position " +
                                                             std::to_string(position) + ", expected 1 to " +
                                                             std::to_string(length));
        LOCUS_CHECK(!hidden[static_cast<std::size_t>(position)],
                    "autoencoding_factors: position " + std::to_string(position) + " is masked twice");
        hidden[static_cast<std::size_t>(position)] = true;
    }
    std::vector<Index> visible;
    for (Index position = 1; position <= length; ++position)
        if (!hidden[static_cast<std::size_t>(position)]) visible.push_back(position);
    std::vector<Factor> factors;
    for (const Index position : masked) factors.push_back({position, visible});
    return factors;
}

std::string describe(const Factor& factor, const Document& sentence) {
    const auto word = [&](Index position) {
        LOCUS_CHECK(position >= 1 && position <= static_cast<Index>(sentence.size()),
                    "describe: position " + std::to_string(position) + " of a sentence of " +
                        std::to_string(sentence.size()) + " words");
        return sentence[static_cast<std::size_t>(position - 1)];
    };
    std::string text = "p(" + word(factor.target);
    for (std::size_t n = 0; n < factor.given.size(); ++n) text += (n == 0 ? " | " : ", ") + word(factor.given[n]);
    return text + ")";
}

SentenceCounts::SentenceCounts(std::vector<std::pair<Document, Index>> sentences) : sentences_(std::move(sentences)) {
    LOCUS_CHECK(!sentences_.empty(), "SentenceCounts: no sentences, expected one or more");
    for (const auto& [words, count] : sentences_) {
        LOCUS_CHECK(words.size() == sentences_.front().first.size(),
                    "SentenceCounts: sentences of " + std::to_string(sentences_.front().first.size()) + " and " +
                        std::to_string(words.size()) + " words, expected one length");
        LOCUS_CHECK(count >= 1, "SentenceCounts: a count is " + std::to_string(count) + ", expected 1 or more");
    }
}

double SentenceCounts::log_probability(const Factor& factor, const Document& sentence) const {
    const std::size_t length = sentences_.front().first.size();
    LOCUS_CHECK(sentence.size() == length, "SentenceCounts: a sentence of " + std::to_string(sentence.size()) +
                                               " words, expected " + std::to_string(length));
    const auto agrees = [&](const Document& words, Index position) {
        LOCUS_CHECK(
            position >= 1 && position <= static_cast<Index>(length),
            "SentenceCounts: position " + std::to_string(position) + ", expected 1 to " + std::to_string(length));
        return words[static_cast<std::size_t>(position - 1)] == sentence[static_cast<std::size_t>(position - 1)];
    };
    double given = 0, both = 0;
    for (const auto& sentence_and_count : sentences_) {
        const Document& words = sentence_and_count.first;
        if (!std::all_of(factor.given.begin(), factor.given.end(), [&](Index at) { return agrees(words, at); }))
            continue;
        given += static_cast<double>(sentence_and_count.second);
        if (agrees(words, factor.target)) both += static_cast<double>(sentence_and_count.second);
    }
    return given == 0 ? std::numeric_limits<double>::quiet_NaN() : std::log(both / given);
}

double SentenceCounts::log_probability(const std::vector<Factor>& factors, const Document& sentence) const {
    double sum = 0;
    for (const Factor& factor : factors) sum += log_probability(factor, sentence);
    return sum;
}

// --- orders ----------------------------------------------------------------------------------------------------------

namespace {

std::string joined(const std::vector<Index>& order) {
    std::string text;
    for (const Index position : order) text += (text.empty() ? "" : ",") + std::to_string(position);
    return text;
}

}  // namespace

void check_order(const std::vector<Index>& order) {
    std::vector<Index> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    bool complete = !order.empty();
    for (std::size_t n = 0; n < sorted.size(); ++n) complete = complete && sorted[n] == static_cast<Index>(n) + 1;
    LOCUS_CHECK(complete, "the order is \"" + joined(order) + "\", expected each position from 1 to " +
                              std::to_string(std::max<std::size_t>(order.size(), 1)) + " once");
}

std::vector<Index> seen_by(const std::vector<Index>& order, Index target) {
    check_order(order);
    const auto place = std::find(order.begin(), order.end(), target);
    LOCUS_CHECK(place != order.end(), "seen_by: target is " + std::to_string(target) +
                                          ", expected a position from 1 to " + std::to_string(order.size()));
    return {order.begin(), place};
}

std::string describe_prediction(const std::vector<Index>& order, Index target, const Document& sentence, Index memory) {
    LOCUS_CHECK(sentence.size() == order.size(), "describe_prediction: a sentence of " +
                                                     std::to_string(sentence.size()) + " words for an order of " +
                                                     std::to_string(order.size()));
    const std::vector<Index> seen = seen_by(order, target);
    std::string known = memory > 0 ? "memory" : "";
    for (const Index position : seen)
        known += (known.empty() ? "" : ", ") + std::to_string(position) + " (" +
                 sentence[static_cast<std::size_t>(position - 1)] + ")";
    if (seen.empty()) known = memory > 0 ? "memory alone" : "nothing";
    return "word " + std::to_string(target) + " is predicted from " + known;
}

std::vector<std::vector<Index>> distances_with_memory(Index memory, Index length) {
    LOCUS_CHECK(memory >= 0 && length >= 1, "distances_with_memory: memory is " + std::to_string(memory) +
                                                " and length " + std::to_string(length) +
                                                ", expected 0 or more and 1 or more");
    std::vector<std::vector<Index>> rows;
    for (Index i = 0; i < length; ++i) {
        rows.emplace_back();
        for (Index distance = memory + i; distance >= 0; --distance) rows.back().push_back(distance);
    }
    return rows;
}

}  // namespace locus
