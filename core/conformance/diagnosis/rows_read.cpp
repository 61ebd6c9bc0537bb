#include "core/conformance/diagnosis/rows_read.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "core/conformance/formulas/transformer_xl.h"

namespace locus::conformance {

namespace {

constexpr Index kMostCells = 4'000'000;        // of a matrix that is searched: 2000 tokens
constexpr std::size_t kMostKept = 20'000'000;  // cells that all pairs together may have read: rows that are all alike
constexpr Index kMostShift = 8;                // rows, or distances, that all pairs may be off by
constexpr std::size_t kMostSaid = 4;           // distances that a sentence lists

/// Numbers that a pair could read: those of row i (by_query), or of row j, of all [B,H,N,R].
struct ReadFrom {
    const Tensor<double>& all;
    bool by_query;
    std::string unit, table, buffer;  // "row", "k_r", "q k_r^T": what `all` holds
    Index rows() const { return all.extent(2); }
    Index columns() const { return all.extent(3); }
};

/// The numbers of each head's matrix in order, so that the cells which hold a number are found without looking at all.
class CellsByValue {
public:
    /// Of each row alone, or of the whole matrix.
    CellsByValue(const ReadFrom& from, bool whole) : from_(from), size_(from.columns() * (whole ? from.rows() : 1)) {}

    /// Numbers of the cells (from the first of row `row`, or of the matrix, on) that hold `value` in head n.
    std::vector<Index> of(Index n, Index row, double value, double allowed) {
        std::vector<std::pair<double, Index>>& sorted = sorted_[{n, row}];
        if (sorted.empty()) {
            const double* first = from_.all.matrix(n).data() + row * size_;
            for (Index cell = 0; cell < size_; ++cell) sorted.emplace_back(first[cell], cell);
            std::sort(sorted.begin(), sorted.end());
        }
        std::vector<Index> cells;
        for (auto at = std::lower_bound(sorted.begin(), sorted.end(), std::pair(value - allowed, Index{-1}));
             at != sorted.end() && at->first <= value + allowed; ++at)
            cells.push_back(at->second);
        std::sort(cells.begin(), cells.end());
        return cells;
    }
    double value(Index n, Index row, Index cell) const { return from_.all.matrix(n).data()[row * size_ + cell]; }

private:
    const ReadFrom& from_;
    Index size_;
    std::map<std::pair<Index, Index>, std::vector<std::pair<double, Index>>> sorted_;
};

/// Cells of one source that each pair may have read.
class Reads {
public:
    /// Cells are numbers of the pair's own row; of the whole matrix, row by row, where `anywhere` is set.
    Reads(const ReadFrom& from, const Tensor<double>& right, const Tensor<double>& held, double allowed, bool anywhere)
        : queries_(held.extent(2)), keys_(held.extent(3)), cells_(static_cast<std::size_t>(queries_ * keys_)) {
        CellsByValue source(from, anywhere);
        for (Index i = 0; i < queries_; ++i)
            for (Index j = 0; j < keys_; ++j) {
                const std::vector<std::pair<Index, double>> here = seen(right, held, i, j);
                if (here.empty()) continue;
                const Index row = anywhere ? 0 : from.by_query ? i : j;
                std::vector<Index> cells = source.of(here[0].first, row, here[0].second, allowed);
                std::erase_if(cells, [&](Index cell) {
                    return std::any_of(here.begin() + 1, here.end(), [&](const auto& each) {
                        return !(std::abs(source.value(each.first, row, cell) - each.second) <= allowed);
                    });
                });
                const bool zero = std::all_of(here.begin(), here.end(),
                                              [&](const auto& each) { return std::abs(each.second) <= allowed; });
                ++seen_;
                if (cells.empty()) (zero ? zeros_ : strangers_) += 1;
                if ((kept_ += cells.size()) > kMostKept) return;
                cells_[at(i, j)] = std::move(cells);
            }
    }

    Index queries() const { return queries_; }
    Index keys() const { return keys_; }
    /// Every pair that is seen holds one of the numbers, few of them 0 instead.
    bool explain() const { return kept_ <= kMostKept && seen_ > 0 && strangers_ == 0 && 2 * zeros_ < seen_; }
    Index zeros() const { return zeros_; }
    const std::vector<Index>& of(Index i, Index j) const { return cells_[at(i, j)]; }

    /// `says(i, j, cells)` of every pair that reads something.
    template <class Says>
    bool every(Says says) const {
        for (Index i = 0; i < queries_; ++i)
            for (Index j = 0; j < keys_; ++j)
                if (!of(i, j).empty() && !says(i, j, of(i, j))) return false;
        return true;
    }

private:
    std::size_t at(Index i, Index j) const { return static_cast<std::size_t>(i * keys_ + j); }

    /// Samples and heads [n] in which the pair is not hidden, with what they hold: bd is 0 where the mask hides a key.
    static std::vector<std::pair<Index, double>> seen(const Tensor<double>& right, const Tensor<double>& held, Index i,
                                                      Index j) {
        std::vector<std::pair<Index, double>> all;
        for (Index n = 0; n < held.extent(0) * held.extent(1); ++n)
            if (right.matrix(n)(i, j) != 0) all.emplace_back(n, held.matrix(n)(i, j));
        return all;
    }

    Index queries_, keys_, seen_ = 0, strangers_ = 0, zeros_ = 0;
    std::size_t kept_ = 0;
    std::vector<std::vector<Index>> cells_;
};

bool holds_cell(const std::vector<Index>& cells, Index cell) {
    return std::find(cells.begin(), cells.end(), cell) != cells.end();
}

/// a i + b j + c.
struct Plane {
    Index a = 0, b = 0, c = 0;
    Index at(Index i, Index j) const { return a * i + b * j + c; }
    std::string text() const {
        std::string all;
        const auto add = [&](Index factor, const std::string& what) {
            if (factor == 0) return;
            const Index size = std::abs(factor);
            const std::string sign = all.empty() ? (factor < 0 ? "-" : "") : (factor < 0 ? " - " : " + ");
            all += sign + (what.empty() ? std::to_string(size) : size == 1 ? what : std::to_string(size) + " " + what);
        };
        if (a < 0 && b > 0) {
            add(b, "j");
            add(a, "i");
        } else {
            add(a, "i");
            add(b, "j");
        }
        add(c, "");
        return all.empty() ? "0" : all;
    }
};

/// The plane that all reads lie on; nothing where they lie on none, or one whose slopes are larger than `most`.
std::optional<Plane> plane_of(const Reads& reads, Index most) {
    // The first two pairs beside each other in a row, and in a column, give the slopes.
    std::optional<Plane> found;
    for (Index i = 0; i + 1 < reads.queries() && !found; ++i)
        for (Index j = 0; j + 1 < reads.keys() && !found; ++j) {
            if (reads.of(i, j).size() != 1 || reads.of(i + 1, j).size() != 1 || reads.of(i, j + 1).size() != 1)
                continue;
            const Index here = reads.of(i, j)[0];
            found = Plane{reads.of(i + 1, j)[0] - here, reads.of(i, j + 1)[0] - here, 0};
            found->c = here - found->a * i - found->b * j;
        }
    if (!found || std::abs(found->a) > most || std::abs(found->b) > most) return std::nullopt;
    const bool holds =
        reads.every([&](Index i, Index j, const auto& cells) { return holds_cell(cells, found->at(i, j)); });
    return holds ? found : std::nullopt;
}

/// The cells that all pairs of one place (i, j, or their distance) have in common; nothing where some have none.
template <class PlaceOf>
std::optional<std::map<Index, std::vector<Index>>> by_place(const Reads& reads, PlaceOf place_of) {
    std::map<Index, std::vector<Index>> all;
    const bool shared = reads.every([&](Index i, Index j, const auto& cells) {
        const auto [at, fresh] = all.emplace(place_of(i, j), cells);
        if (!fresh) std::erase_if(at->second, [&](Index cell) { return !holds_cell(cells, cell); });
        return !at->second.empty();
    });
    return shared ? std::optional(all) : std::nullopt;
}

using CellsByPlace = std::map<Index, std::vector<Index>>;

bool share_a_cell(const std::vector<Index>& some, const std::vector<Index>& others) {
    return std::any_of(some.begin(), some.end(), [&](Index cell) { return holds_cell(others, cell); });
}

std::string count_of(Index count) { return count == 1 ? "one" : std::to_string(count); }

class ReadsInWords {
public:
    ReadsInWords(const ReadFrom& from, const Reads& should, const Reads& reads, Index memory)
        : from_(from), should_(should), reads_(reads), memory_(memory) {}

    std::string text() const {
        for (const auto rule :
             {&ReadsInWords::on_two_planes, &ReadsInWords::further_on, &ReadsInWords::of_another_distance,
              &ReadsInWords::on_a_plane, &ReadsInWords::by_distance, &ReadsInWords::by_one_token})
            if (const auto said = (this->*rule)()) return *said + zeros();
        return first_one() + zeros();
    }

private:
    using Said = std::optional<std::string>;

    std::string of_table() const { return from_.unit + " of " + from_.table; }
    Index distance(Index i, Index j) const { return memory_ + i - j; }
    std::string distance_text() const { return memory_ > 0 ? "M + i - j" : "i - j"; }
    std::string zeros() const {
        if (reads_.zeros() == 0) return "";
        return "; " + std::to_string(reads_.zeros()) + (reads_.zeros() == 1 ? " pair holds 0" : " pairs hold 0");
    }

    /// All pairs are off by the same number of rows; at the ends of the table they may stay in it.
    Said further_on() const {
        for (Index size = 1; size <= kMostShift; ++size)
            for (const Index step : {size, -size}) {
                bool moved = false;
                const bool all = reads_.every([&](Index i, Index j, const auto& cells) {
                    return std::any_of(should_.of(i, j).begin(), should_.of(i, j).end(), [&](Index right) {
                        const Index end = std::clamp<Index>(right + step, 0, from_.columns() - 1);
                        moved = moved || end == right + step;
                        return holds_cell(cells, end);
                    });
                });
                if (all && moved)
                    return "each pair reads the " + of_table() + " " + count_of(size) +
                           (size == 1 ? " place" : " places") + (step > 0 ? " after" : " before") + " the right one";
            }
        return std::nullopt;
    }

    /// True if a pair of any distance should read one of these.
    static bool belongs(const std::vector<Index>& cells, const CellsByPlace& right) {
        return std::any_of(right.begin(), right.end(),
                           [&](const auto& each) { return share_a_cell(cells, each.second); });
    }
    /// The right row of another distance: of the other sign, or some tokens further.
    Said of_another_distance() const {
        const auto right = by_place(should_, [&](Index i, Index j) { return distance(i, j); });
        const auto here = by_place(reads_, [&](Index i, Index j) { return distance(i, j); });
        if (!right || !here || here->size() < 3) return std::nullopt;
        const auto holds = [&](auto other) {
            std::size_t compared = 0;
            for (const auto& [distance, cells] : *here) {
                const auto at = right->find(other(distance));
                // No pair of the text is so far away: then its row is not one that another distance should read.
                if (at == right->end() ? belongs(cells, *right) : !share_a_cell(cells, at->second)) return false;
                compared += at != right->end();
            }
            return compared >= 3 && 2 * compared >= here->size();
        };
        if (holds([](Index distance) { return -distance; }))
            return "each pair reads the " + of_table() + " that belongs to the distance of the other sign";
        for (Index size = 1; size <= kMostShift; ++size)
            for (const Index step : {size, -size})
                if (holds([step](Index distance) { return distance + step; }))
                    return "each pair reads the " + of_table() + " that belongs to a distance " + count_of(size) +
                           (step > 0 ? " larger" : " smaller") + ", with " + distance_text() + " for its own";
        return std::nullopt;
    }

    /// Reads of both, or those of the port alone, are a i + b j + c.
    Said on_two_planes() const {
        const auto right = plane_of(should_, from_.columns()), here = plane_of(reads_, from_.columns());
        if (!right || !here) return std::nullopt;
        return reads_on(*here) + " instead of " + from_.unit + " " + right->text();
    }
    Said on_a_plane() const {
        const auto here = plane_of(reads_, from_.columns());
        return here ? Said(reads_on(*here)) : std::nullopt;
    }
    std::string reads_on(const Plane& plane) const {
        return "pair (i,j) reads " + from_.unit + " " + plane.text() + " of " + from_.table;
    }

    /// "for i - j = 4 row 12 instead of 13, for ...": places whose row is another one than it should be.
    std::string listed(const CellsByPlace& here, const CellsByPlace& right, const std::string& place) const {
        std::string all;
        std::size_t other = 0;
        std::vector<Index> places;  // the nearest first
        for (const auto& each : here) places.push_back(each.first);
        std::stable_sort(places.begin(), places.end(), [](Index a, Index b) { return std::abs(a) < std::abs(b); });
        for (const Index at : places) {
            const std::vector<Index>& cells = here.at(at);
            const auto should = right.find(at);
            if (should == right.end() || share_a_cell(cells, should->second)) continue;
            if (++other > kMostSaid) continue;
            all += (other > 1 ? ", " : "") + std::string("for ") + place + " = " + std::to_string(at) + " " +
                   from_.unit + " " + std::to_string(cells.front()) + " instead of " +
                   std::to_string(should->second.front());
        }
        return all + (other > kMostSaid ? ", ..." : "");
    }

    Said by_distance() const {
        const auto place = [&](Index i, Index j) { return distance(i, j); };
        const auto right = by_place(should_, place), here = by_place(reads_, place);
        if (!right || !here) return std::nullopt;
        return "the " + of_table() + " depends on " + distance_text() +
               ", as it should, but is another one: " + listed(*here, *right, distance_text());
    }

    Said by_one_token() const {
        for (const bool by_key : {true, false}) {
            const auto here = by_place(reads_, [&](Index i, Index j) { return by_key ? j : i; });
            if (!here) continue;
            std::string all;
            std::size_t said = 0;
            for (const auto& [at, cells] : *here)
                if (++said <= kMostSaid)
                    all += (said > 1 ? ", " : "") + std::string(by_key ? "key " : "query ") + std::to_string(at) +
                           " reads " + from_.unit + " " + std::to_string(cells.front());
            return "the " + of_table() + " depends on the " + (by_key ? "key" : "query") + " alone: " + all +
                   (said > kMostSaid ? ", ..." : "");
        }
        return std::nullopt;
    }

    std::string first_one() const {
        std::string first;
        reads_.every([&](Index i, Index j, const auto& cells) {
            if (share_a_cell(cells, should_.of(i, j))) return true;
            first = "query " + std::to_string(i) + " and key " + std::to_string(j) + " read " + from_.unit + " " +
                    std::to_string(cells.front()) + " instead of " + std::to_string(should_.of(i, j).front());
            return false;
        });
        return "pairs read another " + of_table() + " than they should, the first of them " + first;
    }

    const ReadFrom& from_;
    const Reads &should_, &reads_;
    Index memory_;
};

/// Numbers of other rows too: what a wrong view of the buffer makes.
std::optional<std::string> of_other_rows(const ReadFrom& from, const Reads& should, const Reads& reads) {
    const auto plane = plane_of(reads, from.rows() * from.columns());
    const std::string buffer =
        from.buffer + " [" + std::to_string(from.rows()) + "," + std::to_string(from.columns()) + "]";
    if (plane) {
        const auto right = plane_of(should, from.rows() * from.columns());
        return "pair (i,j) holds number " + plane->text() + " of a head's " + buffer + ", counted row by row" +
               (right ? ", instead of number " + right->text() : "");
    }
    std::string first;
    Index others = 0;
    reads.every([&](Index i, Index j, const auto& cells) {
        if (share_a_cell(cells, should.of(i, j))) return true;
        const Index cell = cells.front(), right = should.of(i, j).front();
        if (others++ == 0)
            first = "query " + std::to_string(i) + " and key " + std::to_string(j) + " hold [" +
                    std::to_string(cell / from.columns()) + ", " + std::to_string(cell % from.columns()) +
                    "] instead of [" + std::to_string(right / from.columns()) + ", " +
                    std::to_string(right % from.columns()) + "]";
        return true;
    });
    if (others == 0) return std::nullopt;
    return std::to_string(others) + " pairs hold numbers of a head's " + buffer +
           " in other places, the first of them " + first;
}

/// The numbers that pairs of this stage read.  Throws NotEnough.
std::optional<ReadFrom> source_read_by(const Replay& here, const std::string& stem) {
    if (stem == "c2p") return ReadFrom{here.table_products("q", "k_r"), true, "row", "k_r", "q k_r^T"};
    if (stem == "p2c") return ReadFrom{here.table_products("k", "q_r"), false, "row", "q_r", "k q_r^T"};
    if (stem == "bd" && !here.is_query_stream()) return ReadFrom{here("bd_raw"), true, "column", "bd_raw", "bd_raw"};
    return std::nullopt;
}

}  // namespace

std::optional<std::string> rows_read_instead(const Replay& here, const std::string& stem, const Compared& at) try {
    const Tensor<double>&right = at.right, &found = at.found;
    const double allowed = at.allowed;
    if (right.rank() != 4 || right.shape() != found.shape()) return std::nullopt;
    const std::optional<ReadFrom> from = source_read_by(here, stem);
    const Index heads = right.extent(0) * right.extent(1), pairs = right.extent(2) * right.extent(3);
    if (!from || from->all.extent(0) * from->all.extent(1) != heads ||
        from->rows() != right.extent(from->by_query ? 2 : 3) ||
        std::max(pairs, from->rows() * from->columns()) > kMostCells ||
        !std::all_of(from->all.values().begin(), from->all.values().end(), [](double x) { return std::isfinite(x); }))
        return std::nullopt;

    std::optional<std::string> said;
    const Reads should(*from, right, right, allowed, false), reads(*from, right, found, allowed, false);
    if (!should.explain() || should.zeros() > 0) return std::nullopt;
    if (reads.explain()) {
        const auto is_right = [&](Index i, Index j, const auto& cells) { return share_a_cell(cells, should.of(i, j)); };
        if (!reads.every(is_right))
            said = ReadsInWords(*from, should, reads, stem == "bd" ? keys_of(here) - queries_of(here) : 0).text();
    } else if (const Reads anywhere(*from, right, found, allowed, true); anywhere.explain()) {
        said = of_other_rows(*from, Reads(*from, right, right, allowed, true), anywhere);
    }
    if (!said) return std::nullopt;
    for (Index n = 0; n < right.size(); ++n)
        if (right[n] == 0 && !(std::abs(found[n]) <= allowed)) return *said + "; what the mask hides is not 0";
    return said;
} catch (const NotEnough&) {
    return std::nullopt;
}

}  // namespace locus::conformance
