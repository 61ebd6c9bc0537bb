#pragma once
// What a pattern can be: what was done to the values, another mask, and where they are wrong.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

/// What describe_difference says where it sees nothing.
inline constexpr const char* kNoPattern = "no pattern found";

/// A wrong stage beside the right one.  Axes are those of the stage table, e.g. {"B","H","Tq","Tk"}.
struct Compared {
    const Tensor<double>& right;
    const Tensor<double>& found;
    double allowed = 0;
    std::vector<std::string> axes;
    Index memory = 0;                     // keys before the first query: a pair's distance is memory + i - j
    std::vector<bool> may_be_wrong = {};  // by flat index: cells that can differ at all; empty: every one

    /// |found - right| is outside; so is NaN.
    bool wrong(Index flat) const;
    /// Every value_at(flat) is within what is allowed of found, times a factor where values were multiplied.
    template <class ValueAt>
    bool explained_by(ValueAt value_at, double factor = 1) const {
        const double inside = allowed * std::max(1.0, std::abs(factor));
        if (!std::isfinite(inside)) return false;  // of sums that overflow
        for (Index n = 0; n < found.size(); ++n)
            if (!(std::abs(found[n] - value_at(n)) <= inside)) return false;
        return true;
    }
    bool has_pairs() const;  // the last two axes are queries and keys
    bool has_heads() const;
    Index rank() const { return right.rank(); }
    Index last() const { return right.extent(rank() - 1); }
    Index before_last() const { return right.extent(rank() - 2); }
    Index matrices() const { return right.size() / (last() * before_last()); }
};

/// The number that every value is times the right one; nothing unless it explains all of them.
std::optional<double> common_factor(const Compared& compared);

/// c where every row of probabilities is the right one to the power of c, divided by its sum: the softmax of scores
/// times c; nothing unless that explains all of them.
std::optional<double> power_of_rows(const Compared& compared);

/// "every value is 1.732051 times what it should be"; nothing where no rule of values holds everywhere.
/// Constant factor, sign, constant offset, transposed, reversed axes, heads or channels in another order, through a
/// softmax, a constant per row, a factor per head.
std::optional<std::string> pattern_of_values(const Compared& compared);

/// "right rows in the wrong place: 8 of 10 tokens have the row of the token before (t - 1)"; nothing where a wrong row
/// is neither the right one of another token or sample, nor 0, and of pairs.
std::optional<std::string> rows_of_other_tokens(const Compared& compared);

/// Where all wrong cells of a stage lie, and hardly any right one.
struct WrongCells {
    std::string what;       // "pairs with i < j", "head 1"
    std::string rest = "";  // " in heads 1, 2": said after the verb
    bool several = true;    // they are wrong; otherwise it is
};
/// By samples, heads, tokens, distances and tiles; nothing where wrong cells lie anywhere, or everywhere.
std::optional<WrongCells> wrong_cells(const Compared& compared, const ModelInput* input);

/// "only pairs with |i - j| >= 4 are wrong"; nothing where wrong cells lie anywhere.
/// NaN and infinity, single cells, padding, far pairs, one side, tiles, samples and heads.
std::optional<std::string> pattern_of_places(const Compared& compared, const ModelInput* input);

/// "another mask: 36 pairs are hidden that should be visible (pairs with i < j); ..."; nothing where the stage's zeros
/// are those of the right mask, or where rows of probabilities do not sum to 1.
/// `stem`: what the stage is called in its layer; one that holds 0 where the mask hides a key ("probs", "bd").
std::optional<std::string> pattern_of_mask(const Compared& compared, const std::string& stem, const ModelInput* input);

/// "every value is 0.288675 times what it should be = 1/sqrt(n d): scaled already, ..." of what scores are made of;
/// nothing where it is not so, and of other stages.
std::optional<std::string> scaled_already(const Evidence& evidence, const StageVerdict& verdict);

/// Flat index 7 of [2,3,4] -> "[0, 1, 3]".
std::string place(Index flat, const Shape& shape);
/// "0, 2, 3"; longer lists end with "...".
std::string listed(const std::vector<Index>& numbers);

}  // namespace locus::conformance
