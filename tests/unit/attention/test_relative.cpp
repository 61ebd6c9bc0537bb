#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/relative.h"
#include "core/positions/position_rows.h"
#include "core/products.h"
#include "tests/files.h"
#include "tests/max_abs.h"

namespace locus::test::test_relative {

namespace {

/// "100011/110001/111000": 1 = hidden, a row for each query.
std::string hidden_rows(const Mask& mask) {
    std::string text;
    for (Index i = 0; i < mask.rows(); ++i) {
        if (i > 0) text += '/';
        for (Index j = 0; j < mask.cols(); ++j) text += mask(i, j) ? '0' : '1';
    }
    return text;
}

}  // namespace

TEST_CASE("relative: golden vector G3", "[relative][golden]") {
    Matrix<double> keys(3, 2), q(2, 2), r(3, 2), ac(2, 3), raw(2, 3), shifted(2, 3), probs(2, 3);
    keys << 1, 0, 0, 1, 1, 1;
    q << 0, 1, 1, 1;
    RowVector<double> u(2), v(2);
    u << 0.5, 0;
    v << 0, 0.5;
    for (Index t = 0; t < 3; ++t)
        r.row(t) << std::sin(2.0 - static_cast<double>(t)), std::cos(2.0 - static_cast<double>(t));
    ac << 0.5, 1, 1.5, 1.5, 1, 2.5;
    raw << -0.624220, 0.810453, 1.5, 0.285077, 1.651924, 1.5;
    shifted << 0.810453, 1.5, 0, 0.285077, 1.651924, 1.5;
    probs << 0.301295, 0.698705, 0, 0.130989, 0.241789, 0.627222;
    CHECK(max_abs(content_term<double>(q, u, keys) - ac) <= 1e-12);
    const Matrix<double> bd_raw = position_term<double>(q, v, r);
    CHECK(max_abs(bd_raw - raw) <= 1e-6);
    const Matrix<double> bd = shift_by_index<double>(bd_raw, 3, 2);
    CHECK(max_abs(bd - shifted) <= 1e-6);
    CHECK(max_abs(shift_frames<double>(bd_raw).back().values - shifted) <= 1e-6);
    const Matrix<double> scores = (content_term<double>(q, u, keys) + bd) / std::sqrt(2.0);
    CHECK(max_abs(masked_softmax<double>(scores, transformer_xl_mask(2, 1, false, 1)) - probs) <= 1e-6);
}

TEST_CASE("relative: the sinusoid rows of Transformer-XL are those of G3", "[relative][golden]") {
    // D = 2: one frequency, w = 1.
    const Matrix<double> r = sinusoidal_rows<double>(transformer_xl_distances(3, 0), 2, SinusoidLayout::concatenated);
    for (Index t = 0; t < 3; ++t) {
        CHECK(r(t, 0) == std::sin(2.0 - static_cast<double>(t)));
        CHECK(r(t, 1) == std::cos(2.0 - static_cast<double>(t)));
    }
}

TEST_CASE("relative: direct indexing equals the shift trick on every visible cell", "[relative][law]") {
    for (const auto& [queries, memory] : {std::pair<Index, Index>{3, 3}, {5, 0}, {1, 4}, {4, 9}, {7, 2}}) {
        const Index keys = queries + memory;
        const Matrix<double> raw = Matrix<double>::Random(queries, keys);
        const Matrix<double> direct = shift_by_index<double>(raw, keys, keys - 1);
        const Matrix<double> trick = shift_frames<double>(raw).back().values;
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) {
                if (j <= i + memory) CHECK(direct(i, j) == trick(i, j));
                if (j == i + memory + 1) CHECK(trick(i, j) == 0);
                if (j > i + memory + 1)
                    CHECK(trick(i, j) == raw(i + 1, j - (i + memory + 2)));  // leaked from the next row
                if (j > i + memory) CHECK(direct(i, j) == 0);
            }
    }
}

TEST_CASE("relative: the seed's 3 x 6 shift, row by row", "[relative][golden]") {
    Matrix<double> raw(3, 6), wanted(3, 6);
    raw << 0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25;
    wanted << 2, 3, 4, 5, 0, 10, 11, 12, 13, 14, 15, 0, 20, 21, 22, 23, 24, 25;
    const auto frames = shift_frames<double>(raw);
    REQUIRE(frames.size() == 5);
    CHECK(frames.back().values == wanted);
    CHECK(frames[1].values.cols() == 7);
    CHECK(frames[2].values.rows() == 7);
    CHECK(frames[3].values.rows() == 6);
}

TEST_CASE("relative: XLNet's shift has no wrong cell when both sides have rows", "[relative][law]") {
    for (const auto& [queries, memory] : {std::pair<Index, Index>{3, 3}, {5, 0}, {2, 6}}) {
        const Index keys = queries + memory;
        const Matrix<double> both = Matrix<double>::Random(queries, keys + queries);
        CHECK(shift_frames_xlnet<double>(both, keys).back().values == shift_by_index<double>(both, keys, keys));
        const Matrix<double> uni = Matrix<double>::Random(queries, keys + 1);
        const Matrix<double> trick = shift_frames_xlnet<double>(uni, keys).back().values;
        const Matrix<double> direct = shift_by_index<double>(uni, keys, keys);
        for (Index i = 0; i < queries; ++i)
            CHECK(trick.row(i).head(i + memory + 1) == direct.row(i).head(i + memory + 1));
    }
}

TEST_CASE("relative: distances are those of the proverb's segments", "[relative][golden]") {
    // Memory of 3, segment of 3: row i of the visible cells reads i + 3 ... 0.
    const std::vector<double> r = transformer_xl_distances(6, 0);
    CHECK(r == std::vector<double>{5, 4, 3, 2, 1, 0});
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j <= i + 3; ++j)
            CHECK(r[static_cast<std::size_t>(distance_column(5, 3, i, j))] == static_cast<double>(3 + i - j));
    CHECK(transformer_xl_distances(6, 2) == std::vector<double>{2, 2, 2, 2, 1, 0});
    CHECK(xlnet_distances(2, 3, Direction::bidirectional, 0, false) == std::vector<double>{3, 2, 1, 0, -1});
    CHECK(xlnet_distances(2, 3, Direction::unidirectional, 0, false) == std::vector<double>{3, 2, 1, 0});
    CHECK(xlnet_distances(2, 3, Direction::bidirectional, 2, true) == std::vector<double>{-2, -2, -1, 0, 1});
}

TEST_CASE("relative: a + c is ac, b + d is bd", "[relative][law]") {
    const Index queries = 4, keys = 7;
    const Matrix<double> q = Matrix<double>::Random(queries, 6), k = Matrix<double>::Random(keys, 6),
                         r = Matrix<double>::Random(keys, 6);
    const RowVector<double> u = RowVector<double>::Random(6), v = RowVector<double>::Random(6);
    const RelativeTerms<double> terms = relative_terms<double>(q, k, r, u, v, keys - 1);
    CHECK(max_abs(terms.a + terms.c - content_term<double>(q, u, k)) <= 1e-14);
    CHECK(max_abs(terms.b + terms.d - shift_by_index<double>(position_term<double>(q, v, r), keys, keys - 1)) <= 1e-14);
    // (c) depends on the key alone, (d) on the distance alone.
    CHECK(terms.c.row(0) == terms.c.row(3));
    CHECK(terms.d(1, 2) == terms.d(2, 3));
    CHECK(terms.b(1, 2) != terms.b(2, 3));
}

TEST_CASE("relative: the absolute terms add up to the product they expand", "[relative][law]") {
    const Matrix<double> e = Matrix<double>::Random(5, 8), p = Matrix<double>::Random(5, 8),
                         w_q = Matrix<double>::Random(3, 8), w_k = Matrix<double>::Random(3, 8);
    const RelativeTerms<double> terms = absolute_terms<double>(e, p, w_q, w_k);
    // a W_q^T W_k b^T, rows of a by rows of b.
    const auto product = [&](const Matrix<double>& a, const Matrix<double>& b) {
        return times_transposed<double>(times_transposed<double>(a, w_q), times_transposed<double>(b, w_k));
    };
    const Matrix<double> whole = product(e + p, e + p);
    CHECK(max_abs(terms.a + terms.b + terms.c + terms.d - whole) <= 1e-13);
    CHECK(max_abs(terms.b - product(e, p)) <= 1e-13);
    CHECK(max_abs(terms.c - product(p, e)) <= 1e-13);
}

TEST_CASE("relative: masks of q = 3, m = 3", "[relative][golden]") {
    CHECK(hidden_rows(transformer_xl_mask(3, 3, false, 3)) == "000011/000001/000000");
    CHECK(hidden_rows(transformer_xl_mask(3, 3, true, 3)) == "100011/110001/111000");
    // Everything still fits into the memory: same_length hides nothing.
    CHECK(hidden_rows(transformer_xl_mask(3, 0, true, 3)) == "011/001/000");
}

TEST_CASE("relative: shapes that do not fit are refused", "[relative][bad]") {
    const auto refused = [](auto call) { return test::refusal(call, Fault::usage); };
    const Matrix<double> wide = Matrix<double>::Zero(2, 5), tall = Matrix<double>::Zero(5, 2);
    CHECK(refused([&] { content_term<double>(wide, RowVector<double>::Zero(3), wide); }).find("u has 3") !=
          std::string::npos);
    CHECK(refused([&] { shift_frames<double>(tall); }).find("[5, 2]") != std::string::npos);
    CHECK(refused([&] { shift_frames_xlnet<double>(wide, 5); }).find("more columns than keys") != std::string::npos);
    CHECK(refused([&] { shift_by_index<double>(tall, 2, 1); }).find("2 keys for 5") != std::string::npos);
}

}  // namespace locus::test::test_relative
