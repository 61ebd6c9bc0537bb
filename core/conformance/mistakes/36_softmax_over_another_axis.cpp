#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/mistakes/mistakes.h"

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
            .variants = softmax_over_another_axis()};
}

}  // namespace locus::conformance
