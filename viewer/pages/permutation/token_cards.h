#pragma once
// Tokens as cards in the order of their prediction, and who sees whom under it.  Yang et al. 2019, section 2.2-2.3.
#include <optional>
#include <string>
#include <vector>

#include "core/positions/factorisation_order.h"

namespace locus {

/// What separates the cards that are given and those that are predicted.
inline constexpr Index kDivider = -1;

/// Positions in factorisation order with one kDivider among them: those before it are given, those after it are
/// predicted from left to right.
using CardRow = std::vector<Index>;

/// All positions of `order` (from 0) predicted.
CardRow cards_of_order(const std::vector<Index>& order);
/// These targets predicted from left to right, the other positions below `length` given.
CardRow cards_of_targets(const std::vector<Index>& targets, Index length);
/// "4 6": the predicted positions, counted from 1 as on screen, in their order; "-": none.
std::string order_text(const CardRow& cards);
/// The cards of such a text; positions beyond `length` are left out.  Throws Error(usage) for anything but whole
/// numbers from 1, each once.
CardRow cards_of_text(const std::string& order, Index length);
std::vector<Index> given_of(const CardRow& cards);
std::vector<Index> predicted_of(const CardRow& cards);

/// The card (or the divider) at slot `from` taken out and put in at slot `to`; given cards are kept in text order,
/// because no order matters among them.
CardRow moved(const CardRow& cards, std::size_t from, std::size_t to);

/// The card at `slot` one place earlier (-1) or later (1) in the prediction; a given one becomes the first that is
/// predicted, the first predicted one is given.
CardRow stepped(const CardRow& cards, std::size_t slot, Index by);
/// Where a card is now.
std::size_t slot_of(const CardRow& cards, Index position);

/// A given card becomes the last that is predicted, a predicted one is given.
CardRow toggled(const CardRow& cards, Index position);

/// Given tokens see all given ones.  A predicted one sees them, the ones predicted before it, and in the content stream
/// itself.  query has no row for a given token.  1 = visible, [T,T].
struct StreamVisibility {
    Visibility content, query;
};
StreamVisibility visibility_of(const CardRow& cards);

/// Another order that asks, after the very same words, for another position than `position`: the next later target in
/// its place.  Nothing where it is given or the last.
std::optional<CardRow> same_prefix(const CardRow& cards, Index position);

/// "position 4 is predicted from 3 and 2", counted from 1; more than two given words are only counted, "from the 3
/// given words and from position 2"; for a given one "position 2 is given, not predicted". hidden [T] or empty: true
/// for positions that something else than the order hides from this one.
std::string sees_in_words(const CardRow& cards, Index position, const std::vector<bool>& hidden = {});

/// Where cards lie: all as wide as each other, the divider narrower.
struct CardPlaces {
    float left = 0, pitch = 1, divider = 0;

    /// Left edge of a slot; cards.size() gives the right end.
    float edge(const CardRow& cards, std::size_t slot) const;
    /// The slot at x, clamped to the row.
    std::size_t slot_at(const CardRow& cards, float x) const;
};

}  // namespace locus
