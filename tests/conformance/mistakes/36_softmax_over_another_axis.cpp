#include <cmath>
#include <limits>
#include <string>

#include "tests/conformance/mistakes/mistakes.h"
#include "tests/conformance/wrong_masks.h"

namespace locus::conformance {

namespace {

enum class Over { queries, heads, samples };
enum class EmptyLine { zero, uniform, nan };

/// Where a line of an axis begins and how far its cells lie apart, in a tensor [B,H,Tq,Tk].
struct Axis {
    Index count, step;
};

Axis axis_of(const Tensor<double>& scores, Over over) {
    const Index keys = scores.extent(3), queries = scores.extent(2), heads = scores.extent(1);
    if (over == Over::queries) return {queries, keys};
    if (over == Over::heads) return {heads, queries * keys};
    return {scores.extent(0), heads * queries * keys};
}

/// Softmax along one line of cells; hidden ones get 0.
void normalise(Tensor<double>& values, const Tensor<double>& shows, Index first, const Axis& axis, EmptyLine empty) {
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    for (Index n = 0; n < axis.count; ++n)
        if (shows[first + n * axis.step] != 0) maximum = std::max(maximum, values[first + n * axis.step]);
    for (Index n = 0; n < axis.count; ++n) {
        double& value = values[first + n * axis.step];
        value = shows[first + n * axis.step] != 0 ? std::exp(value - maximum) : 0;
        sum += value;
    }
    const double nothing = empty == EmptyLine::zero      ? 0
                           : empty == EmptyLine::uniform ? 1 / static_cast<double>(axis.count)
                                                         : std::numeric_limits<double>::quiet_NaN();
    for (Index n = 0; n < axis.count; ++n) {
        double& value = values[first + n * axis.step];
        value = sum > 0 ? value / sum : nothing;
    }
}

Tensor<double> normalised(const Replay& at, Over over, EmptyLine empty) {
    Tensor<double> values = softmax_input(at);
    const Axis axis = axis_of(values, over);
    if (axis.count < 2) throw NotEnough{"an axis of two or more"};
    const Tensor<double> shows =
        each_head(values, values.extent(2), values.extent(3), [&](Index, Index h, Index b) -> Matrix<double> {
            const Mask mask = visible_pairs(at, b, h);
            if (mask.size() == 0) return Matrix<double>::Ones(values.extent(2), values.extent(3));
            return mask.cast<double>();
        });
    for (Index n = 0; n < values.size(); ++n)
        if (n / axis.step % axis.count == 0) normalise(values, shows, n, axis, empty);
    return values;
}

std::vector<Variant> variants() {
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
    return all;
}

}  // namespace

Mistake mistake_36() {
    return {.number = 36,
            .name = "the softmax runs over another axis than the keys",
            .symptom = "columns sum to 1, rows do not",
            .betrays = "the sum over j is not 1, the sum over i (or heads, or samples) is",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs"},
            .variants = variants()};
}

}  // namespace locus::conformance
