// Mistakes 36, 38 and 125.  Softmax, forward and backward.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/conformance/formulas/gradients.h"
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

/// P (dP - sum_j W dP), and the whole once more times keep where it is multiplied afterwards.
enum class Sum { of_dropped_probs, of_undropped_output, times_keep_afterwards, without_probs, mean, over_queries };
Formula by_sum(Sum sum) {
    return {"grad.scores", {"probs", "grad.probs", "keep", "grad.context", "v"}, [sum](const Replay& at) {
                const Tensor<double>&probs = at("probs"), &keep = at("keep"), &arriving = at("grad.probs");
                const Tensor<double> undropped = gradient_of_weights(at("grad.context"), values_of_weights(at));
                if (sum == Sum::times_keep_afterwards) return product_of(through_softmax(probs, undropped), keep);
                Tensor<double> summed = product_of(probs, sum == Sum::of_undropped_output ? undropped : arriving);
                if (sum == Sum::of_dropped_probs) summed = product_of(std::move(summed), keep);
                if (sum == Sum::without_probs) summed = arriving;
                return each_head(probs, probs.extent(2), probs.extent(3), [&](Index n, Index, Index) {
                    Matrix<double> rest = arriving.matrix(n);
                    if (sum == Sum::over_queries)
                        rest.rowwise() -= RowVector<double>(summed.matrix(n).colwise().sum());
                    else if (sum == Sum::mean)
                        rest.colwise() -= Eigen::VectorXd(summed.matrix(n).rowwise().mean());
                    else
                        rest.colwise() -= Eigen::VectorXd(summed.matrix(n).rowwise().sum());
                    return Matrix<double>(probs.matrix(n).cwiseProduct(rest));
                });
            }};
}

Mistake mistake() {
    return {
        .number = 38,
        .name = "the softmax is differentiated without the right sum over its row, or at the dropped-out probabilities",
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
                     {"the gradient of the dropped-out probs for that of probs", {of_dropped_probs()}},
                     {"the sum over the row of dropped-out probs", {by_sum(Sum::of_dropped_probs)}},
                     {"the sum over the row from an output without dropout", {by_sum(Sum::of_undropped_output)}},
                     {"dropout's mask after the softmax's backward pass instead of before",
                      {by_sum(Sum::times_keep_afterwards)}},
                     {"the sum over the row of dP alone, without probs", {by_sum(Sum::without_probs)}},
                     {"the mean over the row for the sum", {by_sum(Sum::mean)}},
                     {"the sum over queries instead of keys", {by_sum(Sum::over_queries)}}}};
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

std::vector<Mistake> softmax_mistakes() { return {softmax_over_another_axis::mistake()}; }        // 36
std::vector<Mistake> softmax_backward_mistakes() { return {wrong_softmax_backward::mistake()}; }  // 38
std::vector<Mistake> later_softmax_mistakes() { return {another_softmax::mistake()}; }            // 125

}  // namespace locus::conformance
