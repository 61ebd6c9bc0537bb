#include <catch2/catch.hpp>

#include "core/attention/biased.h"
#include "core/attention/scaled_dot_product.h"
#include "core/attention/shaw.h"
#include "core/positions/offset_bias.h"
#include "core/products.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/naive_reference.h"
#include "tests/seeded.h"

namespace locus::test::test_biased {

namespace {

struct Input {
    Matrix<double> q = random_rows(5, 4, 1), k = random_rows(8, 4, 2), v = random_rows(8, 3, 3);
    OffsetBias<double> line = alibi_bias<double>(2, 5, 8, AlibiForm::symmetric);
    Index head = 1;
    Mask mask;

    BiasedTerms<double> terms(ContentScale scale) const {
        return biased_attention<double>(q, k, v, line, head, scale, mask);
    }
};

}  // namespace

TEST_CASE("biased: T5 does not scale q . k, ALiBi does, the bias is never scaled", "[biased][law]") {
    Input in;
    in.mask = Mask::Ones(5, 8);
    in.mask.col(6).setZero();
    in.mask.row(4).setZero();
    for (const ContentScale scale : {ContentScale::none, ContentScale::inverse_root}) {
        const BiasedTerms<double> terms = in.terms(scale);
        Matrix<double> scores(5, 8);
        for (Index i = 0; i < 5; ++i)
            for (Index j = 0; j < 8; ++j) {
                const double content = dumb_dot(in.q, i, in.k, j);
                CHECK(terms.content(i, j) == content);
                CHECK(terms.bias(i, j) == in.line.at(1, i, j));
                scores(i, j) = (scale == ContentScale::none ? content : content / 2) + in.line.at(1, i, j);
            }
        CHECK(terms.scores == scores);
        const Matrix<double> probs = dumb_softmax(scores, [&](Index i, Index j) { return j != 6 && i != 4; });
        CHECK(distance(terms.probs, probs) <= 1e-15);
        CHECK(terms.probs.col(6).isZero(0));
        CHECK(terms.probs.row(4).isZero(0));
        CHECK(distance(terms.context, dumb_average(probs, in.v)) <= 1e-14);
        const OffsetBias<float> line = alibi_bias<float>(2, 5, 8, AlibiForm::symmetric);
        const auto single = biased_attention<float>(in.q.cast<float>(), in.k.cast<float>(), in.v.cast<float>(), line, 1,
                                                    scale, in.mask);
        CHECK(distance(single.context, terms.context) <= 1e-5);
    }
}

TEST_CASE("biased: a line of zeros gives scaled dot product attention", "[biased][law]") {
    Input in;
    in.line.values.setZero();
    const BiasedTerms<double> terms = in.terms(ContentScale::inverse_root);
    CHECK(terms.scores == terms.content / 2);
    CHECK(distance(terms.context, scaled_dot_product<double>(in.q, in.k, in.v, Mask())) <= 2e-15);
}

TEST_CASE("biased: ALiBi's bias and the published one give the same probabilities", "[biased][law]") {
    // Published: slope times key position; rows differ from -m (i - j) by a constant, which softmax does not see.
    Input in;
    in.k = random_rows(5, 4, 2);
    in.v = random_rows(5, 3, 3);
    in.line = alibi_bias<double>(2, 5, 5, AlibiForm::causal);
    in.mask = Mask::Zero(5, 5);
    for (Index i = 0; i < 5; ++i) in.mask.row(i).head(i + 1).setOnes();
    const BiasedTerms<double> terms = in.terms(ContentScale::inverse_root);
    Matrix<double> published = terms.content / 2;
    for (Index i = 0; i < 5; ++i)
        for (Index j = 0; j < 5; ++j) published(i, j) += std::exp2(-8) * static_cast<double>(j);
    CHECK(distance(terms.probs, dumb_softmax(published, [](Index i, Index j) { return j <= i; })) <= 1e-15);
}

TEST_CASE("biased: what does not fit is refused with one sentence", "[biased][bad input]") {
    const auto sentence = [](auto change) {
        Input in;
        change(in);
        return refusal([&] { in.terms(ContentScale::none); }, Fault::usage);
    };
    CHECK(sentence([](Input& in) { in.line = alibi_bias<double>(2, 5, 7, AlibiForm::causal); }) ==
          "biased_attention: a bias for 5 x 7 pairs, expected 5 queries x 8 keys");
    CHECK(sentence([](Input& in) { in.v = random_rows(7, 3, 3); }) ==
          "biased_attention: 8 keys but 7 values, expected as many");
    CHECK(sentence([](Input& in) { in.head = 2; }) == "offset bias: head 2, expected 0 to 1");
    CHECK(sentence([](Input& in) { in.k = random_rows(8, 3, 3); }).find("expected the same width") !=
          std::string::npos);
}

// The position schemes that came before and beside DeBERTa, backwards: a bias per offset, and Shaw's two tables.

namespace {

Mask some_hidden(Index queries, Index keys) {
    Mask mask = Mask::Ones(queries, keys);
    mask.row(1).setZero();
    mask.col(2).setZero();
    mask(0, 0) = 0;
    return mask;
}

}  // namespace

TEST_CASE("biased attention backward: central differences of q, k, v and of T5's table, all heads together",
          "[backward]") {
    Numbers numbers(1);
    constexpr Index kHeads = 2, kQueries = 4, kKeys = 7;
    for (const bool bidirectional : {true, false}) {
        const T5Buckets config{8, 6, bidirectional};
        Matrix<double> table = numbers.matrix(8, kHeads);
        std::vector<Matrix<double>> q, k, v, d_context;
        for (Index h = 0; h < kHeads; ++h) {
            q.push_back(numbers.matrix(kQueries, 3));
            k.push_back(numbers.matrix(kKeys, 3));
            v.push_back(numbers.matrix(kKeys, 2));
            d_context.push_back(numbers.matrix(kQueries, 2));
        }
        const Mask mask = some_hidden(kQueries, kKeys);
        const auto terms = [&](std::size_t h) {
            return biased_attention<double>(q[h], k[h], v[h], t5_bias<double>(table, kQueries, kKeys, config),
                                            static_cast<Index>(h), ContentScale::none, mask);
        };
        const auto loss = [&] {
            return terms(0).context.cwiseProduct(d_context[0]).sum() +
                   terms(1).context.cwiseProduct(d_context[1]).sum();
        };
        OffsetBias<double> d_line{kQueries, kKeys, Matrix<double>(kHeads, kQueries + kKeys - 1)};
        for (std::size_t h = 0; h < kHeads; ++h) {
            const auto grad = biased_backward<double>(q[h], k[h], v[h], ContentScale::none, terms(h).probs,
                                                      Matrix<double>(), d_context[h]);
            d_line.values.row(static_cast<Index>(h)) = sum_over_offsets<double>(grad.bias);
            check_differences("q", q[h], grad.q, loss);
            check_differences("k", k[h], grad.k, loss);
            check_differences("v", v[h], grad.v, loss);
            // All biases raised together move nothing.
            CHECK(std::abs(grad.bias.sum()) <= rounding(40, 2));
        }
        const Matrix<double> d_table = t5_bias_backward(d_line, config);
        check_differences("table", table, d_table, loss);
        std::vector<bool> read(8, false);
        const IndexTensor buckets = t5_index(kQueries, kKeys, config);
        for (const std::int64_t bucket : buckets.values()) read[static_cast<std::size_t>(bucket)] = true;
        for (Index bucket = 0; bucket < 8; ++bucket)
            if (!read[static_cast<std::size_t>(bucket)]) CHECK(d_table.row(bucket).isZero(0));
    }
}

TEST_CASE("biased attention backward: central differences under ALiBi, scaled and with dropout", "[backward]") {
    Numbers numbers(2);
    Matrix<double> q = numbers.matrix(5, 4), k = numbers.matrix(5, 4), v = numbers.matrix(5, 4);
    OffsetBias<double> line = alibi_bias<double>(3, 5, 5, AlibiForm::symmetric);
    const Matrix<double> keep = numbers.matrix(5, 5).unaryExpr([](double x) { return x > -0.5 ? 4.0 / 3 : 0.0; }),
                         d_context = numbers.matrix(5, 4);
    const Mask mask = some_hidden(5, 5);
    const auto probs = [&] {
        return biased_attention<double>(q, k, v, line, 1, ContentScale::inverse_root, mask).probs;
    };
    const auto loss = [&] { return times<double>(probs().cwiseProduct(keep), v).cwiseProduct(d_context).sum(); };
    const auto grad = biased_backward<double>(q, k, v, ContentScale::inverse_root, probs(), keep, d_context);
    check_differences("q", q, grad.q, loss);
    check_differences("k", k, grad.k, loss);
    check_differences("v", v, grad.v, loss);
    Matrix<double> d_values = Matrix<double>::Zero(3, 9);  // the other heads are not asked
    d_values.row(1) = sum_over_offsets<double>(grad.bias);
    check_differences("line", line.values, d_values, loss);
}

TEST_CASE("shaw attention backward: central differences of all five operands, with dropout and hidden keys",
          "[backward]") {
    Numbers numbers(3);
    for (const bool drops : {false, true}) {
        Matrix<double> q = numbers.matrix(4, 3), k = numbers.matrix(7, 3), v = numbers.matrix(7, 5),
                       a_k = numbers.matrix(5, 3), a_v = numbers.matrix(5, 5), keep;
        if (drops) keep = numbers.matrix(4, 7).unaryExpr([](double x) { return x > 0 ? 2.0 : 0.0; });
        const Matrix<double> d_context = numbers.matrix(4, 5);
        const Mask mask = some_hidden(4, 7);
        const auto terms = [&] { return shaw_attention<double>(q, k, v, a_k, a_v, mask); };
        const auto loss = [&] {
            Matrix<double> weights = terms().probs;
            if (!drops) return terms().context.cwiseProduct(d_context).sum();
            weights.array() *= keep.array();
            return (times<double>(weights, v) + shaw_position_context<double>(weights, a_v))
                .cwiseProduct(d_context)
                .sum();
        };
        const auto grad = shaw_backward<double>(q, k, v, a_k, a_v, terms().probs, keep, d_context);
        check_differences("q", q, grad.q, loss);
        check_differences("k", k, grad.k, loss);
        check_differences("v", v, grad.v, loss);
        check_differences("a_k", a_k, grad.a_k, loss);
        check_differences("a_v", a_v, grad.a_v, loss);
    }
}

TEST_CASE("shaw attention backward: rows of offsets that do not occur learn exactly nothing", "[backward][law]") {
    Numbers numbers(4);
    const Matrix<double> q = numbers.matrix(3, 2), k = numbers.matrix(3, 2), v = numbers.matrix(3, 2),
                         a_k = numbers.matrix(11, 2), a_v = numbers.matrix(11, 2);
    const auto probs = shaw_attention<double>(q, k, v, a_k, a_v, {}).probs;
    const auto grad = shaw_backward<double>(q, k, v, a_k, a_v, probs, Matrix<double>(), numbers.matrix(3, 2));
    for (Index row = 0; row < 11; ++row) {  // three tokens: offsets -2 ... 2 are rows 3 ... 7
        CHECK(grad.a_k.row(row).isZero(0) == (row < 3 || row > 7));
        CHECK(grad.a_v.row(row).isZero(0) == (row < 3 || row > 7));
    }
}

TEST_CASE("biased and shaw attention backward: float is double, rounded, and what does not fit is named",
          "[backward]") {
    Numbers numbers(5);
    const Matrix<double> q = numbers.matrix(3, 2), k = numbers.matrix(4, 2), v = numbers.matrix(4, 2),
                         a = numbers.matrix(5, 2), d = numbers.matrix(3, 2), none;
    const auto f = [](const auto& x) { return Matrix<float>(x.template cast<float>()); };
    const auto probs = shaw_attention<double>(q, k, v, a, a, {}).probs;
    const auto shaw = shaw_backward<double>(q, k, v, a, a, probs, none, d);
    const auto shaw_f = shaw_backward<float>(f(q), f(k), f(v), f(a), f(a), f(probs), Matrix<float>(), f(d));
    CHECK(near(shaw_f.q.cast<double>(), shaw.q, 1e-6));
    CHECK(near(shaw_f.k.cast<double>(), shaw.k, 1e-6));
    CHECK(near(shaw_f.a_k.cast<double>(), shaw.a_k, 1e-6));
    CHECK(near(shaw_f.a_v.cast<double>(), shaw.a_v, 1e-6));
    const auto biased = biased_backward<double>(q, k, v, ContentScale::inverse_root, probs, none, d);
    const auto biased_f =
        biased_backward<float>(f(q), f(k), f(v), ContentScale::inverse_root, f(probs), Matrix<float>(), f(d));
    CHECK(near(biased_f.q.cast<double>(), biased.q, 1e-6));
    CHECK(near(biased_f.bias.cast<double>(), biased.bias, 1e-6));
    const T5Buckets config{8, 6, true};
    CHECK(
        near(t5_bias_backward(OffsetBias<float>{3, 4, f(sum_over_offsets<double>(biased.bias))}, config).cast<double>(),
             t5_bias_backward(OffsetBias<double>{3, 4, sum_over_offsets<double>(biased.bias)}, config), 1e-6));

    CHECK(refusal([&] { shaw_backward<double>(q, k, v, a, a.topRows(3), probs, none, d); }, Fault::usage) ==
          "shaw_backward: a_v is 3 x 2, expected 5 x 2");
    CHECK(refusal([&] { shaw_backward<double>(q, k, v, a.topRows(4), a.topRows(4), probs, none, d); }, Fault::usage) ==
          "shaw_backward: a_k has 4 rows, expected an odd number: 2k + 1 for the offsets -k to k");
    CHECK(refusal([&] { biased_backward<double>(q, k, v, ContentScale::none, probs, none, k); }, Fault::usage) ==
          "context_backward: the gradient of the context is 4 x 2, expected 3 x 2");
    CHECK(refusal(
              [&] {
                  t5_bias_backward(OffsetBias<double>{3, 3, sum_over_offsets<double>(biased.bias)}, config);
              },
              Fault::usage) == "t5_bias_backward: a bias of 6 offsets, expected 5, one per offset j - i");
}

}  // namespace locus::test::test_biased
