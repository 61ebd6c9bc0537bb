// The microscopes of rotary and of linear attention give the bits of the model and of the matrix functions.
#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/linear.h"
#include "core/attention/rotary.h"
#include "core/io/checkpoint.h"
#include "core/models/model.h"

namespace locus::test::test_microscope_rotary {

namespace {

/// A head with positions after a cached prefix, channels beyond the table left unturned if `partial`.
template <class Scalar>
RotaryHeadTensors<Scalar> random_rotary_head(Index tokens, Index d, RotaryLayout layout, bool partial, bool masked) {
    const auto theta = inverse_frequencies(partial ? d / 2 : d);
    RotaryHeadTensors<Scalar> head{Matrix<Scalar>::Random(tokens, d) * 3,
                                   Matrix<Scalar>::Random(tokens, d) * 3,
                                   rotary_table<Scalar>(theta, 5, tokens),
                                   rotary_table<Scalar>(theta, 0, tokens),
                                   layout,
                                   Mask()};
    if (masked) {
        head.mask = Mask::Ones(tokens, tokens);
        head.mask.col(tokens - 1).setZero();
        head.mask.row(0).setZero();
    }
    return head;
}

/// Every cell of every head of tiny-roformer against the stages of its trace.
template <class Scalar>
void check_model() {
    const Checkpoint files = open_checkpoint(resolve_model("tiny-roformer"));
    const auto model = open_model<Scalar>(files.config_json, files.config_file.string(), files.weights);
    ModelInput input;
    input.tokens = IndexTensor({1, 11}, {2, 40, 453, 4, 553, 324, 171, 453, 4, 17, 3});
    const Trace trace = model->forward({input}, Dialect::official);
    const auto rows = [&](const std::string& name) { return trace.at(name).template as<Scalar>().rows(); };
    const RotaryTable<Scalar> table{rows("rotary.sin"), rows("rotary.cos")};
    for (Index l = 0; l < model->sizes().layers; ++l)
        for (Index h = 0; h < model->sizes().heads; ++h) {
            const auto stage = [&](const char* stem) -> Matrix<Scalar> {
                return trace.at("layer." + std::to_string(l) + "." + stem).template as<Scalar>().matrix(h);
            };
            const RotaryHeadTensors<Scalar> head{stage("q"), stage("k"), table, table, RotaryLayout::interleaved, {}};
            const Matrix<Scalar> q_rot = stage("q_rot"), k_rot = stage("k_rot"), scores = stage("scores"),
                                 probs = stage("probs");
            for (Index i = 0; i < 11; ++i)
                for (Index j = 0; j < 11; ++j) {
                    const auto cell = explain_rotary_cell<Scalar>(head, i, j);
                    for (const RotatedPlane<Scalar>& plane : cell.planes) {
                        REQUIRE(plane.q_a_rot == q_rot(i, plane.a));
                        REQUIRE(plane.q_b_rot == q_rot(i, plane.b));
                        REQUIRE(plane.k_a_rot == k_rot(j, plane.a));
                        REQUIRE(plane.k_b_rot == k_rot(j, plane.b));
                    }
                    REQUIRE(cell.score == scores(i, j));
                    REQUIRE(cell.softmax.probability == probs(i, j));
                }
        }
}

}  // namespace

TEMPLATE_TEST_CASE("rotary microscope: every cell of tiny-roformer is replayed to the last bit",
                   "[microscope][rope][law]", float, double) {
    check_model<TestType>();
}

TEMPLATE_TEST_CASE("rotary microscope: both layouts, prefixes, unturned channels and masks to the last bit",
                   "[microscope][rope][law]", float, double) {
    for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split})
        for (const bool partial : {false, true})
            for (const bool masked : {false, true})
                for (const Index tokens : {1, 7, 40}) {
                    const auto head = random_rotary_head<TestType>(tokens, 36, layout, partial, masked && tokens > 1);
                    const auto scores =
                        rotary_scores<TestType>(head.q, head.k, head.q_table, head.k_table, head.layout);
                    const auto probs = masked_softmax<TestType>(scores, head.mask);
                    for (Index i = 0; i < tokens; ++i)
                        for (Index j = 0; j < tokens; ++j) {
                            const auto cell = explain_rotary_cell<TestType>(head, i, j);
                            REQUIRE(cell.score == scores(i, j));
                            REQUIRE(cell.softmax.probability == probs(i, j));
                            REQUIRE(cell.running.back() == cell.sum);
                        }
                }
}

TEST_CASE("rotary microscope: a plane's step is its lengths times the cosine of the angle between, rotated by m - n",
          "[microscope][rope][law]") {
    const auto head = random_rotary_head<double>(9, 16, RotaryLayout::half_split, false, false);
    const auto theta = inverse_frequencies(16);
    for (const auto& [i, j] : {std::pair<Index, Index>{8, 1}, {0, 7}, {4, 4}}) {
        const auto cell = explain_rotary_cell<double>(head, i, j);
        for (std::size_t t = 0; t < cell.planes.size(); ++t) {
            const auto& plane = cell.planes[t];
            const auto a = static_cast<Index>(t), b = static_cast<Index>(t) + 8;
            CHECK(plane.a == a);
            CHECK(plane.b == b);
            CHECK(plane.q_a == head.q(i, a));
            CHECK(plane.q_b == head.q(i, b));
            CHECK(plane.k_a == head.k(j, a));
            CHECK(plane.k_b == head.k(j, b));
            const double q_angle = static_cast<double>(i + 5) * theta[t], k_angle = static_cast<double>(j) * theta[t];
            CHECK(plane.q_cos == Approx(std::cos(q_angle)).margin(1e-12));
            CHECK(plane.q_sin == Approx(std::sin(q_angle)).margin(1e-12));
            CHECK(plane.k_cos == Approx(std::cos(k_angle)).margin(1e-12));
            CHECK(plane.k_sin == Approx(std::sin(k_angle)).margin(1e-12));
            CHECK(plane.product_a == plane.q_a_rot * plane.k_a_rot);
            CHECK(plane.product_b == plane.q_b_rot * plane.k_b_rot);
            const double lengths = std::hypot(plane.q_a, plane.q_b) * std::hypot(plane.k_a, plane.k_b);
            const double between = std::atan2(plane.q_b, plane.q_a) - std::atan2(plane.k_b, plane.k_a);
            const double rotated = between + static_cast<double>(i + 5 - j) * theta[t];
            CHECK(plane.step == Approx(lengths * std::cos(rotated)).margin(1e-12));
        }
    }
}

TEST_CASE("rotary microscope: what does not fit is refused", "[microscope][rope]") {
    auto head = random_rotary_head<float>(4, 8, RotaryLayout::interleaved, false, false);
    CHECK_THROWS_WITH(explain_rotary_cell<float>(head, 4, 0), Catch::Contains("lies outside 4 x 4"));
    CHECK_THROWS_WITH(explain_rotary_cell<float>(head, 0, -1), Catch::Contains("lies outside 4 x 4"));
    const auto refuses = [&](auto damage, const char* named) {
        auto damaged = head;
        damage(damaged);
        CHECK_THROWS_WITH(explain_rotary_cell<float>(damaged, 0, 0), Catch::Contains(named));
    };
    refuses([](auto& h) { h.k = Matrix<float>::Random(4, 6); }, "queries of 8 channels and keys of 6");
    refuses([](auto& h) { h.q_table = rotary_table<float>(inverse_frequencies(12), 0, 4); }, "and 12 channels");
    // A row that sees no key has what its code makes of that.
    head.mask = Mask::Ones(4, 4);
    head.mask.row(2).setZero();
    CHECK(explain_rotary_cell<float>(head, 2, 1).softmax.probability == 0);
    head.masked_row = MaskedRow::uniform;
    CHECK(explain_rotary_cell<float>(head, 2, 1).softmax.probability == 0.25f);
    head.k_table = head.k_table.rows(0, 3);
    CHECK_THROWS_WITH(explain_rotary_cell<float>(head, 0, 0), Catch::Contains("angles for 3 positions"));
}

TEMPLATE_TEST_CASE("linear microscope: every weight is replayed to the last bit", "[microscope][linear][law]", float,
                   double) {
    for (const LinearForm form : {LinearForm::paper, LinearForm::rotated_first})
        for (const bool causal : {false, true})
            for (const bool padded : {false, true})
                for (const Index tokens : {1, 7, 40}) {
                    const Matrix<TestType> q = Matrix<TestType>::Random(tokens, 16) * 2,
                                           k = Matrix<TestType>::Random(tokens, 16) * 2;
                    const auto table = rotary_table<TestType>(inverse_frequencies(16), 0, tokens);
                    std::vector<bool> visible;
                    if (padded) {
                        visible.assign(static_cast<std::size_t>(tokens), true);
                        visible.back() = tokens == 1;
                    }
                    const auto weights = linear_attention_weights<TestType>(q, k, table, RotaryLayout::interleaved,
                                                                            form, causal, visible);
                    for (Index i = 0; i < tokens; ++i)
                        for (Index j = 0; j < tokens; ++j) {
                            const auto cell = explain_linear_cell<TestType>(q, k, table, RotaryLayout::interleaved,
                                                                            form, causal, visible, i, j);
                            REQUIRE(cell.weight == weights(i, j));
                            REQUIRE(cell.keys.size() == static_cast<std::size_t>(tokens));
                            const LinearKey<TestType>& key = cell.keys[static_cast<std::size_t>(j)];
                            const bool seen = (!causal || j <= i) && (visible.empty() || visible[j]);
                            REQUIRE(key.numerator == (seen ? cell.running.back() : TestType(0)));
                            REQUIRE((key.positive > 0) == seen);
                        }
                }
}

TEST_CASE("linear microscope: a query that sees no key weighs nothing, as in the matrix form", "[microscope][linear]") {
    const Matrix<float> q = Matrix<float>::Random(3, 8), k = Matrix<float>::Random(3, 8);
    const auto table = rotary_table<float>(inverse_frequencies(8), 0, 3);
    const std::vector<bool> nothing(3, false);
    const auto weights =
        linear_attention_weights<float>(q, k, table, RotaryLayout::interleaved, LinearForm::paper, false, nothing);
    for (Index j = 0; j < 3; ++j) {
        const auto cell =
            explain_linear_cell<float>(q, k, table, RotaryLayout::interleaved, LinearForm::paper, false, nothing, 1, j);
        CHECK(cell.weight == 0);
        CHECK(cell.weight == weights(1, j));
    }
}

TEST_CASE("linear microscope: every step of a weight, and what does not fit", "[microscope][linear]") {
    const Matrix<double> q = Matrix<double>::Random(4, 6), k = Matrix<double>::Random(4, 6);
    const std::vector<double> theta = inverse_frequencies(6);
    const auto table = rotary_table<double>(theta, 0, 4);
    const auto explain = [&](const Matrix<double>& keys, const std::vector<bool>& visible, Index i, Index j) {
        return explain_linear_cell<double>(q, keys, table, RotaryLayout::interleaved, LinearForm::paper, false, visible,
                                           i, j);
    };
    const auto cell = explain(k, {}, 3, 1);
    const auto phi = [](double x) { return x > 0 ? x + 1 : std::exp(x); };
    double sum = 0;
    for (Index c = 0; c < 6; ++c) {
        const auto at = static_cast<std::size_t>(c);
        CHECK(cell.phi_q[at] == Approx(phi(q(3, c))));
        CHECK(cell.phi_k[at] == Approx(phi(k(1, c))));
        const Index other = c % 2 == 0 ? c + 1 : c - 1;
        const double sign = c % 2 == 0 ? -1 : 1, angle = theta[at / 2];
        CHECK(cell.left[at] ==
              Approx(phi(q(3, c)) * std::cos(3 * angle) + sign * phi(q(3, other)) * std::sin(3 * angle)));
        CHECK(cell.right[at] == Approx(phi(k(1, c)) * std::cos(angle) + sign * phi(k(1, other)) * std::sin(angle)));
        CHECK(cell.products[at] == cell.left[at] * cell.right[at]);
        sum += cell.products[at];
        CHECK(cell.running[at] == sum);
    }
    double above = 0, below = 0;
    for (const LinearKey<double>& key : cell.keys) {
        above += key.numerator;
        below += key.positive;
        CHECK(key.running_numerator == above);
        CHECK(key.running_denominator == below);
    }
    CHECK_THROWS_WITH(explain(k, {}, 0, 4), Catch::Contains("(0, 4) lies outside 4 x 4"));
    CHECK_THROWS_WITH(explain(k, {}, -1, 0), Catch::Contains("(-1, 0) lies outside 4 x 4"));
    CHECK_THROWS_WITH(explain(k.topRows(3), {}, 0, 0), Catch::Contains("expected the same"));
    CHECK_THROWS_WITH(explain(k.leftCols(4), {}, 0, 0), Catch::Contains("expected the same"));
    CHECK_THROWS_WITH(explain(k, {true, true}, 0, 0), Catch::Contains("2 marks for 4 keys"));
}

TEST_CASE("linear microscope: the weights it explains make what the fast form makes", "[microscope][linear][law]") {
    const Matrix<double> q = Matrix<double>::Random(9, 8), k = Matrix<double>::Random(9, 8),
                         v = Matrix<double>::Random(9, 3);
    const auto table = rotary_table<double>(inverse_frequencies(8), 0, 9);
    const auto fast = linear_attention<double>(q, k, v, table, RotaryLayout::interleaved, LinearForm::paper);
    for (Index i = 0; i < 9; ++i) {
        const auto cell =
            explain_linear_cell<double>(q, k, table, RotaryLayout::interleaved, LinearForm::paper, false, {}, i, 0);
        RowVector<double> sum = RowVector<double>::Zero(3);
        for (std::size_t j = 0; j < cell.keys.size(); ++j) sum += cell.keys[j].weight * v.row(static_cast<Index>(j));
        for (Index c = 0; c < 3; ++c) CHECK(sum[c] == Approx(fast(i, c)).epsilon(1e-10));
        CHECK(cell.keys.back().running_denominator == cell.denominator);
    }
}

}  // namespace locus::test::test_microscope_rotary
