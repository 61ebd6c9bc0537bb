#include "core/attention/scaled_dot_product.h"
#include "core/attention/shaw.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_shaw {

namespace {

struct Input {
    Matrix<double> q = random_rows(9, 4, 1), k = random_rows(9, 4, 2), v = random_rows(9, 4, 3);
    Matrix<double> a_k = random_rows(5, 4, 4), a_v = random_rows(5, 4, 5);  // k = 2
    Mask mask;

    ShawTerms<double> terms() const { return shaw_attention<double>(q, k, v, a_k, a_v, mask); }
};

Mask causal(Index length) {
    Mask mask(length, length);
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) mask(i, j) = j <= i;
    return mask;
}

}  // namespace

TEST_CASE("shaw: the index is clip(j - i, -k, k) + k", "[shaw][golden]") {
    CHECK(shaw_index(4, 5, 2).values() ==
          std::vector<std::int64_t>{2, 3, 4, 4, 4, 1, 2, 3, 4, 4, 0, 1, 2, 3, 4, 0, 0, 1, 2, 3});
    CHECK(shaw_row(-9, 3) == 0);
    CHECK(shaw_row(9, 3) == 6);
    CHECK(shaw_row(5, 0) == 0);
}

TEST_CASE("shaw: every term equals its loops", "[shaw][law]") {
    Input in;
    for (const bool masked : {false, true}) {
        if (masked) in.mask = causal(9);
        const ShawTerms<double> terms = in.terms();
        Matrix<double> content(9, 9), position(9, 9), content_context(9, 4), position_context(9, 4);
        const auto row = [](Index i, Index j) { return std::min<Index>(std::max<Index>(j - i, -2), 2) + 2; };
        for (Index i = 0; i < 9; ++i)
            for (Index j = 0; j < 9; ++j) {
                content(i, j) = dumb_dot(in.q, i, in.k, j);
                position(i, j) = dumb_dot(in.q, i, in.a_k, row(i, j));
            }
        CHECK(terms.content_scores == content);  // the plain loop, bit for bit
        CHECK(terms.position_scores == position);
        const Matrix<double> probs =
            dumb_softmax((content + position) / 2, [&](Index i, Index j) { return !masked || j <= i; });
        CHECK(distance(terms.probs, probs) <= 1e-15);
        position_context.setZero();
        for (Index i = 0; i < 9; ++i)
            for (Index j = 0; j < 9; ++j)
                for (Index c = 0; c < 4; ++c) position_context(i, c) += probs(i, j) * in.a_v(row(i, j), c);
        CHECK(distance(terms.content_context, dumb_average(probs, in.v)) <= 1e-14);
        CHECK(distance(terms.position_context, position_context) <= 1e-14);
        CHECK(terms.context == terms.content_context + terms.position_context);
        const ShawTerms<float> single =
            shaw_attention<float>(in.q.cast<float>(), in.k.cast<float>(), in.v.cast<float>(), in.a_k.cast<float>(),
                                  in.a_v.cast<float>(), in.mask);
        CHECK(distance(single.context, terms.context) <= 1e-5);
    }
}

TEST_CASE("shaw: zero tables give scaled dot product attention", "[shaw][law]") {
    Input in;
    in.a_k.setZero();
    in.a_v.setZero();
    in.mask = causal(9);
    const ShawTerms<double> terms = in.terms();
    CHECK(terms.scores == terms.content_scores / 2);
    CHECK(terms.position_context.isZero(0));
    CHECK(distance(terms.context, scaled_dot_product<double>(in.q, in.k, in.v, in.mask)) <= 2e-15);
}

TEST_CASE("shaw: a position score depends only on j - i", "[shaw][law]") {
    // The same query everywhere: what is left is the row of the table.
    Input in;
    for (Index i = 1; i < 9; ++i) in.q.row(i) = in.q.row(0);
    const Matrix<double> scores = in.terms().position_scores;
    for (Index i = 1; i < 9; ++i)
        for (Index j = 1; j < 9; ++j) CHECK(scores(i, j) == scores(i - 1, j - 1));
    CHECK(scores(0, 1) != scores(1, 0));
}

TEST_CASE("shaw: without values of its own the context is the value table's", "[shaw][law]") {
    Input in;
    in.v.setZero();
    for (Index r = 1; r < 5; ++r) in.a_v.row(r) = in.a_v.row(0);
    const Matrix<double> context = in.terms().context;  // probabilities sum to 1, every key has the same vector
    CHECK(distance(context, Matrix<double>(in.a_v.row(0).replicate(9, 1))) <= 1e-15);
}

TEST_CASE("shaw: what does not fit is refused with one sentence", "[shaw][bad input]") {
    const auto sentence = [](auto change) {
        Input in;
        change(in);
        return refusal([&] { in.terms(); }, Fault::usage);
    };
    CHECK(sentence([](Input& in) { in.a_k = in.a_v = random_rows(4, 4, 6); }) ==
          "shaw_attention: a_k has 4 rows, expected an odd number: 2k + 1 for the offsets -k to k");
    CHECK(sentence([](Input& in) { in.a_k = random_rows(5, 3, 6); }) ==
          "shaw_attention: q is 4 wide and a_k 3, expected the same width");
    CHECK(sentence([](Input& in) { in.a_v = random_rows(3, 4, 6); }) ==
          "shaw_attention: a_v is [3, 4], expected [5, 4]: the rows of a_k and the width of v");
    CHECK(sentence([](Input& in) { in.v = random_rows(8, 4, 6); }) ==
          "shaw_attention: 9 keys but 8 values, expected as many");
    CHECK(sentence([](Input& in) { in.k = random_rows(9, 3, 6); }).find("expected the same width") !=
          std::string::npos);
    CHECK(sentence([](Input& in) { in.mask = causal(8); }).find("a mask of [8, 8]") != std::string::npos);
    CHECK(refusal([] { shaw_row(1, -1); }, Fault::usage) == "shaw_row: span is -1, expected 0 or more");
    CHECK(refusal([] { shaw_index(0, 3, 1); }, Fault::usage) ==
          "shaw_index: queries is 0 and keys 3, expected 1 or more of each");
}

}  // namespace locus::test::test_shaw
