// Rules about where a stage is wrong: which samples, heads, tokens, distances and tiles.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/conformance/diagnosis/patterns.h"

namespace locus::conformance {

std::string place(Index flat, const Shape& shape) {
    std::string text = "]";
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        text = (axis ? ", " : "[") + std::to_string(flat % shape[axis]) + text;
        flat /= shape[axis];
    }
    return text;
}

namespace {

using Sentence = std::optional<std::string>;
using Cells = std::optional<WrongCells>;

constexpr Index kFewestCells = 4;  // fewer wrong cells lie anywhere by chance
constexpr double kCovered = 0.9;   // so much of a place must be wrong before it is called by its name
constexpr Index kMostSingle = 3;   // single cells
constexpr double kSingle = 0.05;   // and no larger part of the stage

/// All cells of a stage with what a rule needs to know of each.
class Map {
public:
    /// zeros_show: a cell of which both hold 0 was compared; else the mask may have hidden it in both.
    Map(const Compared& compared, const ModelInput* input, bool zeros_show)
        : at(compared), input_(input), zeros_show_(zeros_show) {
        for (Index n = 0; n < at.right.size(); ++n)
            if (at.wrong(n)) wrong_.push_back(n);
        if (!at.may_be_wrong.empty() || !knows_padding()) return;
        shown_.assign(static_cast<std::size_t>(at.right.size()), true);
        for (const char* name : {"T", "Tq", "Tk"})
            if (const auto tokens = axis(name); tokens && at.right.shape()[*tokens] == input_->mask.extent(1))
                for (Index n = 0; n < at.right.size(); ++n)
                    if (padded(n, *tokens)) shown_[static_cast<std::size_t>(n)] = false;
    }

    const Compared& at;
    const std::vector<Index>& wrong() const { return wrong_; }
    Index coordinate(Index flat, std::size_t axis) const {
        for (std::size_t a = at.right.shape().size(); a-- > axis + 1;) flat /= at.right.shape()[a];
        return flat % at.right.shape()[axis];
    }
    /// The axis of this name; nothing if there is none.
    std::optional<std::size_t> axis(const std::string& name) const {
        for (std::size_t a = 0; a < at.axes.size(); ++a)
            if (at.axes[a] == name) return a;
        return std::nullopt;
    }
    bool knows_padding() const { return input_ && input_->mask.rank() == 2 && axis("B") == std::size_t{0}; }
    bool padded(Index flat, std::size_t token_axis) const {
        const Index length = input_->mask.extent(1), token = coordinate(flat, token_axis), sample = coordinate(flat, 0);
        return sample < input_->mask.extent(0) && token < length && input_->mask[sample * length + token] == 0;
    }
    /// False where the cell can only be right.
    bool counts(Index flat) const {
        return (at.may_be_wrong.empty() || at.may_be_wrong[static_cast<std::size_t>(flat)]) &&
               (zeros_show_ || at.right[flat] != 0 || at.found[flat] != 0);
    }
    /// A cell that counts is right.
    bool has_right_cells() const {
        Index counted = 0;
        for (Index n = 0; n < at.right.size(); ++n) counted += counts(n);
        return static_cast<Index>(wrong_.size()) < counted;
    }
    /// True if the cell counts, and nothing that the mask hides touches it.
    bool visible(Index flat) const {
        return counts(flat) && (shown_.empty() || shown_[static_cast<std::size_t>(flat)]);
    }
    /// A visible cell is right.
    bool shows_right_cells() const {
        for (Index n = 0; n < at.right.size(); ++n)
            if (visible(n) && !at.wrong(n)) return true;
        return false;
    }
    /// The values of place_of(n) in 0 ... count - 1 over the wrong cells n.
    template <class PlaceOf>
    std::set<Index> hit(Index count, PlaceOf place_of) const {
        std::vector<bool> marks(static_cast<std::size_t>(count));
        for (const Index n : wrong_) marks[static_cast<std::size_t>(place_of(n))] = true;
        std::set<Index> places;
        for (Index p = 0; p < count; ++p)
            if (marks[static_cast<std::size_t>(p)]) places.insert(p);
        return places;
    }
    std::set<Index> hit(std::size_t axis) const {
        return hit(at.right.shape()[axis], [&](Index n) { return coordinate(n, axis); });
    }
    bool masked() const { return knows_padding() && wrong_.size() >= static_cast<std::size_t>(kFewestCells); }

    /// Every wrong cell is in the place, and nearly all cells of the place are wrong.
    template <class In>
    bool are(In in) const {
        if (!std::all_of(wrong_.begin(), wrong_.end(), in)) return false;
        double there = 0;
        for (Index n = 0; n < at.right.size(); ++n) there += counts(n) && in(n);
        return static_cast<double>(wrong_.size()) >= kCovered * there;
    }
    /// The same among matrices that hold a wrong cell, and leaving out what the mask hides.
    template <class In>
    bool are_where_seen(In in) const {
        if (!std::all_of(wrong_.begin(), wrong_.end(), in)) return false;
        const Index matrix = at.last() * at.before_last();
        std::vector<bool> hit(static_cast<std::size_t>(at.matrices()));
        double there = 0, seen = 0;
        for (const Index n : wrong_) {
            hit[static_cast<std::size_t>(n / matrix)] = true;
            seen += visible(n);
        }
        for (Index n = 0; n < at.right.size(); ++n)
            there += hit[static_cast<std::size_t>(n / matrix)] && visible(n) && in(n);
        return seen >= kFewestCells && seen >= kCovered * there;
    }

private:
    const ModelInput* input_;
    bool zeros_show_;
    std::vector<Index> wrong_;
    std::vector<bool> shown_;  // empty: everything
};

Sentence single(const Map& map) {
    const auto count = static_cast<Index>(map.wrong().size());
    if (count > kMostSingle || static_cast<double>(count) > kSingle * static_cast<double>(map.at.right.size()))
        return std::nullopt;
    std::string places;
    for (const Index n : map.wrong()) places += (places.empty() ? "" : ", ") + place(n, map.at.right.shape());
    return (count == 1 ? "a single value is wrong: " : "single values are wrong: ") + places;
}

Cells padding(const Map& map) {
    if (!map.masked()) return std::nullopt;
    const auto in = [&](std::size_t axis) { return [&map, axis](Index n) { return map.padded(n, axis); }; };
    if (const auto tokens = map.axis("T"))
        if (map.are(in(*tokens))) return WrongCells{"rows of padding"};
    const auto queries = map.axis("Tq"), keys = map.axis("Tk");
    if (!queries || !keys || map.at.right.shape()[*queries] != map.at.right.shape()[*keys]) return std::nullopt;
    if (map.are(in(*queries))) return WrongCells{"rows of padding queries"};
    if (map.are(in(*keys))) return WrongCells{"columns of padding keys"};
    if (map.are([&](Index n) { return map.padded(n, *queries) || map.padded(n, *keys); }))
        return WrongCells{"rows and columns of padding"};
    if (map.are([&](Index n) { return !map.padded(n, *queries) && map.padded(n, *keys); }))
        return WrongCells{"padding keys of real queries"};
    if (map.are([&](Index n) { return map.padded(n, *queries) && !map.padded(n, *keys); }))
        return WrongCells{"real keys of padding queries"};
    return std::nullopt;
}

/// Wrong cells fill some places of one axis and leave the others right.
Cells along(const Map& map, const std::string& name, const char* one, const char* more, bool few) {
    const auto axis = map.axis(name);
    if (!axis || static_cast<Index>(map.wrong().size()) < kFewestCells) return std::nullopt;
    const std::set<Index> hit = map.hit(*axis);
    const Index count = map.at.right.shape()[*axis], touched = static_cast<Index>(hit.size());
    if (touched == count || (few && 2 * touched > count)) return std::nullopt;
    std::vector<bool> inside(static_cast<std::size_t>(count));
    for (const Index p : hit) inside[static_cast<std::size_t>(p)] = true;
    if (!map.are([&](Index n) { return inside[static_cast<std::size_t>(map.coordinate(n, *axis))]; }))
        return std::nullopt;
    return WrongCells{std::string(touched == 1 ? one : more) + " " + listed({hit.begin(), hit.end()}), "",
                      touched != 1};
}

/// " in heads 1, 2" where other heads are right.
std::string in_heads(const Map& map) {
    const auto axis = map.axis("H");
    if (!axis) return "";
    const std::set<Index> hit = map.hit(*axis);
    if (static_cast<Index>(hit.size()) == map.at.right.shape()[*axis]) return "";
    return std::string(" in head") + (hit.size() == 1 ? " " : "s ") + listed({hit.begin(), hit.end()});
}

/// "pairs with i < j"; with a memory of M keys before the text "pairs with M + i - j <= -1".
std::string pairs_so_far(bool past, bool future, Index nearest, bool memory) {
    const std::string number = std::to_string(nearest), distance = memory ? "M + i - j" : "i - j";
    if (past && future)
        return nearest == 1 && !memory ? "pairs off the diagonal" : "pairs with |" + distance + "| >= " + number;
    if (memory) return "pairs with " + distance + (past ? " >= " : nearest > 0 ? " <= -" : " <= ") + number;
    if (nearest > 1) return (past ? "pairs with i - j >= " : "pairs with j - i >= ") + number;
    return std::string("pairs with i ") + (past ? ">" : "<") + (nearest == 0 ? "= j" : " j");
}

Cells distances(const Map& map) {
    if (!map.at.has_pairs() || map.wrong().empty()) return std::nullopt;
    const Index keys = map.at.last(), queries = map.at.before_last(), memory = map.at.memory;
    const auto offset = [&](Index n) { return memory + n / keys % queries - n % keys; };
    Index nearest = map.at.right.size();
    bool past = false, future = false;
    const Index lowest = memory + 1 - keys;  // of the first query and the last key
    std::set<Index> offsets;
    for (const Index p : map.hit(keys + queries - 1, [&](Index n) { return offset(n) - lowest; })) {
        const Index here = p + lowest;
        nearest = std::min(nearest, std::abs(here));
        past = past || here > 0;
        future = future || here < 0;
        offsets.insert(here);
    }
    const bool both = past && future;
    const auto at_least_so_far = [&](Index n) {
        return (both ? std::abs(offset(n)) : past ? offset(n) : -offset(n)) >= nearest;
    };
    if ((nearest > 0 || past != future) && map.are_where_seen(at_least_so_far))
        return WrongCells{pairs_so_far(past, future, nearest, memory > 0), in_heads(map)};
    constexpr std::size_t kMostOffsets = 12;
    if (offsets.size() <= kMostOffsets && static_cast<Index>(offsets.size()) * 2 < keys &&
        map.are_where_seen([&](Index n) { return offsets.contains(offset(n)); }))
        return WrongCells{std::string("pairs with ") + (memory > 0 ? "M + " : "") +
                              "i - j = " + listed({offsets.begin(), offsets.end()}),
                          in_heads(map)};
    return std::nullopt;
}

Sentence not_finite(const Map& map) {
    Index nan = 0, infinite = 0, first = -1;
    for (Index n = 0; n < map.at.found.size(); ++n) {
        if (std::isfinite(map.at.found[n])) continue;
        if (first < 0) first = n;
        ++(std::isnan(map.at.found[n]) ? nan : infinite);
    }
    if (first < 0) return std::nullopt;
    std::string what = nan ? "NaN" : "infinity";
    if (nan && infinite) what = "NaN and infinity";
    std::string text = what + " at " + std::to_string(nan + infinite) + " of " + std::to_string(map.at.found.size()) +
                       " values, first at " + place(first, map.at.found.shape());
    // What a softmax leaves of a query whose keys are all hidden by -inf, and of what is made of it.
    if (infinite == 0 && nan == static_cast<Index>(map.wrong().size()))
        if (const Cells hidden = padding(map); hidden && hidden->what.starts_with("rows of padding"))
            text += ": " + hidden->what + " alone; where a query sees no key a softmax over -inf is NaN";
    return text;
}

/// Whole squares of one size are wrong and the others right.  Where all that the mask shows is wrong there are none.
Cells tiles(const Map& map) {
    if (map.at.rank() < 2 || !map.shows_right_cells()) return std::nullopt;
    const Index rows = map.at.before_last(), columns = map.at.last();
    for (const Index size : {128, 64, 32, 16, 8}) {
        if (rows < 2 * size && columns < 2 * size) continue;
        const Index down = (rows + size - 1) / size, across = (columns + size - 1) / size;
        const Index all = map.at.matrices() * down * across;
        std::vector<Index> hit(static_cast<std::size_t>(all));
        const auto tile_of = [&](Index n) {
            return (n / (rows * columns) * down + n / columns % rows / size) * across + n % columns / size;
        };
        for (const Index n : map.wrong()) ++hit[static_cast<std::size_t>(tile_of(n))];
        bool whole = true, full = false;
        Index wrong = 0;
        for (Index tile = 0; tile < all; ++tile) {
            const Index count = hit[static_cast<std::size_t>(tile)];
            if (count == 0) continue;
            ++wrong;
            const Index high = std::min(size, rows - tile / across % down * size);
            const Index wide = std::min(size, columns - tile % across * size);
            whole = whole && static_cast<double>(count) >= kCovered * static_cast<double>(high * wide);
            full = full || (high == size && wide == size);
        }
        if (!whole || !full || wrong == all) continue;
        const Index first = map.wrong().front();
        return WrongCells{"whole tiles of " + std::to_string(size) + " x " + std::to_string(size),
                          ", " + std::to_string(wrong) + " of " + std::to_string(all) + ", the first from " +
                              place(first, map.at.right.shape()) + " on"};
    }
    return std::nullopt;
}

/// The first rule that holds of axes, distances and tiles.
Cells somewhere(const Map& map) {
    if (map.wrong().empty() || !map.has_right_cells()) return std::nullopt;
    if (Cells cells = padding(map)) return cells;
    if (Cells cells = along(map, "B", "sample", "samples", false)) return cells;
    if (Cells cells = along(map, "H", "head", "heads", false)) return cells;
    for (const auto rule : {distances, tiles})
        if (Cells cells = rule(map)) return cells;
    const struct {
        const char *axis, *one, *more;
    } rest[] = {{"Tq", "query", "queries"},       {"Tk", "key", "keys"},
                {"T", "token", "tokens"},         {"2k", "table row", "table rows"},
                {"R", "table row", "table rows"}, {"d", "channel", "channels"},
                {"D", "channel", "channels"},     {"H*d", "channel", "channels"}};
    for (const auto& [axis, one, more] : rest)
        if (Cells cells = along(map, axis, one, more, true)) return cells;
    return std::nullopt;
}

}  // namespace

std::optional<WrongCells> wrong_cells(const Compared& compared, const ModelInput* input) {
    return somewhere(Map(compared, input, true));
}

std::optional<std::string> pattern_of_places(const Compared& compared, const ModelInput* input) {
    const Map map(compared, input, false);
    if (Sentence sentence = not_finite(map)) return sentence;
    if (map.wrong().empty()) return std::nullopt;
    if (Sentence sentence = single(map)) return sentence;
    const Cells cells = somewhere(map);
    if (!cells) return std::nullopt;
    return "only " + cells->what + (cells->several ? " are wrong" : " is wrong") + cells->rest;
}

}  // namespace locus::conformance
