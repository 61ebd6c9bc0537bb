#include "core/attention/biased.h"
#include "core/attention/scaled_dot_product.h"
#include "core/positions/alibi.h"
#include "core/positions/t5_buckets.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_biased {

namespace {

struct Input {
    Matrix<double> q = random_rows(5, 4, 1), k = random_rows(8, 4, 2), v = random_rows(8, 3, 3);
    OffsetBias<double> line = alibi_line<double>(2, 5, 8, AlibiForm::symmetric);
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
        const OffsetBias<float> line = alibi_line<float>(2, 5, 8, AlibiForm::symmetric);
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
    in.line = alibi_line<double>(2, 5, 5, AlibiForm::causal);
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
    CHECK(sentence([](Input& in) { in.line = alibi_line<double>(2, 5, 7, AlibiForm::causal); }) ==
          "biased_attention: a line for 5 x 7 pairs, expected 5 queries x 8 keys");
    CHECK(sentence([](Input& in) { in.v = random_rows(7, 3, 3); }) ==
          "biased_attention: 8 keys but 7 values, expected as many");
    CHECK(sentence([](Input& in) { in.head = 2; }) == "bias line: head 2, expected 0 to 1");
    CHECK(sentence([](Input& in) { in.k = random_rows(8, 3, 3); }).find("expected the same width") !=
          std::string::npos);
}

}  // namespace locus::test::test_biased
