// Mistake 64.  Linear attention with rotary positions: features, numerator, denominator and its bound.
#include <cmath>

#include "core/conformance/formulas/roformer.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace linear_attention {  // mistake 64

/// phi(R x): the rotation stands inside.
Tensor<double> rotated_queries(const Replay& at) { return features_of(rotated_by_position(at("q"))); }
Tensor<double> rotated_keys(const Replay& at) { return without_padding(at, features_of(rotated_by_position(at("k")))); }

/// Products of these features over the denominators there are.
Formula denominator_of(const char* q, const char* k, bool at_least) {
    return {"denominator", {q, k}, [=](const Replay& at) {
                const Tensor<double> sums = row_sums(seen_products(at, at(q), at(k)));
                return at_least ? bounded(sums) : sums;
            }};
}

/// phi(x / d^power), keys after the mask.
Formula scaled_features(const char* stem, const char* from, double power) {
    return {stem, {from}, [=](const Replay& at) {
                const double root = std::pow(static_cast<double>(at(from).extent(3)), power);
                const Tensor<double> features =
                    features_of(mapped(at(from), [&](double value) { return value / root; }));
                return std::string(from) == "k" ? without_padding(at, features) : features;
            }};
}

/// sum_j (phi_q . phi_k + eps): eps once per key, padding and the future left out or not.
Formula eps_per_key(bool all_keys) {
    return {"denominator", {"phi_q", "phi_k"}, [=](const Replay& at) {
                const Tensor<double>&q = at("phi_q"), &k = at("phi_k");
                Tensor<double> ones = mapped(k, [](double) { return kSmallestDenominator; });
                if (!all_keys) ones = without_padding(at, std::move(ones));
                Tensor<double> counted = mapped(q, [](double) { return 1.0; });
                const double width = static_cast<double>(q.extent(3));
                const Tensor<double> sums = row_sums(seen_products(at, q, k));
                const Tensor<double> added = row_sums(seen_products(at, counted, ones));
                return sum_of(sums, mapped(added, [&](double value) { return value / width; }));
            }};
}

/// phi_q . sum_j (phi_k + eps).
Formula eps_per_feature(bool all_keys) {
    return {"denominator", {"phi_q", "phi_k"}, [=](const Replay& at) {
                Tensor<double> k = mapped(at("phi_k"), [](double value) { return value + kSmallestDenominator; });
                if (!all_keys) k = without_padding(at, std::move(k));
                return row_sums(seen_products(at, at("phi_q"), k));
            }};
}

Formula eps_once() {
    return {"denominator", {"phi_q", "phi_k"}, [](const Replay& at) {
                return mapped(row_sums(seen_products(at, at("phi_q"), at("phi_k"))),
                              [](double sum) { return sum + kSmallestDenominator; });
            }};
}

/// Features of padding stay in the denominator, or in the numerator.
Formula padding_counts(const char* stem) {
    const bool below = std::string(stem) == "denominator";
    return {stem, {below ? "phi_q" : "phi_q_rot", "phi_k", "denominator"}, [=](const Replay& at) {
                const Tensor<double> all = features_of(at("k"));
                if (below) return bounded(row_sums(seen_products(at, at("phi_q"), all)));
                return divided(seen_products(at, at("phi_q_rot"), rotated_by_position(all)), at("denominator"));
            }};
}

std::vector<Variant> rotation_variants() {
    const std::vector<std::string> from_q = {"q"}, from_k = {"k"};
    return {
        {"phi(R x) in numerator and denominator",
         {{"phi_q_rot", from_q, rotated_queries},
          {"phi_k_rot", from_k, rotated_keys},
          denominator_of("phi_q_rot", "phi_k_rot", true)}},
        {"phi(R x) in numerator and denominator, reported as phi_q and phi_k",
         {{"phi_q", from_q, rotated_queries},
          {"phi_k", from_k, rotated_keys},
          {"phi_q_rot", {"phi_q"}, [](const Replay& at) { return at("phi_q"); }},
          {"phi_k_rot", {"phi_k"}, [](const Replay& at) { return at("phi_k"); }}}},
        {"phi(R x) in the numerator alone",
         {{"phi_q_rot", from_q, rotated_queries}, {"phi_k_rot", from_k, rotated_keys}}},
        {"the denominator is rotated, too", {denominator_of("phi_q_rot", "phi_k_rot", true)}},
        {"the denominator is rotated, too, and has no bound", {denominator_of("phi_q_rot", "phi_k_rot", false)}},
    };
}

/// Features of queries and keys by another phi; padding is left out.
Variant another_phi(const std::string& how, double (*phi)(double)) {
    return {how,
            {{"phi_q", {"q"}, [phi](const Replay& at) { return mapped(at("q"), phi); }},
             {"phi_k", {"k"}, [phi](const Replay& at) { return without_padding(at, mapped(at("k"), phi)); }}}};
}

std::vector<Variant> phi_variants() {
    return {
        another_phi("phi is elu, without the 1", [](double x) { return x > 0 ? x : std::expm1(x); }),
        another_phi("phi is relu", [](double x) { return x > 0 ? x : 0; }),
        another_phi("phi is relu, plus 1", [](double x) { return x > 0 ? x + 1 : 1; }),
        another_phi("phi is exp", [](double x) { return std::exp(x); }),
        another_phi("phi is softplus", [](double x) { return std::log1p(std::exp(x)); }),
        another_phi("there is no phi", [](double x) { return x; }),
    };
}

std::vector<Variant> linear_attention_variants() {
    std::vector<Variant> all = rotation_variants();
    const std::vector<Variant> more = {
        {"queries over sqrt(d) before phi", {scaled_features("phi_q", "q", 0.5)}},
        {"queries and keys over the root of sqrt(d) before phi",
         {scaled_features("phi_q", "q", 0.25), scaled_features("phi_k", "k", 0.25)}},
        {"weights over sqrt(d)",
         {{"weights",
           {"phi_q_rot", "phi_k_rot", "denominator"},
           [](const Replay& at) {
               const double root = std::sqrt(static_cast<double>(at("phi_q_rot").extent(3)));
               return mapped(at.right("weights"), [&](double weight) { return weight / root; });
           }}}},
        {"eps added to the denominator", {eps_once()}},
        {"eps added to each visible product of the denominator", {eps_per_key(false)}},
        {"eps added to each product of the denominator, those of padding too", {eps_per_key(true)}},
        {"eps added to each visible feature of the denominator", {eps_per_feature(false)}},
        {"eps added to each feature of the denominator, those of padding too", {eps_per_feature(true)}},
        {"features of padding are not set to 0",
         {{"phi_k", {"k"}, [](const Replay& at) { return features_of(at("k")); }}}},
        {"keys of padding are set to 0 before phi, which makes them 1",
         {{"phi_k", {"k"}, [](const Replay& at) { return features_of(without_padding(at, at("k"))); }}}},
        {"padding counts in the denominator", {padding_counts("denominator")}},
        {"padding counts in the numerator", {padding_counts("weights")}},
    };
    for (const auto& ways : {more, phi_variants()}) all.insert(all.end(), ways.begin(), ways.end());
    return all;
}

Mistake mistake() {
    return {
        .number = 64,
        .name =
            "linear attention: another phi, or after the rotation; the denominator rotated; a scale, eps or padding",
        .symptom = "the output changes when the whole text is shifted, or blows up where a denominator vanishes",
        .betrays = "weights of each query sum to 1, which those of the paper's form do not",
        .evidence = "qcqced123/model_study roformer.py",
        .lesson = "20",
        .families = {Family::roformer},
        .stems = {"phi_q", "phi_k", "phi_q_rot", "phi_k_rot", "denominator", "weights"},
        .variants = linear_attention_variants()};
}

}  // namespace linear_attention

std::vector<Mistake> linear_attention_mistakes() { return {linear_attention::mistake()}; }

}  // namespace locus::conformance
