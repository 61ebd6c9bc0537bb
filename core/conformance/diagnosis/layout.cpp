#include "core/conformance/diagnosis/layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/patterns.h"
#include "core/stages.h"

namespace locus::conformance {

namespace {

constexpr std::size_t kMostAxes = 5;  // of a stage whose axes are tried in every order: 120 of them

/// "T", "axis 0" where axes have no names.
std::string axis_name(const std::vector<std::string>& axes, std::size_t axis) {
    return axis < axes.size() ? axes[axis] : "axis " + std::to_string(axis);
}

/// "[B,H,T,d]" of axes in this order.
std::string axes_text(const std::vector<std::string>& axes, const std::vector<std::size_t>& order) {
    std::string text;
    for (const std::size_t axis : order) text += (text.empty() ? "[" : ",") + axis_name(axes, axis);
    return text + "]";
}

/// "[2k,d]" of the axes from one on.
std::string last_axes(const std::vector<std::string>& axes, std::size_t from, std::size_t rank) {
    std::vector<std::size_t> order(rank - from);
    std::iota(order.begin(), order.end(), from);
    return axes_text(axes, order);
}

}  // namespace

bool says_something(const Tensor<double>& values, double allowed) {
    const auto [least, most] = std::minmax_element(values.values().begin(), values.values().end());
    return values.size() > 1 && *most - *least > 2 * allowed;
}

double allowed_of(const StageVerdict& verdict, const Tensor<double>& right) {
    return verdict.worst >= 0 ? verdict.allowed
                              : verdict.tolerance.absolute + verdict.tolerance.relative * largest_size(right);
}

// As many numbers as there should be.

namespace {

/// True if `found`, read as a tensor whose axes are these of `right` in this order, holds the right numbers.
bool holds_in_order(const Tensor<double>& right, const Shape& shape, const Tensor<double>& found,
                    const std::vector<std::size_t>& order, double allowed) {
    std::vector<Index> step(shape.size(), 1), at(shape.size(), 0);
    for (std::size_t axis = shape.size(); axis-- > 1;) step[axis - 1] = step[axis] * shape[axis];
    Index from = 0;
    for (Index n = 0; n < found.size(); ++n) {
        if (!(std::abs(found[n] - right[from]) <= allowed)) return false;
        for (std::size_t place = order.size(); place-- > 0;) {  // the next cell, the last axis of the order first
            const std::size_t axis = order[place];
            from += step[axis];
            if (++at[axis] < shape[axis]) break;
            from -= shape[axis] * step[axis];
            at[axis] = 0;
        }
    }
    return true;
}

/// The first order of these axes in which `found` holds the right numbers; nothing where there is none.
std::optional<std::vector<std::size_t>> order_of(const Tensor<double>& right, const Shape& shape,
                                                 const Tensor<double>& found, double allowed) {
    if (shape.size() > kMostAxes) return std::nullopt;
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
        if (holds_in_order(right, shape, found, order, allowed)) return order;
    } while (std::next_permutation(order.begin(), order.end()));
    return std::nullopt;
}

/// How many heads the stages of a reference have; 0 where none shows it.
Index heads_of(const TraceView& reference) {
    for (const std::string& name : reference.names()) {
        const auto known = describe_stage(name);
        const Shape& shape = *reference.shape_of(name);
        if (!known || known->axes.size() != shape.size()) continue;
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (known->axes[axis] == "H") return shape[axis];
    }
    return 0;
}

/// A stage whose heads should be joined, [B,T,H*d], and are not.
std::optional<std::string> heads_apart(const Evidence& evidence, const Stage& stage, const Tensor<double>& right,
                                       const Tensor<double>& found, double allowed) {
    const Index heads = heads_of(evidence.reference);
    Shape shape = right.shape();
    if (heads < 2 || shape.size() < 2 || shape.size() != stage.axes.size() || shape.back() % heads != 0)
        return std::nullopt;
    std::vector<std::string> axes = stage.axes;
    axes.back() = "H";
    axes.push_back("d");
    shape.back() /= heads;
    shape.insert(shape.end() - 1, heads);
    const auto order = order_of(right, shape, found, allowed);
    if (!order) return std::nullopt;
    return "the right numbers with their heads apart, in the order " + axes_text(axes, *order) +
           ": join the heads to " + last_axes(stage.axes, 0, right.shape().size()) + " = " + to_string(right.shape());
}

const std::string kTranspose = ": transpose them to ";

/// "the right numbers with their axes in the order [B,T,H,d]: ..." for a stage that has as many values as it should,
/// and "the right numbers in the right order, but of shape [4, 8]: ..."; nothing where they are other numbers.
std::optional<std::string> other_axes(const Evidence& evidence, const StageVerdict& verdict) {
    const auto stage = evidence.reference.at(verdict.name);
    const Tensor<double> right = widened(*stage), found = widened(*evidence.candidate.at(verdict.name));
    const double allowed = allowed_of(verdict, right);
    if (right.size() != found.size() || !says_something(right, allowed)) return std::nullopt;
    const auto order = order_of(right, right.shape(), found, allowed);
    if (!order) return heads_apart(evidence, *stage, right, found, allowed);
    const std::string expected = last_axes(stage->axes, 0, right.shape().size());
    if (!std::is_sorted(order->begin(), order->end()))
        return "the right numbers with their axes in the order " + axes_text(stage->axes, *order) + kTranspose +
               expected + (right.shape() == found.shape() ? "" : ", and save " + to_string(right.shape()));
    if (right.shape() == found.shape()) return std::nullopt;
    return "the right numbers in the right order, but of shape " + to_string(found.shape()) + ": save them as " +
           expected + " = " + to_string(right.shape());
}

// More numbers than there should be, or fewer.

/// "each [d] twice": the right numbers, but all of them, blocks of the last axes or single ones several times, one
/// after another, as a table that is repeated for every sample or cos and sin that hold each half twice.
std::optional<std::string> repeated(const Stage& stage, const Tensor<double>& right, const Tensor<double>& found,
                                    double allowed) {
    if (found.size() <= right.size() || found.size() % right.size() != 0) return std::nullopt;
    const Index times = found.size() / right.size();
    const std::size_t rank = right.shape().size();
    Index block = right.size();
    for (std::size_t from = 0; from <= rank; block /= from < rank ? right.shape()[from] : 1, ++from) {
        if (from > 0 && from < rank && block == right.size()) continue;  // the same as all
        const auto is_right = [&](Index n) {
            return std::abs(found[n] - right[n / (block * times) * block + n % block]) <= allowed;
        };
        Index n = 0;
        while (n < found.size() && is_right(n)) ++n;
        if (n < found.size()) continue;
        return (from == 0      ? "all of them "
                : from == rank ? "each of them "
                               : "each " + last_axes(stage.axes, from, rank) + " ") +
               (times == 2 ? "twice" : std::to_string(times) + " times") + ", one after another";
    }
    return std::nullopt;
}

/// True if the values of `part` are those of `whole` from these numbers of its axes on.
bool holds_from(const Tensor<double>& whole, const Tensor<double>& part, const std::vector<Index>& from,
                double allowed) {
    for (Index n = 0; n < part.size(); ++n) {
        Index rest = n, at = 0, step = 1;
        for (std::size_t axis = from.size(); axis-- > 0;) {
            at += (rest % part.shape()[axis] + from[axis]) * step;
            rest /= part.shape()[axis];
            step *= whole.shape()[axis];
        }
        if (!(std::abs(part[n] - whole[at]) <= allowed)) return false;
    }
    return true;
}

/// "0 to 6 of 512 along T": where the smaller of two tensors of one rank stands in the other, as rows of a table that
/// is longer than the text; nothing where one is larger along one axis and smaller along another, or other numbers
/// stand there.  It is looked for everywhere along one axis, and at the beginning where several differ.
std::optional<std::string> part_of(const Stage& stage, const Tensor<double>& whole, const Tensor<double>& part,
                                   double allowed) {
    const std::size_t rank = part.shape().size();
    std::vector<std::size_t> longer;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (whole.shape()[axis] < part.shape()[axis]) return std::nullopt;
        if (whole.shape()[axis] > part.shape()[axis]) longer.push_back(axis);
    }
    if (longer.empty()) return std::nullopt;
    std::vector<Index> from(rank, 0);
    Index& first = from[longer.front()];
    const Index last = longer.size() > 1 ? 0 : whole.shape()[longer.front()] - part.shape()[longer.front()];
    while (first <= last && !holds_from(whole, part, from, allowed)) ++first;
    if (first > last) return std::nullopt;
    std::string text;
    for (const std::size_t axis : longer) {
        const Index begin = from[axis], end = begin + part.shape()[axis] - 1;
        text += (text.empty() ? "" : " and ") + std::to_string(begin) +
                (begin < end ? " to " + std::to_string(end) : "") + " of " + std::to_string(whole.shape()[axis]) +
                " along " + axis_name(stage.axes, axis);
    }
    return text;
}

/// Without axes of one number at its front, of which it has more than the other.
Tensor<double> of_rank(const Tensor<double>& values, std::size_t rank) {
    Shape shape = values.shape();
    while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
    return Tensor<double>(shape, values.values());
}

/// True if `found` is the mean of `right` along this axis.
bool is_mean_along(const Tensor<double>& right, const Tensor<double>& found, std::size_t axis, double allowed) {
    const Shape& shape = right.shape();
    Index inner = 1;
    for (std::size_t n = axis + 1; n < shape.size(); ++n) inner *= shape[n];
    for (Index n = 0; n < found.size(); ++n) {
        double sum = 0;
        for (Index m = 0; m < shape[axis]; ++m) sum += right[(n / inner * shape[axis] + m) * inner + n % inner];
        if (!(std::abs(found[n] - sum / static_cast<double>(shape[axis])) <= allowed)) return false;
    }
    return true;
}

/// "H", the axis along which `found` is the mean of the right numbers; nothing where it is none.
std::optional<std::string> averaged_axis(const Stage& stage, const Tensor<double>& right, const Tensor<double>& found,
                                         double allowed) {
    for (std::size_t axis = 0; axis < right.shape().size(); ++axis) {
        const Index along = right.shape()[axis];
        if (along > 1 && found.size() * along == right.size() && is_mean_along(right, found, axis, allowed))
            return axis_name(stage.axes, axis);
    }
    return std::nullopt;
}

/// "1, 4, 6 of the 14 of [B,T]": rows of the last axis, in their order, as of the tokens that have a label; nothing
/// where there are other ones.
std::optional<std::string> some_rows(const Stage& stage, const Tensor<double>& right, const Tensor<double>& found,
                                     double allowed) {
    const std::size_t rank = right.shape().size();
    const Index width = rank < 2 ? 0 : right.shape().back();
    if (width < 2 || found.shape().empty() || found.shape().back() != width) return std::nullopt;
    const Index rows = right.size() / width, count = found.size() / width;
    std::vector<Index> taken;
    for (Index row = 0; row < rows && std::ssize(taken) < count; ++row) {
        const Index next = std::ssize(taken);
        Index n = 0;
        while (n < width && std::abs(found[next * width + n] - right[row * width + n]) <= allowed) ++n;
        if (n == width) taken.push_back(row);
    }
    if (count == 0 || count >= rows || std::ssize(taken) < count) return std::nullopt;
    std::vector<std::size_t> order(rank - 1);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return listed(taken) + " of the " + std::to_string(rows) + " of " + axes_text(stage.axes, order);
}

/// In a family with a memory more rows are more that the port remembers, and sees.
bool remembers(const Evidence& evidence) {
    const std::optional<Family> family = known_family(evidence);
    return family == Family::transformer_xl || family == Family::xlnet;
}

/// "the right numbers, but each [d] twice, one after another: ...", "the right numbers are 0 to 6 of 512 along T:
/// ..." and the like for a stage of another shape that holds the right numbers and more, some of them, or their mean
/// along an axis; nothing where it does not.
std::optional<std::string> other_extents(const Evidence& evidence, const StageVerdict& verdict) {
    const auto stage = evidence.reference.at(verdict.name);
    const Tensor<double> right = widened(*stage);
    const Tensor<double> found = of_rank(widened(*evidence.candidate.at(verdict.name)), right.shape().size());
    const double allowed = allowed_of(verdict, right);
    if (right.shape() == found.shape() || !says_something(right, allowed) || !says_something(found, allowed))
        return std::nullopt;
    const std::string save = last_axes(stage->axes, 0, right.shape().size()) + " = " + to_string(right.shape());
    if (const auto times = repeated(*stage, right, found, allowed))
        return "the right numbers, but " + *times + ": save them once, as " + save;
    if (const auto axis = averaged_axis(*stage, right, found, allowed))
        return "the mean of the right numbers along " + *axis + ": save all, " + save;
    if (remembers(evidence)) return std::nullopt;
    if (right.shape().size() == found.shape().size()) {
        if (const auto where = part_of(*stage, found, right, allowed))
            return "the right numbers are " + *where + ": save those, " + save;
        if (const auto where = part_of(*stage, right, found, allowed))
            return "the right numbers, but only " + *where + ": save all, " + save;
    }
    if (const auto rows = some_rows(*stage, right, found, allowed))
        return "the right numbers, but only rows " + *rows + ": save all, " + save;
    return std::nullopt;
}

/// Scores as a softmax makes them first: it takes the largest of each row off.
std::optional<std::string> less_the_largest(const Evidence& evidence, const StageVerdict& verdict) {
    if (!scope_and_stem(verdict.name).second.starts_with("scores")) return std::nullopt;
    const Tensor<double> right = widened(*evidence.reference.at(verdict.name)),
                         found = widened(*evidence.candidate.at(verdict.name));
    const double allowed = allowed_of(verdict, right);
    if (right.shape() != found.shape() || right.rank() < 1 || !says_something(found, allowed)) return std::nullopt;
    const Index keys = right.shape().back();
    for (Index row = 0; row < right.size() / keys; ++row) {
        const double* own = right.data() + row * keys;
        const double largest = *std::max_element(own, own + keys);
        for (Index j = 0; j < keys; ++j)
            if (!(std::abs(found[row * keys + j] - (own[j] - largest)) <= 2 * allowed)) return std::nullopt;
    }
    return "the right numbers less the largest of each row, as a softmax takes it off: save the scores before that";
}

/// Whole numbers that were saved as others, or the other way round.
std::optional<std::string> other_dtype(const Evidence& evidence, const StageVerdict& verdict) {
    const auto right = evidence.reference.at(verdict.name), found = evidence.candidate.at(verdict.name);
    if (!verdict.reason.starts_with("dtype") || right->shape() != found->shape()) return std::nullopt;
    if (largest_difference(widened(*right), widened(*found)) > 0) return std::nullopt;
    return "the right numbers, but as " + std::string(found->dtype()) + ": save them as " + right->dtype();
}

}  // namespace

std::optional<std::string> other_layout(const Evidence& evidence, const StageVerdict& verdict) {
    for (const auto look : {other_axes, other_extents, less_the_largest, other_dtype})
        if (auto found = look(evidence, verdict)) return found;
    return std::nullopt;
}

std::optional<std::string> saved_layout(const Evidence& evidence, const StageVerdict& verdict) {
    auto layout = other_layout(evidence, verdict);
    const Shape *right = evidence.reference.shape_of(verdict.name), *found = evidence.candidate.shape_of(verdict.name);
    const bool same_shape = right && found && *right == *found;
    if (layout && same_shape && layout->find(kTranspose) != std::string::npos)
        *layout +=
            "; or, where your array has these axes already, copy it before it is saved (np.ascontiguousarray), because "
            "its memory is still in the other order";
    return layout;
}

}  // namespace locus::conformance
