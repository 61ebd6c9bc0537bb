// Right numbers in the wrong place: a gather that read other rows of the right table is described by the rows that it
// read, and a stage that holds the rows of other tokens by whose they are.
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "core/conformance/diagnosis/rows_read.h"
#include "core/conformance/formulas/arithmetic.h"
#include "core/conformance/kit/first_divergence.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/seeded.h"

namespace locus::test::test_rows_read {

using namespace locus::conformance;
using namespace locus::conformance::toy;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;

namespace {

/// The row, or column, that a pair reads.
using RowOf = std::function<Index(Index i, Index j)>;

/// A recorded pass, and the first layer of it.
struct Layer {
    const Range& range;
    std::string scope;
    Evidence evidence{range.sharp, range.sharp, range.model, range.segments};
    Replay here{evidence, scope};

    const Tensor<double>& right(const std::string& stem) const { return range.sharp.at(scope + stem).as<double>(); }
    Index rows() const { return here("k_r").extent(1); }
    Index right_row(Index i, Index j) const { return static_cast<Index>(here("/relative.index").matrix()(i, j)); }
    /// c2p (of_query) or p2c, gathered by other rows.
    Tensor<double> gathered_by(const RowOf& row, bool of_query) const {
        Tensor<double> index = here("/relative.index");
        for (Index i = 0; i < index.extent(0); ++i)
            for (Index j = 0; j < index.extent(1); ++j) index.matrix()(i, j) = static_cast<double>(row(i, j));
        return of_query ? gathered_by_query(here.table_products("q", "k_r"), index)
                        : gathered_by_key(here.table_products("k", "q_r"), index);
    }
    std::optional<std::string> said(const std::string& stem, const Tensor<double>& found) const {
        return rows_read_instead(here, stem, {right(stem), found, 1e-9, {}});
    }
    std::string of(const std::string& stem, const RowOf& row) const {
        return said(stem, gathered_by(row, stem == "c2p")).value_or("nothing");
    }
};

Layer deberta() { return {several_range(Family::deberta, "ms_deberta_v3_emd"), "layer.0."}; }
Layer transformer_xl() { return {several_range(Family::transformer_xl, "txl_basic"), "segment.1.layer.0."}; }

/// bd whose visible cells hold number(i, j) of a head's bd_raw, counted row by row; 0 beyond its end.
Tensor<double> bd_of(const Layer& layer, const RowOf& number) {
    const Tensor<double>&raw = layer.right("bd_raw"), &right = layer.right("bd");
    Tensor<double> found(right.shape());
    for (Index n = 0; n < right.extent(0) * right.extent(1); ++n)
        for (Index i = 0; i < right.extent(2); ++i)
            for (Index j = 0; j < right.extent(3); ++j) {
                const Index at = number(i, j);
                if (right.matrix(n)(i, j) != 0 && at >= 0 && at < raw.matrix(n).size())
                    found.matrix(n)(i, j) = raw.matrix(n).data()[at];
            }
    return found;
}

}  // namespace

TEST_CASE("rows read: rows beside the right ones, and rows of other distances", "[kit][rows]") {
    const Layer layer = deberta();
    const auto right = [&](Index i, Index j) { return layer.right_row(i, j); };
    const auto beside = [&](Index step) {
        return [&, step](Index i, Index j) { return std::clamp<Index>(right(i, j) + step, 0, layer.rows() - 1); };
    };
    CHECK(layer.of("c2p", beside(1)) == "each pair reads the row of k_r one place after the right one");
    CHECK(layer.of("c2p", beside(-2)) == "each pair reads the row of k_r 2 places before the right one");
    CHECK(layer.of("p2c", beside(1)) == "each pair reads the row of q_r one place after the right one");

    const Index length = layer.right("c2p").extent(2);
    const auto of_distance = [&](Index distance) {  // the right row of a pair at this distance i - j
        const Index near = std::clamp<Index>(distance, 1 - length, length - 1);
        return near >= 0 ? right(near, 0) : right(0, -near);
    };
    CHECK(layer.of("c2p", [&](Index i, Index j) { return right(j, i); }) ==
          "each pair reads the row of k_r that belongs to the distance of the other sign");
    CHECK_THAT(layer.of("p2c", [&](Index i, Index j) { return of_distance(i == j ? 3 : i - j); }),
               StartsWith("the row of q_r depends on i - j, as it should, but is another one: for i - j = 0 row " +
                          std::to_string(of_distance(3)) + " instead of " + std::to_string(of_distance(0))));
}

TEST_CASE("rows read: rows that one token alone decides, and single pairs", "[kit][rows]") {
    const Layer layer = deberta();
    CHECK_THAT(layer.of("c2p", [&](Index, Index j) { return layer.right_row(0, j); }),
               StartsWith("the row of k_r depends on the key alone: key 0 reads row " +
                          std::to_string(layer.right_row(0, 0)) + ", key 1 reads row "));
    CHECK_THAT(layer.of("p2c", [&](Index i, Index) { return layer.right_row(i, 0); }),
               StartsWith("the row of q_r depends on the query alone: query 0 reads row "));
    CHECK(layer.of("c2p", [](Index i, Index j) { return i + j + 1; }) == "pair (i,j) reads row i + j + 1 of k_r");
    const auto one_pair = [&](Index i, Index j) { return i == 2 && j == 1 ? 0 : layer.right_row(i, j); };
    CHECK(layer.of("c2p", one_pair) ==
          "pairs read another row of k_r than they should, the first of them query 2 and key 1 read row 0 instead of " +
              std::to_string(layer.right_row(2, 1)));
}

TEST_CASE("rows read: numbers that no row gives are not described", "[kit][rows]") {
    const Layer layer = deberta();
    const auto right = [&](Index i, Index j) { return layer.right_row(i, j); };
    CHECK(layer.of("c2p", right) == "nothing");
    Tensor<double> found = layer.gathered_by([&](Index i, Index j) { return right(j, i); }, true);
    found[0] += 1e-3;
    CHECK_FALSE(layer.said("c2p", found));
    found[0] = std::numeric_limits<double>::quiet_NaN();
    CHECK_FALSE(layer.said("c2p", found));
    CHECK_FALSE(layer.said("c2c", layer.right("c2c")));
    CHECK_FALSE(layer.said("c2p", Tensor<double>(layer.right("c2p").shape())));  // nothing is read
}

TEST_CASE("rows read: queries that are no numbers, and tables whose rows are all alike, are not searched",
          "[kit][rows]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const auto said_with = [&](const char* stem, double value) {
        Trace port;
        for (Stage stage : range.sharp.stages()) {
            if (stage.name == std::string("layer.0.") + stem) {
                Tensor<double> values(stage.shape());
                for (Index n = 0; n < values.size(); ++n) values[n] = value;
                stage.values = values;
            }
            port.add(stage);
        }
        const Evidence evidence{range.sharp, port, range.model, range.segments};
        const Replay here(evidence, "layer.0.");
        Tensor<double> found = here.computed("c2p");
        const Tensor<double> right = found;
        found[0] += 1;
        return rows_read_instead(here, "c2p", {right, found, 1e-9, {}});
    };
    CHECK_FALSE(said_with("q", std::numeric_limits<double>::quiet_NaN()));
    CHECK_FALSE(said_with("q", std::numeric_limits<double>::infinity()));
    CHECK_FALSE(said_with("k_r", 0));
    CHECK_FALSE(said_with("k_r", 1));
}

TEST_CASE("rows read: another shift of bd_raw", "[kit][rows]") {
    const Layer layer = transformer_xl();
    const Index columns = layer.right("bd_raw").extent(3), length = layer.right("bd_raw").extent(2);
    REQUIRE(length == 5);
    const auto of = [&](const RowOf& number) { return layer.said("bd", bd_of(layer, number)).value_or("nothing"); };
    CHECK(of([&](Index i, Index j) { return i * columns + std::min(j, columns - 1); }) ==
          "pair (i,j) reads column j of bd_raw instead of column j - i + 4");
    const auto behind = [&](Index i, Index j) {
        const Index column = j - i + 6;
        return column < columns ? i * columns + column : -1;
    };
    CHECK_THAT(of(behind), StartsWith("pair (i,j) reads column j - i + 6 of bd_raw instead of column j - i + 4; ") &&
                               EndsWith(" pairs hold 0"));
    CHECK_THAT(
        of([&](Index i, Index j) { return i * (columns + 1) + j + 3; }),
        StartsWith("pair (i,j) holds number 11 i + j + 3 of a head's bd_raw [5,10], counted row by row, instead of "
                   "number 9 i + j + 4"));

    Tensor<double> not_hidden = bd_of(layer, [&](Index i, Index j) { return i * columns + j; });
    for (Index n = 0; n < not_hidden.size(); ++n)
        if (layer.right("bd")[n] == 0) not_hidden[n] = 0.25;
    CHECK_THAT(layer.said("bd", not_hidden).value_or("nothing"), EndsWith("; what the mask hides is not 0"));
}

TEST_CASE("rows read: a report says it where no mistake has a name, and where else", "[kit][rows]") {
    const Range& range = several_range(Family::transformer_xl, "txl_basic");
    Trace candidate;
    for (Stage stage : range.sharp.stages()) {
        const auto [scope, stem] = scope_and_stem(stage.name);
        if (stem != "bd_raw" && stem != "bd") continue;
        if (stem == "bd") {
            const Layer layer{range, scope};
            const Index columns = layer.right("bd_raw").extent(3);
            stage.values =
                bd_of(layer, [&](Index i, Index j) { return i + j < columns ? i * columns + i + j : Index{-1}; });
        }
        candidate.add(stage);
    }
    const std::string text = divergence_text(judged(range, candidate));
    CHECK_THAT(text, Contains("pair (i,j) reads column i + j of bd_raw instead of column j - i + 4"));
    CHECK_THAT(text, Contains("segment.2.layer.0.bd and 1 more stage\n"));  // three segments, two layers
}

namespace {

using Place = std::pair<Index, Index>;

Place row_of(Index sample, Index token) { return {sample, token}; }

/// A stage [B,T,D] or [B,H,T,d] whose row (b, t) is that of from(b, t) = {sample, token}; of sample -1 it is 0.
template <class From>
Tensor<double> moved(const Tensor<double>& right, From from) {
    const Index heads = right.rank() == 4 ? right.extent(1) : 1;
    const Index tokens = right.extent(right.rank() - 2), width = right.extent(right.rank() - 1);
    Tensor<double> found(right.shape());
    for (Index n = 0; n < right.size(); ++n) {
        const Index t = n / width % tokens, h = n / width / tokens % heads;
        const Place place = from(n / width / tokens / heads, t);
        if (place.first >= 0) found[n] = right[((place.first * heads + h) * tokens + place.second) * width + n % width];
    }
    return found;
}

std::string said_of_tokens(const Tensor<double>& right, const Tensor<double>& found) {
    const std::vector<std::string> axes =
        right.rank() == 3 ? std::vector<std::string>{"B", "T", "D"} : std::vector<std::string>{"B", "H", "T", "d"};
    return rows_of_other_tokens({right, found, 1e-9, axes}).value_or("nothing");
}

}  // namespace

TEST_CASE("pattern: rows of other tokens and of other samples", "[kit][patterns]") {
    const Tensor<double> x = random_tensor({2, 5, 6}), k = random_tensor({3, 2, 5, 4});
    const auto check = [](const Tensor<double>& right, Place (*from)(Index b, Index t), const std::string& rest) {
        CHECK_THAT(said_of_tokens(right, moved(right, from)), Equals("right rows in the wrong place: " + rest));
    };
    check(
        x, [](Index b, Index t) { return row_of(b, (t + 4) % 5); },
        "10 of 10 tokens have the row of the token before (t - 1), round the end");
    check(
        x, [](Index b, Index t) { return row_of(t < 2 ? -1 : b, t - 2); },
        "6 of 10 tokens have the row of the token 2 places before (t - 2); 4 are 0");
    check(
        k, [](Index, Index t) { return row_of(0, t); }, "10 of 15 tokens have the row of the same token of sample 0");
    check(
        x, [](Index b, Index t) { return row_of(t < 2 ? 1 - b : b, t); },
        "4 of 10 tokens have the row of the same token of the other sample");
    check(
        k, [](Index b, Index t) { return row_of(t < 4 ? (b + 2) % 3 : b, t); },
        "12 of 15 tokens have the row of the same token of sample (b + 2) mod B");
    check(
        k, [](Index b, Index t) { return row_of(b, t < 4 ? 3 - t : t); },
        "12 of 15 tokens have the row of token 3 - t");
    check(
        k, [](Index b, Index t) { return row_of(b, t < 4 ? (t + 1) % 4 : t); },
        "12 of 15 tokens have the row of the token after (t + 1), round the end");
    check(
        x, [](Index b, Index) { return row_of(b, 0); }, "8 of 10 tokens have the row of the first token");
    check(
        x, [](Index b, Index t) { return row_of((b * 5 + t) % 2, (b * 5 + t) / 2); },
        "8 of 10 tokens have the row of [(b T + t) mod B, (b T + t) / B]: [T,B] was read as [B,T]");
    check(
        x, [](Index b, Index t) { return row_of(b, b == 1 && t == 3 ? 1 : t); },
        "1 of 10 tokens has the row of another one, [1, 3] that of [1, 1]");
}

TEST_CASE("pattern: a row that is none of the right ones is not said to be another token's", "[kit][patterns]") {
    const Tensor<double> x = random_tensor({2, 5, 6});
    Tensor<double> found = moved(x, [](Index b, Index t) { return row_of(b, (t + 4) % 5); });
    found[13] += 1;
    CHECK(said_of_tokens(x, found) == "nothing");
    CHECK(said_of_tokens(x, Tensor<double>(x.shape())) == "nothing");  // all 0
    CHECK(rows_of_other_tokens(
              {x, moved(x, [](Index b, Index t) { return row_of(b, 4 - t); }), 1e-9, {"B", "Tq", "Tk"}}) ==
          std::nullopt);  // pairs
}

}  // namespace locus::test::test_rows_read
