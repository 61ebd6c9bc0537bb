// Rows of tokens that are right numbers in the wrong place: those of another token, or of another text.
#include <algorithm>
#include <set>
#include <vector>

#include "core/conformance/diagnosis/patterns.h"

namespace locus::conformance {

namespace {

constexpr Index kFewestInRow = 4;    // shorter rows are found again by chance
constexpr Index kMostPlaces = 2048;  // every row is held against every other one

/// A stage [.., B, .., T, .., d] as rows: one for each place (b, t), of everything that is said of this token.
class TokenRows {
public:
    /// b, t: the axes of samples and of tokens; without samples b is no axis.
    TokenRows(const Compared& at, std::optional<std::size_t> b, std::size_t t) : at_(at) {
        const Shape& shape = at.right.shape();
        samples_ = b ? shape[*b] : 1;
        tokens_ = shape[t];
        rows_.resize(static_cast<std::size_t>(places()));
        for (Index n = 0; n < at.right.size(); ++n) {
            Index rest = n, sample = 0, token = 0;
            for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
                if (axis == t) token = rest % shape[axis];
                if (b && axis == *b) sample = rest % shape[axis];
            }
            rows_[static_cast<std::size_t>(sample * tokens_ + token)].push_back(n);
        }
    }

    Index samples() const { return samples_; }
    Index tokens() const { return tokens_; }
    Index places() const { return samples_ * tokens_; }
    Index width() const { return static_cast<Index>(rows_.front().size()); }
    /// The row that was found at `to` is the right one of `from`.
    bool same(Index to, Index from) const {
        const auto &a = rows_[static_cast<std::size_t>(to)], &b = rows_[static_cast<std::size_t>(from)];
        for (std::size_t n = 0; n < a.size(); ++n)
            if (!(std::abs(at_.found[a[n]] - at_.right[b[n]]) <= at_.allowed)) return false;
        return true;
    }
    /// Rounding may have made it, so it is found everywhere.
    bool is_zero(Index place) const {
        const auto& row = rows_[static_cast<std::size_t>(place)];
        return std::all_of(row.begin(), row.end(), [&](Index n) { return std::abs(at_.found[n]) <= at_.allowed; });
    }
    std::string name(Index place) const {
        return samples_ == 1 ? std::to_string(place)
                             : "[" + std::to_string(place / tokens_) + ", " + std::to_string(place % tokens_) + "]";
    }

private:
    const Compared& at_;
    Index samples_ = 1, tokens_ = 1;
    std::vector<std::vector<Index>> rows_;  // flat indices, in the same order for every place
};

/// Every wrong row with where it stands.
struct Moved {
    std::vector<Index> places;  // whose row is another one
    Index zeros = 0;            // places whose row is 0
    Index first_from = -1;      // of places.front()
};

/// Nothing unless every wrong row is the right one of another place, or 0.
std::optional<Moved> moved_rows_of(const TokenRows& rows) {
    Moved moved;
    for (Index place = 0; place < rows.places(); ++place) {
        if (rows.same(place, place)) continue;
        if (rows.is_zero(place)) {
            ++moved.zeros;
            continue;
        }
        Index from = 0;
        while (from < rows.places() && !rows.same(place, from)) ++from;
        if (from == rows.places()) return std::nullopt;
        if (moved.places.empty()) moved.first_from = from;
        moved.places.push_back(place);
    }
    return moved.places.empty() ? std::nullopt : std::optional(moved);
}

/// from_of(b, t) is where the row of every moved place comes from; -1: from nowhere.
template <class FromOf>
bool all_from(const TokenRows& rows, const Moved& moved, FromOf from_of) {
    return std::all_of(moved.places.begin(), moved.places.end(), [&](Index place) {
        const Index from = from_of(place / rows.tokens(), place % rows.tokens());
        return from >= 0 && from < rows.places() && rows.same(place, from);
    });
}

/// "the token before (t - 1)", "the token 3 places after (t + 3)".
std::string token_away(Index by) {
    const std::string step = std::to_string(std::abs(by));
    const std::string far = std::abs(by) == 1 ? "" : step + " places ";
    return "the token " + far + (by < 0 ? "before (t - " : "after (t + ") + step + ")";
}

/// One rule for all moved rows; empty if there is none.
std::string rule_of(const TokenRows& rows, const Moved& moved) {
    const Index samples = rows.samples(), tokens = rows.tokens();
    std::set<Index> touched;
    for (const Index place : moved.places) touched.insert(place % tokens);
    const Index first = *touched.begin(), count = *touched.rbegin() + 1 - first;
    for (Index by = 1; by < tokens; ++by)
        for (const Index step : {-by, by}) {
            const auto straight = [&](Index b, Index t) {
                return t + step < 0 || t + step >= tokens ? Index{-1} : b * tokens + t + step;
            };
            const auto around = [&](Index b, Index t) {
                return b * tokens + first + (t - first + step + count) % count;
            };
            if (all_from(rows, moved, straight)) return token_away(step);
            if (by < count && all_from(rows, moved, around)) return token_away(step) + ", round the end";
        }
    for (Index from = 0; from < samples; ++from)
        if (all_from(rows, moved, [&](Index, Index t) { return from * tokens + t; }))
            return "the same token of sample " + std::to_string(from);
    for (Index by = 1; by < samples; ++by)
        if (all_from(rows, moved, [&](Index b, Index t) { return (b + by) % samples * tokens + t; }))
            return samples == 2 ? "the same token of the other sample"
                                : "the same token of sample (b + " + std::to_string(by) + ") mod B";
    const Index ends = 2 * first + count - 1;
    if (all_from(rows, moved, [&](Index b, Index t) { return b * tokens + ends - t; }))
        return "token " + std::to_string(ends) + " - t";
    for (const Index token : {Index{0}, tokens - 1})
        if (all_from(rows, moved, [&](Index b, Index) { return b * tokens + token; }))
            return std::string("the ") + (token == 0 ? "first" : "last") + " token";
    if (samples > 1 &&  // [T,B,..] read as [B,T,..], of all tokens
        all_from(rows, moved, [&](Index b, Index t) {
            const Index n = b * tokens + t;
            return n % samples * tokens + n / samples;
        }))
        return "[(b T + t) mod B, (b T + t) / B]: [T,B] was read as [B,T]";
    return "";
}

std::optional<std::size_t> axis_of(const Compared& at, std::initializer_list<const char*> names) {
    for (std::size_t axis = 0; axis + 1 < at.axes.size(); ++axis)
        if (std::find(names.begin(), names.end(), at.axes[axis]) != names.end()) return axis;
    return std::nullopt;
}

}  // namespace

std::optional<std::string> rows_of_other_tokens(const Compared& at) {
    if (at.has_pairs() || at.axes.size() != at.right.shape().size()) return std::nullopt;
    const auto tokens = axis_of(at, {"T", "Tk", "M"});
    if (!tokens || at.right.size() == 0) return std::nullopt;
    const TokenRows rows(at, axis_of(at, {"B"}), *tokens);
    if (rows.places() < 2 || rows.places() > kMostPlaces || rows.width() < kFewestInRow) return std::nullopt;
    const std::optional<Moved> moved = moved_rows_of(rows);
    if (!moved) return std::nullopt;

    const auto count = static_cast<Index>(moved->places.size());
    const std::string rule = count > 1 ? rule_of(rows, *moved) : "";
    std::string text =
        "right rows in the wrong place: " + std::to_string(count) + " of " + std::to_string(rows.places()) +
        " tokens " + (count == 1 ? "has" : "have") + " the row of " +
        (rule.empty() ? "another one, " + rows.name(moved->places.front()) + " that of " + rows.name(moved->first_from)
                      : rule);
    if (moved->zeros > 0) text += "; " + std::to_string(moved->zeros) + (moved->zeros == 1 ? " is 0" : " are 0");
    return text;
}

}  // namespace locus::conformance
