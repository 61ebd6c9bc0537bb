#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/io/input_file.h"
#include "core/io/safetensors.h"
#include "core/products.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_disentangled {

namespace {

/// G1 of the specification: H = 1, d = 2, T = 3, k = 2.
struct Golden {
    Matrix<double> q{{1, 0}, {0, 1}, {1, 1}}, k{{1, 2}, {0, 1}, {-1, 1}}, v{{1, 0}, {0, 1}, {2, 2}};
    Matrix<double> k_r{{1, 0}, {0, 1}, {1, 1}, {2, -1}}, q_r{{0, 1}, {1, 0}, {1, -1}, {2, 1}};
    RelativeBuckets buckets = RelativeBuckets::clamped(3, 3, 2);
};

template <class Scalar>
Matrix<Scalar> random(Index rows, Index cols, unsigned seed) {
    std::srand(seed);
    return Matrix<Scalar>::Random(rows, cols);
}

bool near(const Matrix<double>& a, const Matrix<double>& b, double tolerance) {
    return a.rows() == b.rows() && a.cols() == b.cols() && max_abs(a - b) <= tolerance;
}

}  // namespace

TEST_CASE("disentangled: golden vector G1, every term", "[disentangled][golden]") {
    const Golden g;
    CHECK(content_to_content<double>(g.q, g.k) == Matrix<double>{{1, 0, -1}, {2, 1, 1}, {3, 1, 0}});
    CHECK(content_to_position<double>(g.q, g.k_r, g.buckets) == Matrix<double>{{1, 0, 1}, {-1, 1, 1}, {1, 1, 2}});
    CHECK(position_to_content<double>(g.k, g.q_r, g.buckets) == Matrix<double>{{-1, 0, 1}, {4, -1, -1}, {4, 1, -2}});
    CHECK(position_to_content<double>(g.k, g.q_r, g.buckets, P2cIndex::paper_ji) ==
          Matrix<double>{{-1, 1, -1}, {1, -1, -1}, {2, 0, -2}});
}

TEST_CASE("disentangled: golden vector G1, probabilities and context", "[disentangled][golden]") {
    const Golden g;
    const Matrix<double> p_expected{
        {0.375261, 0.249479, 0.375261}, {0.719069, 0.140466, 0.140466}, {0.856145, 0.111185, 0.032670}};
    const Matrix<double> o_expected{{1.125782, 1.0}, {1.0, 0.421397}, {0.921485, 0.176525}};
    const Matrix<double> paper_p{
        {0.409504, 0.409504, 0.180992}, {0.429253, 0.285373, 0.285373}, {0.780225, 0.152412, 0.067363}};
    for (const P2cIndex index : {P2cIndex::official_ij, P2cIndex::paper_ji}) {
        const Matrix<double> scores =
            (content_to_content<double>(g.q, g.k) + content_to_position<double>(g.q, g.k_r, g.buckets) +
             position_to_content<double>(g.k, g.q_r, g.buckets, index)) /
            score_divisor<double>(3, 2);
        const Matrix<double> probs = masked_softmax<double>(scores, Mask());
        CHECK(near(probs, index == P2cIndex::official_ij ? p_expected : paper_p, 5e-7));
        if (index == P2cIndex::official_ij) CHECK(near(times<double>(probs, g.v), o_expected, 5e-7));
    }
}

TEMPLATE_TEST_CASE("disentangled: every position score is the plain sum over channels, bit for bit",
                   "[disentangled][law]", float, double) {
    const Index d = 5;
    for (Index queries : {1, 3, 17, 64})
        for (Index keys : {1, 6, 17, 80})
            for (const RelativeBuckets& buckets :
                 {RelativeBuckets::clamped(queries, keys, 4), RelativeBuckets::clamped(queries, keys, 90),
                  RelativeBuckets::logarithmic(queries, keys, 8, 32, OffsetClamp::official),
                  RelativeBuckets::logarithmic(queries, keys, 20, 16, OffsetClamp::hf)}) {
                const Matrix<TestType> q = random<TestType>(queries, d, 1), k = random<TestType>(keys, d, 2);
                const Matrix<TestType> table = random<TestType>(2 * buckets.span(), d, 3);
                const Matrix<TestType> c2p = content_to_position<TestType>(q, table, buckets);
                const Matrix<TestType> p2c = position_to_content<TestType>(k, table, buckets);
                for (Index i = 0; i < queries; ++i)
                    for (Index j = 0; j < keys; ++j) {
                        TestType by_query = 0, by_key = 0;
                        for (Index c = 0; c < d; ++c) {
                            by_query += q(i, c) * table(buckets.row(i, j), c);
                            by_key += k(j, c) * table(buckets.row(i, j), c);
                        }
                        REQUIRE(c2p(i, j) == by_query);
                        REQUIRE(p2c(i, j) == by_key);
                    }
            }
}

TEST_CASE("disentangled: Hugging Face's transposed gather is the official one", "[disentangled][law]") {
    const Index tokens = 16, k = 5;
    const Matrix<double> keys = random<double>(tokens, 4, 4), q_r = random<double>(2 * k, 4, 5);
    const RelativeBuckets buckets = RelativeBuckets::clamped(tokens, tokens, k);
    // transformers gathers K Qr^T at clamp(-(a - b) + k) and transposes; minus sign and transpose cancel.
    Matrix<double> gathered(tokens, tokens);
    for (Index a = 0; a < tokens; ++a)
        for (Index b = 0; b < tokens; ++b)
            gathered(a, b) = keys.row(a).dot(q_r.row(std::clamp<Index>(-(a - b) + k, 0, 2 * k - 1)));
    CHECK(near(position_to_content<double>(keys, q_r, buckets), gathered.transpose(), 1e-15));
    const Matrix<double> paper = position_to_content<double>(keys, q_r, buckets, P2cIndex::paper_ji);
    CHECK(max_abs(paper - gathered.transpose()) > 0.1);
}

TEST_CASE("disentangled: the paper's p2c differs off the diagonal only", "[disentangled][law]") {
    const Index tokens = 16;
    const Matrix<double> k = random<double>(tokens, 4, 6), q_r = random<double>(32, 4, 7);
    const RelativeBuckets buckets = RelativeBuckets::clamped(tokens, tokens, 16);
    const Matrix<double> difference =
        position_to_content<double>(k, q_r, buckets) - position_to_content<double>(k, q_r, buckets, P2cIndex::paper_ji);
    CHECK(difference.diagonal().isZero(0));
    CHECK((difference.array() != 0).count() == 240);
}

TEST_CASE("disentangled: a zero table adds nothing", "[disentangled][law]") {
    const Matrix<float> q = random<float>(5, 4, 8), zero = Matrix<float>::Zero(6, 4);
    CHECK(content_to_position<float>(q, zero, RelativeBuckets::clamped(5, 5, 3)).isZero(0));
    CHECK(position_to_content<float>(q, zero, RelativeBuckets::clamped(5, 5, 3)).isZero(0));
}

TEST_CASE("disentangled: three queries of six equal the first rows of the square", "[disentangled][law]") {
    const Matrix<double> q = random<double>(6, 4, 9), k = random<double>(6, 4, 10), table = random<double>(8, 4, 11);
    const RelativeBuckets square = RelativeBuckets::clamped(6, 6, 4), wide = RelativeBuckets::clamped(3, 6, 4);
    CHECK(content_to_position<double>(q.topRows(3), table, wide) ==
          content_to_position<double>(q, table, square).topRows(3));
    CHECK(position_to_content<double>(k, table, wide) == position_to_content<double>(k, table, square).topRows(3));
    CHECK(content_to_content<double>(q.topRows(3), k) == content_to_content<double>(q, k).topRows(3));
}

TEST_CASE("disentangled: the paper's p2c with fewer queries than keys", "[disentangled][law]") {
    const Matrix<double> k = random<double>(6, 4, 16), q_r = random<double>(4, 4, 17);
    const RelativeBuckets pairs_ji = RelativeBuckets::clamped(6, 3, 2);  // key j asks with j - i
    const Matrix<double> p2c = position_to_content<double>(k, q_r, pairs_ji, P2cIndex::paper_ji);
    REQUIRE((p2c.rows() == 3 && p2c.cols() == 6));
    for (Index i = 0; i < 3; ++i)
        for (Index j = 0; j < 6; ++j)
            CHECK(p2c(i, j) == Approx(k.row(j).dot(q_r.row(std::clamp<Index>(j - i + 2, 0, 3)))).epsilon(1e-14));
}

TEST_CASE("disentangled: p2p depends on i - j alone", "[disentangled][law]") {
    const Matrix<double> q_r = random<double>(8, 4, 12), k_r = random<double>(8, 4, 13);
    const Matrix<double> p2p = position_to_position<double>(q_r, k_r, RelativeBuckets::clamped(6, 6, 4));
    for (Index i = 1; i < 6; ++i)
        for (Index j = 1; j < 6; ++j) CHECK(p2p(i, j) == p2p(i - 1, j - 1));
    CHECK(p2p(0, 1) == products_of_rows<double>(q_r, k_r)(5, 3));
}

TEST_CASE("disentangled: the scale counts the terms", "[disentangled]") {
    CHECK(score_divisor<double>(Terms{true, true, false}.count(), 64) == std::sqrt(192.0));
    CHECK(score_divisor<double>(Terms{true, false, false}.count(), 64) == std::sqrt(128.0));
    CHECK(score_divisor<double>(Terms{false, false, false}.count(), 64) == 8.0);
}

TEST_CASE("disentangled: sizes that do not fit are refused", "[disentangled]") {
    const Matrix<double> q = random<double>(5, 4, 14), table = random<double>(6, 4, 15);
    const RelativeBuckets buckets = RelativeBuckets::clamped(5, 5, 3);
    CHECK_THROWS_AS(content_to_position<double>(q, random<double>(6, 3, 1), buckets), Error);
    CHECK_THROWS_AS(content_to_position<double>(q, random<double>(7, 4, 1), buckets), Error);
    CHECK_THROWS_AS(content_to_position<double>(q.topRows(4), table, buckets), Error);
    CHECK_THROWS_AS(position_to_content<double>(q.topRows(4), table, buckets), Error);
    CHECK_THROWS_AS(content_to_content<double>(q, random<double>(5, 3, 1)), Error);
}

// Gradients of disentangled attention against torch's autograd of the authors' code, and against differences.

namespace {

Matrix<double> sheet(const Trace& trace, const std::string& name, Index at) {
    return trace.at(name).as<double>().matrix(at);
}

/// Forward of one head, with everything that backward needs.
Matrix<double> forward(DisentangledHead<double>& head, const RelativeBuckets& buckets, const Mask& mask) {
    Matrix<double> scores = content_to_content<double>(head.q, head.k);
    if (head.k_r.size() > 0) scores += content_to_position<double>(head.q, head.k_r, buckets);
    if (head.q_r.size() > 0) scores += position_to_content<double>(head.k, head.q_r, buckets, head.p2c_index);
    head.probs = masked_softmax<double>(scores / head.divisor, mask);
    Matrix<double> dropped = head.probs;
    if (head.keep.size() > 0) dropped.array() *= head.keep.array();
    return times<double>(dropped, head.v);
}

}  // namespace

TEST_CASE("disentangled backward: torch's autograd of the authors' code, three shapes", "[backward][oracle]") {
    for (const std::string name : {"grads_deberta_short", "grads_deberta_long", "grads_deberta_cross"}) {
        const auto probes = read_json_file(kOracle / name / "case.json").at("probes");
        const Trace inputs = read_trace(kOracle / name / "inputs.safetensors"),
                    trace = read_trace(kOracle / name / "trace.safetensors");
        const Index batch = probes.at("B"), heads = probes.at("H"), width = probes.at("d");
        const Index queries = probes.at("Tq"), keys = probes.at("Tk"), span = probes.at("span"),
                    bucket_count = probes.at("buckets");
        const RelativeBuckets buckets =
            bucket_count > 0 ? RelativeBuckets::logarithmic(queries, keys, bucket_count, probes.at("max_position"),
                                                            OffsetClamp::official)
                             : RelativeBuckets::clamped(queries, keys, span);
        CHECK(buckets.matrix().values() == inputs.at("index").as<std::int64_t>().values());
        std::vector<Matrix<double>> k_r(static_cast<std::size_t>(heads)), q_r = k_r;
        for (Index at = 0; at < batch * heads; ++at) {
            const Index b = at / heads, h = at % heads;
            INFO(name << ", sample " << b << ", head " << h);
            DisentangledHead<double> head{sheet(inputs, "q", at),    sheet(inputs, "k", at),
                                          sheet(inputs, "v", at),    sheet(inputs, "k_r", h),
                                          sheet(inputs, "q_r", h),   {},
                                          sheet(inputs, "keep", at), score_divisor<double>(3, width)};
            const Mask mask = inputs.at("mask").as<std::int64_t>().matrix(b).cast<std::uint8_t>();
            const Matrix<double> context = forward(head, buckets, mask);
            const auto joined = [&](const Trace& from, const char* stage) {
                return Matrix<double>(from.at(stage).as<double>().matrix(b).middleCols(h * width, width));
            };
            CHECK(near(context, joined(trace, "context"), 1e-12));
            const auto grad = disentangled_backward<double>(head, buckets, joined(inputs, "d_context"));
            CHECK(near(grad.q, sheet(trace, "grad.q", at), 1e-12));
            CHECK(near(grad.k, sheet(trace, "grad.k", at), 1e-12));
            CHECK(near(grad.v, sheet(trace, "grad.v", at), 1e-12));
            auto& of_k_r = k_r[static_cast<std::size_t>(h)];
            auto& of_q_r = q_r[static_cast<std::size_t>(h)];
            of_k_r = b == 0 ? grad.k_r : Matrix<double>(of_k_r + grad.k_r);
            of_q_r = b == 0 ? grad.q_r : Matrix<double>(of_q_r + grad.q_r);
        }
        for (Index h = 0; h < heads; ++h) {
            INFO(name << ", head " << h);
            const auto &of_k_r = k_r[static_cast<std::size_t>(h)], &of_q_r = q_r[static_cast<std::size_t>(h)];
            CHECK(near(of_k_r, sheet(trace, "grad.k_r", h), 1e-12));
            CHECK(near(of_q_r, sheet(trace, "grad.q_r", h), 1e-12));
            for (Index row = 0; row < 2 * buckets.span(); ++row)
                if (std::find(buckets.rows().begin(), buckets.rows().end(), row) == buckets.rows().end())
                    CHECK((of_k_r.row(row).isZero(0) && of_q_r.row(row).isZero(0)));
        }
    }
}

TEST_CASE("disentangled backward: central differences, with either term off", "[backward]") {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    const auto matrix = [&](Index rows, Index cols) {
        return Matrix<double>(Matrix<double>::NullaryExpr(rows, cols, [&] { return normal(random); }));
    };
    const RelativeBuckets buckets = RelativeBuckets::logarithmic(6, 9, 4, 8, OffsetClamp::official);
    for (const bool c2p : {true, false})
        for (const bool p2c : {true, false}) {
            DisentangledHead<double> head{matrix(6, 4), matrix(9, 4), matrix(9, 5), {}, {}, {}, {}, std::sqrt(8.0)};
            if (c2p) head.k_r = matrix(8, 4);
            if (p2c) head.q_r = matrix(8, 4);
            Mask mask = Mask::Ones(6, 9);
            mask.row(4).setZero();
            mask.col(2).setZero();
            const Matrix<double> weights = matrix(6, 5);  // the loss is their sum with the context
            forward(head, buckets, mask);
            const auto grad = disentangled_backward<double>(head, buckets, weights);
            const auto loss = [&] {
                DisentangledHead<double> moved = head;
                return forward(moved, buckets, mask).cwiseProduct(weights).sum();
            };
            check_differences("q", head.q, grad.q, loss);
            check_differences("k", head.k, grad.k, loss);
            check_differences("v", head.v, grad.v, loss);
            check_differences("k_r", head.k_r, grad.k_r, loss);
            check_differences("q_r", head.q_r, grad.q_r, loss);
        }
}

TEST_CASE("disentangled backward: central differences with p2c as the paper prints it, delta(j,i)", "[backward]") {
    Numbers numbers(5);
    const RelativeBuckets buckets = RelativeBuckets::logarithmic(7, 7, 4, 6, OffsetClamp::official);
    DisentangledHead<double> head{numbers.matrix(7, 4),
                                  numbers.matrix(7, 4),
                                  numbers.matrix(7, 5),
                                  numbers.matrix(8, 4),
                                  numbers.matrix(8, 4),
                                  {},
                                  {},
                                  std::sqrt(12.0)};
    const Matrix<double> weights = numbers.matrix(7, 5);
    forward(head, buckets, {});
    const auto official = disentangled_backward<double>(head, buckets, weights);
    head.p2c_index = P2cIndex::paper_ji;
    forward(head, buckets, {});
    const auto grad = disentangled_backward<double>(head, buckets, weights);
    const auto loss = [&] {
        DisentangledHead<double> moved = head;
        return forward(moved, buckets, {}).cwiseProduct(weights).sum();
    };
    check_differences("q", head.q, grad.q, loss);
    check_differences("k", head.k, grad.k, loss);
    check_differences("k_r", head.k_r, grad.k_r, loss);
    check_differences("q_r", head.q_r, grad.q_r, loss);
    CHECK(max_abs(grad.q_r - official.q_r) > 0.01);
}

TEST_CASE("disentangled backward: central differences of the position-to-position term", "[backward]") {
    Numbers numbers(6);
    const RelativeBuckets buckets = RelativeBuckets::clamped(7, 7, 4);
    Matrix<double> q_r = numbers.matrix(8, 3), k_r = numbers.matrix(8, 3);
    const Matrix<double> d_p2p = numbers.matrix(7, 7);
    const auto loss = [&] { return position_to_position<double>(q_r, k_r, buckets).cwiseProduct(d_p2p).sum(); };
    const auto grad = position_to_position_backward<double>(q_r, k_r, buckets, d_p2p);
    check_differences("q_r", q_r, grad.q_r, loss);
    check_differences("k_r", k_r, grad.k_r, loss);
    const Matrix<float> q_f = q_r.cast<float>(), k_f = k_r.cast<float>(), d_f = d_p2p.cast<float>();
    CHECK(near(position_to_position_backward<float>(q_f, k_f, buckets, d_f).q_r.cast<double>(), grad.q_r, 1e-5));
    CHECK(refusal([&] { position_to_position_backward<double>(q_r, k_r.topRows(7), buckets, d_p2p); }, Fault::usage) ==
          "position_to_position_backward: k_r is 7 x 3, expected 8 x 3");
}

TEST_CASE("disentangled backward: what does not fit is named", "[backward]") {
    const RelativeBuckets buckets = RelativeBuckets::clamped(3, 4, 2);
    const auto zero = [](Index rows, Index cols) { return Matrix<double>(Matrix<double>::Zero(rows, cols)); };
    const DisentangledHead<double> right{zero(3, 2), zero(4, 2), zero(4, 2), zero(4, 2), zero(4, 2), zero(3, 4), {}, 1};
    const auto refusal = [&](auto change) {
        DisentangledHead<double> head = right;
        change(head);
        try {
            disentangled_backward<double>(head, buckets, zero(3, 2));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("computed");
    };
    CHECK(refusal([](auto&) {}) == "computed");
    CHECK(refusal([&](auto& head) { head.q = zero(2, 2); }) == "disentangled_backward: q is 2 x 2, expected 3 x 2");
    CHECK(refusal([&](auto& head) { head.k_r = zero(5, 2); }) == "disentangled_backward: k_r is 5 x 2, expected 4 x 2");
    CHECK(refusal([&](auto& head) { head.probs = zero(4, 3); }) ==
          "disentangled_backward: probs is 4 x 3, expected 3 x 4");
    CHECK(refusal([&](auto& head) { head.p2c_index = P2cIndex::paper_ji; }) ==
          "disentangled_backward: p2c by delta(j,i) of 3 queries and 4 keys, expected as many: the same buckets "
          "serve both terms");
    CHECK(refusal([&](auto& head) { head.keep = zero(1, 1); }) ==
          "disentangled_backward: keep is 1 x 1, expected 3 x 4");
}

namespace {

template <class Scalar>
HeadTensors<Scalar> random_head(Index tokens, Index d, Index span, bool masked) {
    HeadTensors<Scalar> head{Matrix<Scalar>::Random(tokens, d) * 3, Matrix<Scalar>::Random(tokens, d) * 3,
                             Matrix<Scalar>::Random(2 * span, d) * 3, Matrix<Scalar>::Random(2 * span, d) * 3, Mask()};
    if (masked) {
        head.mask = Mask::Ones(tokens, tokens);
        head.mask.col(tokens - 1).setZero();
        head.mask.row(tokens - 1).setZero();
        head.mask(0, 1) = 0;
    }
    return head;
}

}  // namespace

TEMPLATE_TEST_CASE("explain_cell: every cell is replayed to the last bit", "[disentangled][explain][law]", float,
                   double) {
    for (const bool masked : {false, true})
        for (const P2cIndex index : {P2cIndex::official_ij, P2cIndex::paper_ji})
            for (const Index tokens : {1, 7, 40}) {
                const RelativeBuckets buckets =
                    RelativeBuckets::logarithmic(tokens, tokens, 8, 32, OffsetClamp::official);
                const auto head = random_head<TestType>(tokens, 33, buckets.span(), masked && tokens > 1);
                const Matrix<TestType> c2c = content_to_content<TestType>(head.q, head.k);
                const Matrix<TestType> c2p = content_to_position<TestType>(head.q, head.k_r, buckets);
                const Matrix<TestType> p2c = position_to_content<TestType>(head.k, head.q_r, buckets, index);
                const Matrix<TestType> scores = (c2c + c2p + p2c) / score_divisor<TestType>(3, 33);
                const Matrix<TestType> probs = masked_softmax<TestType>(scores, head.mask);
                for (Index i = 0; i < tokens; ++i)
                    for (Index j = 0; j < tokens; ++j) {
                        const auto cell = explain_cell<TestType>(head, buckets, index, 3, i, j);
                        REQUIRE(cell.c2c.value == c2c(i, j));
                        REQUIRE(cell.c2p.value == c2p(i, j));
                        REQUIRE(cell.p2c.value == p2c(i, j));
                        REQUIRE(cell.score == scores(i, j));
                        REQUIRE(cell.probability == probs(i, j));
                        REQUIRE(cell.c2p.running.back() == cell.c2p.value);
                    }
            }
}

TEST_CASE("explain_cell: says which row of the table and why", "[disentangled][explain]") {
    const RelativeBuckets buckets = RelativeBuckets::logarithmic(40, 40, 8, 32, OffsetClamp::official);
    const auto cell =
        explain_cell<double>(random_head<double>(40, 4, 8, false), buckets, P2cIndex::official_ij, 3, 30, 4);
    CHECK(cell.offset == 26);
    CHECK(cell.bucket == 7);
    CHECK(cell.c2p.row == 15);
    CHECK(cell.p2c.row == 15);
}

TEST_CASE("explain_cell: a hidden pair has probability 0 and says so", "[disentangled][explain]") {
    const RelativeBuckets buckets = RelativeBuckets::clamped(7, 7, 3);
    const auto cell = explain_cell<float>(random_head<float>(7, 4, 3, true), buckets, P2cIndex::official_ij, 3, 0, 1);
    CHECK_FALSE(cell.visible);
    CHECK(cell.probability == 0);
}

TEST_CASE("explain_cell: a cell outside the scores is refused", "[disentangled][explain]") {
    const RelativeBuckets buckets = RelativeBuckets::clamped(7, 7, 3);
    CHECK_THROWS_AS(explain_cell<float>(random_head<float>(7, 4, 3, false), buckets, P2cIndex::official_ij, 3, 7, 0),
                    Error);
    // delta(j,i) takes the same buckets, which a decoder of three queries on six keys has not.
    HeadTensors<float> head = random_head<float>(6, 4, 3, false);
    head.q = head.q.topRows(3).eval();
    const RelativeBuckets wide = RelativeBuckets::clamped(3, 6, 3);
    CHECK_NOTHROW(explain_cell<float>(head, wide, P2cIndex::official_ij, 3, 0, 5));
    CHECK(refusal([&] { explain_cell<float>(head, wide, P2cIndex::paper_ji, 3, 0, 5); }, Fault::usage) ==
          "explain_cell: p2c by delta(j,i) of 3 queries and 6 keys, expected as many: the same buckets serve both "
          "terms");
}

}  // namespace locus::test::test_disentangled
