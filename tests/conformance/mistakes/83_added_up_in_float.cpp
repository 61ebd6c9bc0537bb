#include <cmath>

#include "tests/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Whether each product is rounded to float as well, or their sum alone.
enum class Rounded { everything, sums };

/// sum over n of a[n] b[n * stride], in float, in order.
double narrow_sum(const double* a, const double* b, Index count, Index stride, Rounded rounded) {
    float sum = 0;
    for (Index n = 0; n < count; ++n) {
        if (rounded == Rounded::everything)
            sum += static_cast<float>(a[n]) * static_cast<float>(b[n * stride]);
        else
            sum = static_cast<float>(static_cast<double>(sum) + a[n] * b[n * stride]);
    }
    return sum;
}

/// probs v; heads joined.
Tensor<double> narrow_context(const Replay& at, const std::string& values, Rounded rounded) {
    const Tensor<double>&probs = at("probs"), &v = at(values);
    const Index keys = probs.extent(3), width = v.extent(3);
    return join_heads(each_head(probs, probs.extent(2), width, [&](Index n, Index, Index) {
        const Matrix<double> p = probs.matrix(n), rows = v.matrix(n);
        Matrix<double> context(p.rows(), width);
        for (Index i = 0; i < p.rows(); ++i)
            for (Index c = 0; c < width; ++c)
                context(i, c) = narrow_sum(&p(i, 0), rows.data() + c, keys, width, rounded);
        return context;
    }));
}

/// q_i . k_j / divisor.
Tensor<double> narrow_products(const Tensor<double>& q, const Tensor<double>& k, Rounded rounded) {
    return each_head(q, q.extent(2), k.extent(2), [&](Index n, Index, Index) {
        const Matrix<double> asking = q.matrix(n), asked = k.matrix(n);
        Matrix<double> sums(asking.rows(), asked.rows());
        for (Index i = 0; i < sums.rows(); ++i)
            for (Index j = 0; j < sums.cols(); ++j)
                sums(i, j) = narrow_sum(&asking(i, 0), &asked(j, 0), asking.cols(), 1, rounded);
        return sums;
    });
}

void add_variants(Rounded rounded, const std::string& how, std::vector<Variant>& variants) {
    variants.push_back({"probs v " + how, {{"context", {"probs", "v", "v_rot"}, [rounded](const Replay& at) {
                                                const bool turned =
                                                    at.family() == Family::roformer && at.roformer().rotary_value;
                                                return narrow_context(at, turned ? "v_rot" : "v", rounded);
                                            }}}});
    variants.push_back({"c2c " + how, {{"c2c", {"q", "k"}, [rounded](const Replay& at) {
                                            return narrow_products(at("q"), at("k"), rounded);
                                        }}}});
    variants.push_back({"q_rot k_rot " + how, {{"scores", {"q_rot", "k_rot"}, [rounded](const Replay& at) {
                                                    const Tensor<double>& q = at("q_rot");
                                                    const double root = std::sqrt(static_cast<double>(q.extent(3)));
                                                    return mapped(narrow_products(q, at("k_rot"), rounded),
                                                                  [&](double score) { return score / root; });
                                                }}}});
}

}  // namespace

Mistake mistake_83() {
    std::vector<Variant> variants;
    add_variants(Rounded::everything, "in float", variants);
    add_variants(Rounded::sums, "with a sum in float", variants);
    return {.number = 83,
            .name = "a sum is added up in float although its terms are double",
            .symptom = "an error that grows with the square root of the text's length",
            .betrays = "the stage is wrong by about 6e-8 sqrt(n) and right in what it is made of",
            .evidence = "",
            .lesson = "28",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"c2c", "context"},
            .variants = std::move(variants)};
}

}  // namespace locus::conformance
