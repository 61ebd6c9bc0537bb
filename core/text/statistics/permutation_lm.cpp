#include "core/text/statistics/permutation_lm.h"

#include <algorithm>

namespace locus {

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

std::string describe_prediction(const std::vector<Index>& order, Index target, const Document& sentence) {
    LOCUS_CHECK(sentence.size() == order.size(), "describe_prediction: a sentence of " +
                                                     std::to_string(sentence.size()) + " words for an order of " +
                                                     std::to_string(order.size()));
    std::string text = "word " + std::to_string(target) + " is predicted from memory";
    const std::vector<Index> seen = seen_by(order, target);
    for (const Index position : seen)
        text += ", " + std::to_string(position) + " (" + sentence[static_cast<std::size_t>(position - 1)] + ")";
    return seen.empty() ? text + " alone" : text;
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
