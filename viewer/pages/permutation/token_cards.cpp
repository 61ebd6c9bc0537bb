#include "viewer/pages/permutation/token_cards.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>

namespace locus {

namespace {

CardRow::const_iterator divider_of(const CardRow& cards) { return std::find(cards.begin(), cards.end(), kDivider); }

}  // namespace

CardRow cards_of_order(const std::vector<Index>& order) {
    CardRow cards = {kDivider};
    cards.insert(cards.end(), order.begin(), order.end());
    return cards;
}

CardRow cards_of_targets(const std::vector<Index>& targets, Index length) {
    CardRow cards;
    for (Index t = 0; t < length; ++t)
        if (std::find(targets.begin(), targets.end(), t) == targets.end()) cards.push_back(t);
    cards.push_back(kDivider);
    cards.insert(cards.end(), targets.begin(), targets.end());
    return cards;
}

std::string order_text(const CardRow& cards) {
    std::string text;
    for (const Index position : predicted_of(cards)) text += (text.empty() ? "" : " ") + std::to_string(position + 1);
    return text.empty() ? "-" : text;
}

CardRow cards_of_text(const std::string& order, Index length) {
    std::vector<Index> targets, seen;
    std::istringstream words(order == "-" ? "" : order);
    for (std::string word; words >> word;) {
        Index number = 0;
        const auto end = std::from_chars(word.data(), word.data() + word.size(), number);
        LOCUS_CHECK(end.ec == std::errc{} && end.ptr == word.data() + word.size() && number >= 1,
                    "the order holds \"" + word + "\", expected positions counted from 1, with blanks between them");
        LOCUS_CHECK(std::find(seen.begin(), seen.end(), number) == seen.end(),
                    "the order holds position " + word + " twice, expected each once");
        seen.push_back(number);
        if (number <= length) targets.push_back(number - 1);
    }
    return cards_of_targets(targets, length);
}

std::vector<Index> given_of(const CardRow& cards) { return {cards.begin(), divider_of(cards)}; }

std::vector<Index> predicted_of(const CardRow& cards) {
    const auto divider = divider_of(cards);
    return {divider == cards.end() ? divider : divider + 1, cards.end()};
}

CardRow moved(const CardRow& cards, std::size_t from, std::size_t to) {
    LOCUS_CHECK(from < cards.size() && to < cards.size(),
                "cards: slots " + std::to_string(from) + " and " + std::to_string(to) + " of " +
                    std::to_string(cards.size()) + ", expected both inside the row");
    CardRow after = cards;
    after.erase(after.begin() + static_cast<std::ptrdiff_t>(from));
    after.insert(after.begin() + static_cast<std::ptrdiff_t>(to), cards[from]);
    std::sort(after.begin(), std::find(after.begin(), after.end(), kDivider));
    return after;
}

CardRow stepped(const CardRow& cards, std::size_t slot, Index by) {
    const std::size_t divider = slot_of(cards, kDivider), last = cards.size() - 1;
    // No order matters among given cards, so the next place for one of them is after the divider.
    if (slot < divider) return by < 0 ? cards : moved(cards, slot, divider);
    if (by < 0) return slot == 0 ? cards : moved(cards, slot, slot - 1);
    return slot == last ? cards : moved(cards, slot, slot + 1);
}

std::size_t slot_of(const CardRow& cards, Index position) {
    return static_cast<std::size_t>(std::find(cards.begin(), cards.end(), position) - cards.begin());
}

CardRow toggled(const CardRow& cards, Index position) {
    const std::size_t slot = slot_of(cards, position), divider = slot_of(cards, kDivider);
    return moved(cards, slot, slot < divider ? cards.size() - 1 : divider);
}

StreamVisibility visibility_of(const CardRow& cards) {
    // Given tokens come first in an order of all; among themselves they are then made visible to each other.
    std::vector<Index> order = given_of(cards);
    const std::vector<Index> given = order, predicted = predicted_of(cards);
    order.insert(order.end(), predicted.begin(), predicted.end());
    StreamVisibility visible{content_visibility(order), query_visibility(order)};
    for (const Index i : given) {
        visible.query.row(i).setZero();
        for (const Index j : given) visible.content(i, j) = 1;
    }
    return visible;
}

std::optional<CardRow> same_prefix(const CardRow& cards, Index position) {
    const std::size_t slot = slot_of(cards, position);
    if (slot < slot_of(cards, kDivider) || slot + 1 >= cards.size()) return std::nullopt;
    CardRow other = cards;
    std::swap(other[slot], other[slot + 1]);
    return other;
}

std::string sees_in_words(const CardRow& cards, Index position, const std::vector<bool>& hidden) {
    const auto number = [](Index p) { return std::to_string(p + 1); };
    const std::vector<Index> all_given = given_of(cards);
    if (std::find(all_given.begin(), all_given.end(), position) != all_given.end())
        return "position " + number(position) + " is given, not predicted";
    const auto is_seen = [&](Index p) { return hidden.empty() || !hidden.at(static_cast<std::size_t>(p)); };
    std::vector<Index> seen;
    std::copy_if(all_given.begin(), all_given.end(), std::back_inserter(seen), is_seen);
    const std::size_t given = seen.size(), listed = given > 2 ? given : 0;
    for (const Index p : predicted_of(cards)) {
        if (p == position) break;
        if (is_seen(p)) seen.push_back(p);
    }
    std::string list;
    for (std::size_t n = listed; n < seen.size(); ++n)
        list += (n == listed ? "" : n + 1 == seen.size() ? " and " : ", ") + number(seen[n]);
    if (listed > 0) {
        const std::size_t more = seen.size() - listed;
        list = "the " + std::to_string(given) + " given words" +
               (more == 0   ? ""
                : more == 1 ? " and from position " + list
                            : " and from positions " + list);
    }
    return "position " + number(position) + " is predicted from " + (seen.empty() ? "its position alone" : list);
}

float CardPlaces::edge(const CardRow& cards, std::size_t slot) const {
    float x = left;
    for (std::size_t n = 0; n < std::min(slot, cards.size()); ++n) x += cards[n] == kDivider ? divider : pitch;
    return x;
}

std::size_t CardPlaces::slot_at(const CardRow& cards, float x) const {
    std::size_t slot = 0;
    while (slot + 1 < cards.size() && x >= edge(cards, slot + 1)) ++slot;
    return slot;
}

}  // namespace locus
