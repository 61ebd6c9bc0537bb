// Gradients of disentangled attention against torch's autograd of the authors' code, and against differences.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <random>

#include "core/attention/disentangled_backward.h"
#include "core/attention/slices_backward.h"
#include "core/io/input_file.h"
#include "core/io/safetensors.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_disentangled_backward {

namespace {

Matrix<double> sheet(const Trace& trace, const std::string& name, Index at) {
    return trace.at(name).as<double>().matrix(at);
}

/// Forward of one head, with everything that backward needs.
Matrix<double> forward(DisentangledHead<double>& head, const RelativeBuckets& line, const Mask& mask) {
    Matrix<double> scores = content_to_content<double>(head.q, head.k);
    if (head.k_r.size() > 0) scores += content_to_position<double>(head.q, head.k_r, line);
    if (head.q_r.size() > 0) scores += position_to_content<double>(head.k, head.q_r, line, head.p2c_index);
    head.probs = masked_softmax<double>(scores / head.divisor, mask);
    Matrix<double> dropped = head.probs;
    if (head.keep.size() > 0) dropped.array() *= head.keep.array();
    return dropped * head.v;
}

}  // namespace

TEST_CASE("disentangled backward: torch's autograd of the authors' code, three shapes", "[backward][oracle]") {
    for (const std::string name : {"grads_deberta_short", "grads_deberta_long", "grads_deberta_cross"}) {
        const auto probes = read_json_file(kOracle / name / "case.json").at("probes");
        const Trace inputs = read_trace(kOracle / name / "inputs.safetensors"),
                    trace = read_trace(kOracle / name / "trace.safetensors");
        const Index batch = probes.at("B"), heads = probes.at("H"), width = probes.at("d");
        const Index queries = probes.at("Tq"), keys = probes.at("Tk"), span = probes.at("span"),
                    buckets = probes.at("buckets");
        const RelativeBuckets line =
            buckets > 0
                ? RelativeBuckets::logarithmic(queries, keys, buckets, probes.at("max_position"), OffsetClamp::official)
                : RelativeBuckets::clamped(queries, keys, span);
        CHECK(line.matrix().values() == inputs.at("index").as<std::int64_t>().values());
        std::vector<Matrix<double>> k_r(static_cast<std::size_t>(heads)), q_r = k_r;
        for (Index at = 0; at < batch * heads; ++at) {
            const Index b = at / heads, h = at % heads;
            INFO(name << ", sample " << b << ", head " << h);
            DisentangledHead<double> head{sheet(inputs, "q", at),    sheet(inputs, "k", at),
                                          sheet(inputs, "v", at),    sheet(inputs, "k_r", h),
                                          sheet(inputs, "q_r", h),   {},
                                          sheet(inputs, "keep", at), score_divisor<double>(3, width)};
            const Mask mask = inputs.at("mask").as<std::int64_t>().matrix(b).cast<std::uint8_t>();
            const Matrix<double> context = forward(head, line, mask);
            const auto joined = [&](const Trace& from, const char* stage) {
                return Matrix<double>(from.at(stage).as<double>().matrix(b).middleCols(h * width, width));
            };
            CHECK(near(context, joined(trace, "context"), 1e-12));
            const auto grad = disentangled_backward<double>(head, line, joined(inputs, "d_context"));
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
            for (Index row = 0; row < 2 * line.span(); ++row)
                if (std::find(line.rows().begin(), line.rows().end(), row) == line.rows().end())
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
    const RelativeBuckets line = RelativeBuckets::logarithmic(6, 9, 4, 8, OffsetClamp::official);
    for (const bool c2p : {true, false})
        for (const bool p2c : {true, false}) {
            DisentangledHead<double> head{matrix(6, 4), matrix(9, 4), matrix(9, 5), {}, {}, {}, {}, std::sqrt(8.0)};
            if (c2p) head.k_r = matrix(8, 4);
            if (p2c) head.q_r = matrix(8, 4);
            Mask mask = Mask::Ones(6, 9);
            mask.row(4).setZero();
            mask.col(2).setZero();
            const Matrix<double> weights = matrix(6, 5);  // the loss is their sum with the context
            forward(head, line, mask);
            const auto grad = disentangled_backward<double>(head, line, weights);
            const auto loss = [&] {
                DisentangledHead<double> moved = head;
                return forward(moved, line, mask).cwiseProduct(weights).sum();
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
    const RelativeBuckets line = RelativeBuckets::logarithmic(7, 7, 4, 6, OffsetClamp::official);
    DisentangledHead<double> head{numbers.matrix(7, 4),
                                  numbers.matrix(7, 4),
                                  numbers.matrix(7, 5),
                                  numbers.matrix(8, 4),
                                  numbers.matrix(8, 4),
                                  {},
                                  {},
                                  std::sqrt(12.0)};
    const Matrix<double> weights = numbers.matrix(7, 5);
    forward(head, line, {});
    const auto official = disentangled_backward<double>(head, line, weights);
    head.p2c_index = P2cIndex::paper_ji;
    forward(head, line, {});
    const auto grad = disentangled_backward<double>(head, line, weights);
    const auto loss = [&] {
        DisentangledHead<double> moved = head;
        return forward(moved, line, {}).cwiseProduct(weights).sum();
    };
    check_differences("q", head.q, grad.q, loss);
    check_differences("k", head.k, grad.k, loss);
    check_differences("k_r", head.k_r, grad.k_r, loss);
    check_differences("q_r", head.q_r, grad.q_r, loss);
    CHECK(max_abs(grad.q_r - official.q_r) > 0.01);
}

TEST_CASE("disentangled backward: central differences of the position-to-position term", "[backward]") {
    Numbers numbers(6);
    const RelativeBuckets line = RelativeBuckets::clamped(7, 7, 4);
    Matrix<double> q_r = numbers.matrix(8, 3), k_r = numbers.matrix(8, 3);
    const Matrix<double> d_p2p = numbers.matrix(7, 7);
    const auto loss = [&] { return position_to_position<double>(q_r, k_r, line).cwiseProduct(d_p2p).sum(); };
    const auto grad = position_to_position_backward<double>(q_r, k_r, line, d_p2p);
    check_differences("q_r", q_r, grad.q_r, loss);
    check_differences("k_r", k_r, grad.k_r, loss);
    const Matrix<float> q_f = q_r.cast<float>(), k_f = k_r.cast<float>(), d_f = d_p2p.cast<float>();
    CHECK(near(position_to_position_backward<float>(q_f, k_f, line, d_f).q_r.cast<double>(), grad.q_r, 1e-5));
    CHECK(refusal([&] { position_to_position_backward<double>(q_r, k_r.topRows(7), line, d_p2p); }, Fault::usage) ==
          "position_to_position_backward: k_r is 7 x 3, expected 8 x 3");
}

TEST_CASE("slices backward: the transpose of reading slices, and rows of the table that nobody read are 0",
          "[backward]") {
    std::mt19937 random(4);
    std::uniform_int_distribution<int> number(-9, 9);
    for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{1, 1}, {5, 5}, {3, 17}, {17, 3}, {40, 40}})
        for (const bool logarithmic : {false, true}) {
            const RelativeBuckets line = logarithmic
                                             ? RelativeBuckets::logarithmic(queries, keys, 6, 20, OffsetClamp::hf)
                                             : RelativeBuckets::clamped(queries, keys, 6);
            Matrix<double> scores(queries, keys), by_query = Matrix<double>::Zero(queries, 12),
                                                  by_key = Matrix<double>::Zero(keys, 12);
            for (Index i = 0; i < queries; ++i)
                for (Index j = 0; j < keys; ++j) {
                    scores(i, j) = number(random);  // whole numbers: sums are exact in any order
                    by_query(i, line.row(i, j)) += scores(i, j);
                    by_key(j, line.row(i, j)) += scores(i, j);
                }
            CHECK(scatter_slices_by_query<double>(scores, line) == by_query);
            CHECK(scatter_slices_by_key<double>(scores, line) == by_key);
        }
}

TEST_CASE("disentangled backward: what does not fit is named", "[backward]") {
    const RelativeBuckets line = RelativeBuckets::clamped(3, 4, 2);
    const auto zero = [](Index rows, Index cols) { return Matrix<double>(Matrix<double>::Zero(rows, cols)); };
    const DisentangledHead<double> right{zero(3, 2), zero(4, 2), zero(4, 2), zero(4, 2), zero(4, 2), zero(3, 4), {}, 1};
    const auto refusal = [&](auto change) {
        DisentangledHead<double> head = right;
        change(head);
        try {
            disentangled_backward<double>(head, line, zero(3, 2));
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
          "disentangled_backward: p2c by delta(j,i) of 3 queries and 4 keys, expected as many: one line serves both "
          "terms");
    CHECK(refusal([&](auto& head) { head.keep = zero(1, 1); }) ==
          "disentangled_backward: keep is 1 x 1, expected 3 x 4");
}

}  // namespace locus::test::test_disentangled_backward
