#include "core/conformance/kit/kit_inspect.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/io/input_file.h"

namespace locus::conformance {

namespace {

/// max |found - expected| over both ways to write the same values; infinity for anything that is not a number.
double distance_under(const Stage& expected, const Stage& found, const std::vector<std::size_t>& order) {
    const Shape& sizes = found.shape();
    std::vector<Index> strides(order.size(), 1), place(order.size(), 0);
    for (std::size_t axis = order.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * expected.shape()[axis];
    double worst = 0;
    for (Index n = 0; n < found.size(); ++n) {
        Index flat = 0;
        for (std::size_t axis = 0; axis < order.size(); ++axis) flat += place[axis] * strides[order[axis]];
        const double difference = std::abs(found.at(n) - expected.at(flat));
        if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, difference);
        for (std::size_t axis = order.size(); axis-- > 0;) {
            if (++place[axis] < sizes[axis]) break;
            place[axis] = 0;
        }
    }
    return worst;
}

std::string letters(const std::vector<std::string>& axes, const std::vector<std::size_t>& order) {
    std::string text;
    for (const std::size_t axis : order)
        text += (text.empty() ? "" : " ") + (axis < axes.size() ? axes[axis] : "axis " + std::to_string(axis));
    return text;
}

/// The same values in the same places of memory, under sizes written fastest axis first.
bool is_reversed_shape(const Stage& expected, const Stage& found) {
    const Shape reversed(expected.shape().rbegin(), expected.shape().rend());
    if (found.shape() != reversed || found.shape() == expected.shape()) return false;
    double worst = 0, size = 1;
    for (Index n = 0; n < found.size(); ++n) {
        const double difference = std::abs(found.at(n) - expected.at(n));
        if (std::isnan(difference)) return false;
        worst = std::max(worst, difference);
        size = std::max(size, std::abs(expected.at(n)));
    }
    return worst <= 0.05 * size;
}

void inspect_axes(const Stage& expected, const Stage& found) {
    if (found.shape() == expected.shape() || found.size() != expected.size()) return;
    const std::string both = "stage " + found.name + " has the shape " + to_string(found.shape()) + " instead of " +
                             to_string(expected.shape());
    if (is_reversed_shape(expected, found))
        throw Error(Fault::unsupported,
                    both + ": the values are in order, but the sizes are written as ggml does, fastest axis first");
    const std::vector<std::size_t> order = axes_exchanged(expected, found);
    if (order.empty()) return;
    std::vector<std::size_t> right(order.size());
    std::iota(right.begin(), right.end(), std::size_t{0});
    throw Error(Fault::unsupported, both + ": its axes stand in the order " + letters(expected.axes, order) +
                                        ", expected " + letters(expected.axes, right));
}

/// A gradient of no stage, in a case that lists the gradients of its parameters, and not that one.
bool is_strange_gradient(const std::string& name, const Trace& reference) {
    if (!name.starts_with("grad.") || !describe_stage(name)->axes.empty()) return false;
    const std::vector<std::string> names = reference.names();
    return std::any_of(names.begin(), names.end(), [](const std::string& known) { return known.starts_with("grad."); });
}

}  // namespace

std::vector<std::size_t> axes_exchanged(const Stage& expected, const Stage& found) {
    const Shape& wanted = expected.shape();
    if (found.shape().size() != wanted.size() || wanted.size() > 6 || found.shape() == wanted) return {};
    std::vector<std::size_t> order(wanted.size()), best;
    std::iota(order.begin(), order.end(), std::size_t{0});
    double least = std::numeric_limits<double>::infinity();
    do {
        bool fits = true;
        for (std::size_t axis = 0; axis < order.size(); ++axis)
            fits = fits && found.shape()[axis] == wanted[order[axis]];
        if (!fits) continue;
        const double distance = distance_under(expected, found, order);
        if (best.empty() || distance < least) {
            best = order;
            least = distance;
        }
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
}

void inspect_dump(const Dump& dump, const KitCase& one, const Trace& reference, const Trace& inputs) {
    for (const Stage& stage : dump.trace.stages()) {
        if (const Stage* expected = reference.find(stage.name)) {
            inspect_axes(*expected, stage);
        } else if (!inputs.find(stage.name) &&
                   (!describe_stage(stage.name) || is_strange_gradient(stage.name, reference))) {
            const bool is_long = stage.name.size() > 80;
            throw Error(Fault::unsupported, "stage \"" + printable(stage.name.substr(0, 80)) + (is_long ? "..." : "") +
                                                "\" is unknown; the nearest name of case " + one.id + " is " +
                                                nearest(stage.name, reference.names()));
        }
    }
}

}  // namespace locus::conformance
