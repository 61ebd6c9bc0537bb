#include "core/conformance/diagnosis/fitted_bias.h"
#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Heads [..,H,R,d] with one row [H,d] added to all rows of a head.
Tensor<double> with_bias(Tensor<double> heads, const Matrix<double>& bias) {
    const Index count = heads.size() / (heads.extent(heads.rank() - 2) * heads.extent(heads.rank() - 1));
    for (Index at = 0; at < count; ++at) heads.matrix(at).rowwise() += bias.row(at % bias.rows());
    return heads;
}

/// The bias of q (part 0) or v (part 2).
Matrix<double> bias_of(const Replay& at, int part) {
    require_version_1(at);
    return by_head(at.deberta().projection(at.layer(), part).bias, at.deberta().config().num_attention_heads);
}

template <class Bias>
Variant keys_plus(const char* how, Bias bias) {
    return {how, {{"k", {"x"}, [bias](const Replay& at) {
                       require_version_1(at);
                       return with_bias(at.right("k"), bias(at));
                   }}}};
}

/// (x W) s + b instead of (x W + b) s, as queries that are right otherwise see it: b is 1 / s too large.
Matrix<double> late_bias(const Replay& at) {
    Matrix<double> bias = bias_of(at, 0);
    const double count = terms_of(at).count() * static_cast<double>(bias.cols());
    bias *= std::sqrt(count) - 1;
    return bias;
}

std::vector<Variant> biases_of_version_1() {
    return {
        keys_plus("keys get the bias of queries", [](const Replay& at) { return bias_of(at, 0); }),
        keys_plus("keys get the bias of values", [](const Replay& at) { return bias_of(at, 2); }),
        keys_plus("keys have a bias that no file holds", fitted_key_bias),
        {"position keys have a bias that no file holds",
         {{"k_r",
           {"/relative.table"},
           [](const Replay& at) {
               require_version_1(at);
               return with_bias(at.right("k_r"), fitted_position_key_bias(at));
           }}}},
        {"q_bias is added after the scale",
         {{"q", {"x_q"}, [](const Replay& at) { return with_bias(at.right("q"), late_bias(at)); }}}},
        {"q_bias is added after the scale, q is reported without it",
         {{"c2c", {"q", "k"}, [](const Replay& at) { return products(with_bias(at("q"), late_bias(at)), at("k")); }},
          {"c2p",
           {"q", "k_r", "/relative.index"},
           [](const Replay& at) {
               return content_to_position_by(with_bias(at("q"), late_bias(at)), at("k_r"), index_here(at));
           }}}},
    };
}

}  // namespace

Mistake mistake_23() {
    return {.number = 23,
            .name = "version 1: keys get a bias, or the bias of queries is added after the scale",
            .symptom = "scores are off by q . b, constant along a row, and by a part of p2c",
            .betrays = "scores less their right values and their row means leave p2c alone",
            .evidence = "microsoft/DeBERTa load hook leaves key_proj.bias as it was",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"q", "k", "k_r", "c2c", "c2p"},
            .variants = biases_of_version_1()};
}

}  // namespace locus::conformance
