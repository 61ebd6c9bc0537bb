// Mistakes 36 to 38 and 125.  Softmax, forward and backward, and dropout.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/conformance/formulas/gradients.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace softmax_over_another_axis {  // mistake 36

enum class Over { queries, heads, samples, pairs, heads_and_pairs };
enum class EmptyLine { zero, uniform, nan };

/// Where a line of an axis begins and how far its cells lie apart, in a tensor [B,H,Tq,Tk].
struct Axis {
    Index count, step;
};

Axis axis_of(const Tensor<double>& scores, Over over) {
    const Index keys = scores.extent(3), queries = scores.extent(2), heads = scores.extent(1);
    if (over == Over::queries) return {queries, keys};
    if (over == Over::heads) return {heads, queries * keys};
    if (over == Over::pairs) return {queries * keys, 1};
    if (over == Over::heads_and_pairs) return {heads * queries * keys, 1};
    return {scores.extent(0), heads * queries * keys};
}

/// 1 = visible, in the shape of the scores.
std::vector<std::uint8_t> visible_cells(const Replay& at, const Tensor<double>& scores) {
    std::vector<std::uint8_t> shows(static_cast<std::size_t>(scores.size()), 1);
    const Index heads = scores.extent(1), matrix = scores.extent(2) * scores.extent(3);
    for (Index n = 0; n < scores.extent(0) * heads; ++n) {
        const Mask mask = visible_pairs(at, n / heads, n % heads);
        if (mask.size() != 0 && mask.size() != matrix) throw NotEnough{"a mask of these scores"};
        std::copy_n(mask.data(), mask.size(), shows.begin() + n * matrix);
    }
    return shows;
}

/// Softmax along `axis` of one block of axis.count * axis.step cells; hidden ones get 0.  Lines lie side by side.
void normalise(double* values, const std::uint8_t* shows, const Axis& axis, double nothing) {
    const auto lines = static_cast<std::size_t>(axis.step);
    std::vector<double> maximum(lines, -std::numeric_limits<double>::infinity()), sum(lines);
    for (Index n = 0; n < axis.count * axis.step; ++n)
        if (double& line = maximum[static_cast<std::size_t>(n % axis.step)]; shows[n]) line = std::max(line, values[n]);
    for (Index n = 0; n < axis.count * axis.step; ++n) {
        const auto line = static_cast<std::size_t>(n % axis.step);
        values[n] = shows[n] ? std::exp(values[n] - maximum[line]) : 0;
        sum[line] += values[n];
    }
    for (Index n = 0; n < axis.count * axis.step; ++n) {
        const double whole = sum[static_cast<std::size_t>(n % axis.step)];
        values[n] = whole > 0 ? values[n] / whole : nothing;
    }
}

Tensor<double> normalised(const Replay& at, Over over, EmptyLine empty) {
    Tensor<double> values = softmax_input(at);
    const Axis axis = axis_of(values, over);
    if (axis.count < 2) throw NotEnough{"an axis of two or more"};
    const std::vector<std::uint8_t> shows = visible_cells(at, values);
    const double nothing = empty == EmptyLine::zero      ? 0
                           : empty == EmptyLine::uniform ? 1 / static_cast<double>(axis.count)
                                                         : std::numeric_limits<double>::quiet_NaN();
    const Index block = axis.count * axis.step;
    for (Index n = 0; n < values.size() / block; ++n) {
        normalise(values.data() + n * block, shows.data() + n * block, axis, nothing);
        if (over == Over::queries) at.show("probs", n, values.matrix(n));
    }
    return values;
}

std::vector<Variant> softmax_over_another_axis() {
    std::vector<Variant> all;
    for (const Over over : {Over::queries, Over::heads, Over::samples})
        for (const EmptyLine empty : {EmptyLine::zero, EmptyLine::uniform, EmptyLine::nan}) {
            const std::string axis = over == Over::queries ? "queries" : over == Over::heads ? "heads" : "samples";
            const std::string rest = empty == EmptyLine::zero      ? "zero"
                                     : empty == EmptyLine::uniform ? "uniform"
                                                                   : "NaN";
            all.push_back({"over " + axis + "; " + rest + " where all are hidden",
                           {{"probs", {"scores", "scores_mixed"}, [=](const Replay& at) {
                                 return normalised(at, over, empty);
                             }}}});
        }
    // What softmax means where it flattens what follows its axis, and in code that names no axis.
    for (const Over over : {Over::pairs, Over::heads_and_pairs})
        all.push_back({over == Over::pairs ? "over queries and keys together" : "over heads, queries and keys together",
                       {{"probs", {"scores", "scores_mixed"}, [over](const Replay& at) {
                             return normalised(at, over, EmptyLine::zero);
                         }}}});
    return all;
}

Mistake mistake() {
    return {.number = 36,
            .name = "the softmax runs over another axis than the keys",
            .symptom = "columns sum to 1, rows do not",
            .betrays = "the sum over j is not 1, the sum over i (or heads, samples, or all pairs) is",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs"},
            .variants = softmax_over_another_axis()};
}

}  // namespace softmax_over_another_axis

namespace dropout_while_testing {  // mistake 37

/// 1 - p of one of the names that families give to dropout.  Throws NotEnough where there is none, or p is 0.
double kept(const Replay& at, const std::vector<const char*>& names) {
    const nlohmann::json config = nlohmann::json::parse(at.model().config_json);
    for (const char* name : names)
        if (config.contains(name) && config[name].is_number()) {
            const double p = config[name];
            if (p > 0 && p < 1) return 1 - p;
        }
    throw NotEnough{"a dropout probability"};
}

std::vector<const char*> of_attention() { return {"attention_probs_dropout_prob", "dropatt"}; }
std::vector<const char*> of_hidden() { return {"hidden_dropout_prob", "dropout"}; }

Formula scaled(const char* stem, std::vector<std::string> inputs, std::vector<const char*> (*names)(), int power) {
    return {stem, std::move(inputs), [=](const Replay& at) {
                const double factor = std::pow(kept(at, names()), power);
                return mapped(at.right(stem), [&](double value) { return value * factor; });
            }};
}

/// softmax((1 - p) scores).
Formula before_softmax() {
    return probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
        return masked_softmax<double>(kept(at, of_attention()) * scores, visible_pairs(at, b, h), at.masked_row());
    });
}

/// norm((1 - p) dense(context) + x_q).
Formula scaled_dense() {
    return {"attention", {"context", "x_q"}, [](const Replay& at) {
                const double factor = kept(at, of_hidden());
                const Tensor<double> residual = mapped(at("x_q"), [&](double value) { return value / factor; });
                const Tensor<double> sum =
                    mapped(attention_sum(at, residual), [&](double value) { return value * factor; });
                return after_sum(at, sum, attention_norm_of(at));
            }};
}

/// A random mask, as the candidate's own zeros show it; the factor 1 / (1 - p) is what most of the rest agree on.
/// Every value that is left must then be the right one times that factor.
Formula dropped_at_random(const char* stem, std::vector<std::string> inputs) {
    return {stem, std::move(inputs), [stem](const Replay& at) {
                const Tensor<double>* found = at.claimed(stem);
                Tensor<double> values = at.right(stem);
                if (!found || found->shape() != values.shape()) throw NotEnough{"the candidate's own zeros"};
                std::vector<double> ratios;
                Index zeros = 0;
                for (Index n = 0; n < values.size(); ++n) {
                    if (values[n] == 0) continue;
                    if ((*found)[n] == 0)
                        ++zeros;
                    else
                        ratios.push_back((*found)[n] / values[n]);
                }
                if (zeros == 0 || ratios.size() < 16) throw NotEnough{"zeros among values that are left"};
                const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
                std::nth_element(ratios.begin(), middle, ratios.end());
                const double factor = *middle;
                if (!(factor > 1.0001 && factor < 10)) throw NotEnough{"a factor 1 / (1 - p)"};
                for (Index n = 0; n < values.size(); ++n) values[n] = (*found)[n] == 0 ? 0 : values[n] * factor;
                return values;
            }};
}

std::vector<Variant> dropout_while_testing() {
    std::vector<Variant> all = {{"scores are scaled by 1 - p before the softmax", {before_softmax()}}};
    all.push_back({"the dense layer after attention times 1 - p", {scaled_dense()}});
    for (const auto names : {of_attention, of_hidden}) {
        const std::string p = names == of_attention ? "p of attention" : "p of hidden states";
        for (const int power : {1, -1}) {
            const std::string by = std::string(power == 1 ? " times" : " divided by") + " 1 - p, " + p;
            all.push_back({"probs" + by, {scaled("probs", {"scores", "scores_mixed"}, names, power)}});
            all.push_back({"probs are right, context" + by, {scaled("context", {"probs", "v"}, names, power)}});
        }
    }
    all.push_back({"the feed-forward part times 1 - p", {scaled("ffn", {"ffn_act"}, of_hidden, 1)}, {"ffn"}});
    all.push_back({"the embeddings times 1 - p",
                   {scaled("/embeddings.output", {"/embeddings.word"}, of_hidden, 1)},
                   {"/embeddings.output"}});
    all.push_back({"a random mask on probs", {dropped_at_random("probs", {"scores", "scores_mixed"})}, {"probs"}});
    all.push_back({"a random mask on the embeddings",
                   {dropped_at_random("/embeddings.output", {"/embeddings.word"})},
                   {"/embeddings.output"}});
    all.push_back({"a random mask after the feed-forward part", {dropped_at_random("ffn", {"ffn_act"})}, {"ffn"}});
    return all;
}

Mistake mistake() {
    return {.number = 37,
            .name = "dropout acts outside training: its factor 1 - p is left on, or it stands before the softmax",
            .symptom = "the mean of the output shifts",
            .betrays = "rows of probs sum to 1 - p",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs", "context", "attention"},
            .variants = dropout_while_testing()};
}

}  // namespace dropout_while_testing

namespace wrong_softmax_backward {  // mistake 38

/// Which numbers a wrong backward pass takes for P, the output of the softmax, and for dP.
struct Taken {
    bool dropped_probs = false;     // P keep for P
    bool gradient_of_them = false;  // d(P keep) for dP
};

Formula with(Taken taken) {
    return {"grad.scores", {"probs", "grad.probs", "keep", "grad.context", "v"}, [taken](const Replay& at) {
                const Tensor<double> probs = taken.dropped_probs ? product_of(at("probs"), at("keep")) : at("probs");
                if (!taken.gradient_of_them) return through_softmax(probs, at("grad.probs"));
                return through_softmax(probs, gradient_of_weights(at("grad.context"), values_of_weights(at)));
            }};
}

Formula without_sum() {
    return {"grad.scores", {"probs", "grad.probs"}, [](const Replay& at) {
                return product_of(at("probs"), at("grad.probs"));
            }};
}

/// The gradient that arrives is that of P keep; the backward pass never multiplied by keep.
Formula of_dropped_probs() {
    return {"grad.probs", {"grad.context", "v", "v_rot"}, [](const Replay& at) {
                return gradient_of_weights(at("grad.context"), values_of_weights(at));
            }};
}

Mistake mistake() {
    return {.number = 38,
            .name = "the softmax is differentiated without the sum over its row, or at the dropped-out probabilities",
            .symptom = "gradients are biased, and training still moves",
            .betrays = "a row of grad.scores sums to 0; probs (dP - sum_j probs dP) is what it must be",
            .evidence = "aws-neuron/nki-samples #81; ooples/AiDotNet #1701",
            .lesson = "29",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl},
            .stems = {"grad.probs", "grad.scores"},
            .variants = {{"probs dP, without the sum over the row", {without_sum()}},
                         {"the dropped-out probs for probs", {with({.dropped_probs = true})}},
                         {"the dropped-out probs for probs, and their gradient for that of probs",
                          {with({.dropped_probs = true, .gradient_of_them = true})}},
                         {"the gradient of the dropped-out probs for that of probs", {of_dropped_probs()}}}};
}

}  // namespace wrong_softmax_backward

namespace another_softmax {  // mistake 125

/// exp(factor scores) by rows, and one more in its sum where `one_more`.
Formula exponential(double factor, bool one_more = false) {
    return probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
        const Mask mask = visible_pairs(at, b, h);
        Matrix<double> probs = masked_softmax<double>(factor * scores, mask, at.masked_row());
        for (Index i = 0; one_more && i < probs.rows(); ++i) {
            if (hides_all(mask, i)) {  // 0 / (1 + 0)
                probs.row(i).setZero();
                continue;
            }
            double sum = 0;  // of what probs were divided by
            for (Index j = 0; j < probs.cols(); ++j)
                if (mask.size() == 0 || mask(i, j) != 0) sum += std::exp(factor * scores(i, j));
            probs.row(i) *= sum / (1 + sum);
        }
        return probs;
    });
}

Formula logistic() {
    return probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
        const Mask mask = visible_pairs(at, b, h);
        Matrix<double> probs = (1 + (-scores.array()).exp()).inverse();
        for (Index n = 0; n < mask.size(); ++n)
            if (mask.data()[n] == 0) probs.data()[n] = 0;
        return probs;
    });
}

Mistake mistake() {
    const double ln2 = std::log(2.0);
    return {.number = 125,
            .name = "probs are another function of the scores: 2^s, 1 more in the sum, a sigmoid, exp(-s)",
            .symptom = "the right keys, too much or too little of them",
            .betrays = "log(probs) differ in a row as ln 2, 1/ln 2 or -1 times the scores; or rows do not sum to 1",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs"},
            .variants = {{"2^scores: exp2 without the factor log2(e)", {exponential(ln2)}},
                         {"exp of scores that were multiplied by log2(e)", {exponential(1 / ln2)}},
                         {"1 is added to the sum of the row", {exponential(1, true)}},
                         {"a sigmoid of each score", {logistic()}},
                         {"exp of the negative scores", {exponential(-1)}}}};
}

}  // namespace another_softmax

std::vector<Mistake> softmax_mistakes() {
    return {
        softmax_over_another_axis::mistake(),  // 36
        dropout_while_testing::mistake(),      // 37
        wrong_softmax_backward::mistake(),     // 38
    };
}

std::vector<Mistake> later_softmax_mistakes() { return {another_softmax::mistake()}; }

}  // namespace locus::conformance
