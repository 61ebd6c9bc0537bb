#include <cmath>

#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Whether each product is rounded to float as well, or their sum alone.
enum class Rounded { everything, sums };

/// a b with every cell added up in float, in the order of its terms.  a [M,N], b [N,W] -> [M,W].
Matrix<double> narrow_product(const Matrix<double>& a, const Matrix<double>& b, Rounded rounded) {
    const Matrix<float> narrow = b.cast<float>();
    Matrix<double> product(a.rows(), b.cols());
    RowVector<float> sums(b.cols());
    for (Index m = 0; m < a.rows(); ++m) {
        sums.setZero();
        for (Index n = 0; n < a.cols(); ++n) {
            if (rounded == Rounded::everything)
                sums += static_cast<float>(a(m, n)) * narrow.row(n);
            else
                sums = (sums.cast<double>() + a(m, n) * b.row(n)).cast<float>();
        }
        product.row(m) = sums.cast<double>();
    }
    return product;
}

/// probs v; heads joined.
Tensor<double> narrow_context(const Replay& at, const std::string& values, Rounded rounded) {
    const Tensor<double>&probs = at("probs"), &v = at(values);
    return join_heads(each_head(probs, probs.extent(2), v.extent(3), [&](Index n, Index, Index) {
        return narrow_product(probs.matrix(n), v.matrix(n), rounded);
    }));
}

/// q_i . k_j.
Tensor<double> narrow_products(const Tensor<double>& q, const Tensor<double>& k, Rounded rounded) {
    return each_head(q, q.extent(2), k.extent(2), [&](Index n, Index, Index) {
        return narrow_product(q.matrix(n), k.matrix(n).transpose(), rounded);
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
