#pragma once
// How well a name answers to a few letters.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// Nothing unless every letter of `typed` occurs in `name` in this order (blanks of `typed` may be left out, case does
/// not count); else a score: the larger, the better.  Letters that begin words, follow one another or begin the name
/// count more, letters left over in the name count a little less.  The best of all ways to place the letters counts.
std::optional<int> fuzzy_score(std::string_view name, std::string_view typed);

/// Places of the names that match, the best first, equals in their order; of two that match equally well one among
/// `first` comes first.  Where nothing is typed: those, then all others in their order.
std::vector<std::size_t> fuzzy_order(const std::vector<std::string>& names, std::string_view typed,
                                     const std::vector<std::size_t>& first = {});

}  // namespace locus
