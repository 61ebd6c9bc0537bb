// What a difference looks like when no mistake is known by name.
#include "core/conformance/diagnosis/patterns.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/layout.h"
#include "core/conformance/diagnosis/saved.h"
#include "core/conformance/formulas/arithmetic.h"
#include "core/models/transformer_xl.h"
#include "core/stages.h"
#include "core/text/text_table.h"

namespace locus::conformance {

std::string listed(const std::vector<Index>& numbers) {
    constexpr std::size_t kMost = 12;
    std::string text;
    for (std::size_t n = 0; n < numbers.size() && n < kMost; ++n) text += (n ? ", " : "") + std::to_string(numbers[n]);
    return numbers.size() > kMost ? text + ", ..." : text;
}

bool Compared::wrong(Index flat) const { return !(std::abs(found[flat] - right[flat]) <= allowed); }

bool Compared::has_pairs() const {
    return rank() >= 2 && axes.size() == static_cast<std::size_t>(rank()) && axes[axes.size() - 2] == "Tq" &&
           axes.back() == "Tk";
}

bool Compared::has_heads() const {
    for (std::size_t axis = 0; axis + 2 < axes.size(); ++axis)
        if (axes[axis] == "H") return true;
    return false;
}

namespace {

/// The candidate's scores follow from what it reports before them, so they are divided there.
bool are_scores_divided(const Evidence& evidence, const Replay& here) {
    const std::string name = here.full_name("scores");
    if (!evidence.candidate.has(name)) return false;
    const Tensor<double> own = here.computed("scores"), found = widened(*evidence.candidate.at(name));
    return own.shape() == found.shape() && largest_difference(own, found) <= 1e-4 * largest_size(own);
}

/// Scores: ": divided by 4 instead of sqrt(n d) = 3.4641"; of what scores are made of: " = 1/sqrt(n d): scaled already,
/// ..."; empty for every other stage and difference.
std::string scale_taken(const Evidence& evidence, const std::string& stage, const Compared& compared) try {
    static const std::set<std::string> made_of = {"q", "c2c", "c2p", "p2c", "ac", "bd", "ef", "q_rot"};
    const auto [scope, stem] = scope_and_stem(stage);
    const bool scores = stem == "scores", probs = stem == "probs";
    const std::optional<double> factor = probs                              ? power_of_rows(compared)
                                         : scores || made_of.contains(stem) ? common_factor(compared)
                                                                            : std::nullopt;
    if (!factor || !(*factor > 0)) return "";
    const Replay here(evidence, scope);
    const bool several = here.family() == Family::deberta;
    const double terms = several ? here.deberta().config().terms.count() : 1;
    const double right = std::sqrt(terms * static_cast<double>(here("q").extent(3)));
    const std::string root = several ? "sqrt(n d)" : "sqrt(d)";
    if (probs)
        return std::abs(*factor * right - 1) <= 1e-4   ? " = 1/" + root + ": they are scaled once more"
               : std::abs(*factor / right - 1) <= 1e-4 ? " = " + root + ": their scale is undone"
                                                       : "";
    if (!scores && std::abs(*factor * right - 1) > 1e-4) return "";
    if (!scores)
        return " = 1/" + root + ": scaled already; " +
               (are_scores_divided(evidence, here) ? "the scores are divided by " + root + " once more"
                                                   : "a trace holds it before the scores are divided by " + root);
    if (std::abs(*factor - 1) <= 1e-4) return "";
    return ": divided by " + format_number(right / *factor) + " instead of " + root + " = " + format_number(right);
} catch (const NotEnough&) {  // nobody says how wide a head is, or how many terms there are
    return "";
}

/// Names of its axes; none for a tensor of another rank than the stage has, on which two programs may agree.
std::vector<std::string> axes_of(const Stage& stage, const Tensor<double>& values) {
    return stage.axes.size() == values.shape().size() ? stage.axes : std::vector<std::string>{};
}

/// A loss: ": in bits instead of nats"; empty for every other stage and difference.
std::string in_bits(const std::string& stage, const Compared& compared) {
    const std::optional<double> factor = stage.ends_with("loss") ? common_factor(compared) : std::nullopt;
    return factor && std::abs(*factor * std::log(2.0) - 1) <= 1e-4 ? ": in bits instead of nats" : "";
}

/// A factor in the way in which a program has it: " = 1/sqrt(6), and D = 6", " = 1/8"; empty where it is neither.
std::string as_a_root(const Compared& compared) {
    const std::optional<double> factor = common_factor(compared);
    if (!factor || !(*factor > 0)) return "";
    constexpr Index kMost = 1 << 16;  // no axis of a model is longer, but that of words
    const auto is = [&](double exact) {
        return std::abs(*factor / exact - 1) <= 1e-5 &&
               compared.explained_by([&](Index n) { return exact * compared.right[n]; }, exact);
    };
    const bool more = *factor > 1;
    const double above = more ? *factor : 1 / *factor;
    if (!(above * above < kMost)) return "";
    if (std::abs(above - std::round(above)) <= 1e-5 * above)  // 4 says all that is to be said
        return more || above < 2.5 || !is(1 / std::round(above)) ? "" : " = 1/" + format_number(std::round(above));
    const double square = std::round(above * above), root = std::sqrt(square);
    if (square < 2 || !is(more ? root : 1 / root)) return "";
    std::string text = (more ? " = sqrt(" : " = 1/sqrt(") + format_number(square) + ")";
    for (std::size_t axis = 0; axis < compared.axes.size(); ++axis)
        if (compared.axes[axis] != "B" && static_cast<double>(compared.right.shape()[axis]) == square)
            return text + ", and " + compared.axes[axis] + " = " + format_number(square);
    return text;
}

/// The index of pairs: ": the bucket, to which the span of 8 is not yet added"; empty for every other stage.
std::string span_left_out(const Evidence& evidence, const std::string& stage, const Compared& compared) {
    if (!stage.ends_with("relative.index") || !evidence.model || !evidence.model->deberta) return "";
    const Index span = evidence.model->deberta->config().span();
    if (!compared.explained_by([&](Index n) { return compared.right[n] - static_cast<double>(span); })) return "";
    return ": the bucket, to which the span of " + std::to_string(span) + " is not yet added";
}

/// One stage in half precision among others that are not, as where a fused kernel computes in it.
std::optional<std::string> in_half_precision(const Evidence& evidence, const Compared& compared,
                                             const std::string& stage) {
    const std::string dtype = narrowest_dtype(compared.found);
    if ((dtype != "F16" && dtype != "BF16") || narrowest_dtype(compared.right) == dtype) return std::nullopt;
    const Tolerance rounding = derived_tolerance(evidence.reference, *evidence.reference.at(stage),
                                                 *evidence.candidate.at(stage), {{stage, dtype}});
    const double explained = rounding.absolute + rounding.relative * largest_size(compared.right);
    if (!(largest_difference(compared.right, compared.found) <= explained)) return std::nullopt;
    return "every value is one that " + dtype + " holds, and off by no more than rounding to " + dtype +
           " explains: computed or saved in " + dtype;
}

/// A stage in double that single precision explains: of a scale, a table or a sum that is no double.
bool in_single_precision(const Evidence& evidence, const Compared& compared, const StageVerdict& verdict) {
    const auto stage = evidence.reference.at(verdict.name);
    const Tolerance rounding = derived_tolerance(evidence.reference, *stage, *stage, {{verdict.name, "F32"}});
    const double explained = rounding.absolute + rounding.relative * largest_size(compared.right);
    return verdict.allowed < explained / 100 && largest_difference(compared.right, compared.found) <= explained;
}

/// Keys that stand before the first query: what a Transformer-XL or an XLNet remembers.
Index memory_of(const Evidence& evidence, const std::string& stage, const Tensor<double>& values) {
    const std::optional<Family> family = known_family(evidence);
    const bool remembers =
        family ? *family == Family::transformer_xl || *family == Family::xlnet : stage.starts_with("segment.");
    if (!remembers || values.rank() < 2) return 0;
    return std::max<Index>(0, values.extent(values.rank() - 1) - values.extent(values.rank() - 2));
}

/// Transformer-XL: one of the two begins its text with a memory of mem_len zeros, which shows as so many keys more;
/// empty where the shapes differ by anything else.
std::string memory_of_zeros(const Evidence& evidence, const std::string& stage) {
    if (!evidence.model || !evidence.model->transformer_xl || segment_of(stage) > 0) return "";
    const Shape *right = evidence.reference.shape_of(stage), *found = evidence.candidate.shape_of(stage);
    if (!right || !found || right->size() != found->size()) return "";
    std::vector<Index> more;
    for (std::size_t axis = 0; axis < right->size(); ++axis)
        if ((*found)[axis] != (*right)[axis]) more.push_back((*found)[axis] - (*right)[axis]);
    const Index zeros = rows_before_first(*evidence.model->transformer_xl, Dialect::hf);
    if (zeros == 0 || more.size() != 1 || std::abs(more.front()) != zeros) return "";
    const std::string rows = std::to_string(zeros) + (zeros == 1 ? " row" : " rows") + " of 0";
    return more.front() > 0 ? ": its text begins with a memory of " + rows + ", as in transformers (--dialect hf)"
                            : ": its text begins without a memory, that of the reference with " + rows +
                                  ", as in transformers (--dialect hf)";
}

}  // namespace

std::optional<std::string> scaled_already(const Evidence& evidence, const StageVerdict& verdict) {
    if (verdict.worst < 0 || scope_and_stem(verdict.name).second.starts_with("scores")) return std::nullopt;
    const auto stage = evidence.reference.at(verdict.name);
    const Tensor<double> right = widened(*stage), found = widened(*evidence.candidate.at(verdict.name));
    const Compared compared{right, found, verdict.allowed, axes_of(*stage, right)};
    const std::string scale = scale_taken(evidence, verdict.name, compared);
    const auto values = scale.empty() ? std::nullopt : pattern_of_values(compared);
    return values ? std::optional(*values + scale) : std::nullopt;
}

namespace {

/// One of the stages that this one is made of was computed in double: its last digits differ, and no more.
bool is_made_in_double(const Evidence& evidence, const std::string& name) try {
    constexpr double kDouble = 1e-11;  // of the largest value
    const auto [scope, stem] = scope_and_stem(name);
    const Replay here(evidence, scope);
    for (const std::string& input : here.inputs_of(stem)) {
        const std::string full = here.full_name(input);
        if (!evidence.reference.has(full) || !evidence.candidate.has(full)) continue;
        const auto right = evidence.reference.at(full), found = evidence.candidate.at(full);
        if (right->shape() != found->shape()) continue;
        const double size = largest_size(widened(*right)), off = largest_difference(widened(*right), widened(*found));
        if (off > 0 && off <= kDouble * size) return true;
    }
    return false;
} catch (const NotEnough&) {
    return false;
}

/// What a port that computes in float32 is told of a stage that it saves in double.
std::string held_to_double(const Evidence& evidence, const std::string& name) {
    if (is_made_in_double(evidence, name))
        return ", while what it is made of is right to double: a step in float32, or a small number that is another "
               "one, such as an eps";
    const auto stored = evidence.stored.find(name);
    const std::string dtype = stored != evidence.stored.end() ? stored->second : evidence.candidate.at(name)->dtype();
    return dtype == "F64" ? "; it is saved as F64, so it is held to double: if you compute in float32, save it as F32"
                          : "";
}

}  // namespace

std::string describe_difference(const Evidence& evidence, const StageVerdict& verdict) {
    if (verdict.worst < 0) {
        const auto layout = other_layout(evidence, verdict);
        return layout ? *layout : verdict.reason + memory_of_zeros(evidence, verdict.name);
    }
    const auto stage = evidence.reference.at(verdict.name);
    const Tensor<double> right = widened(*stage), found = widened(*evidence.candidate.at(verdict.name));
    if (right.shape() != found.shape()) return verdict.reason;
    if (const auto other = another_stage(evidence, verdict)) return *other;
    const Compared compared{right, found, verdict.allowed, axes_of(*stage, right),
                            memory_of(evidence, verdict.name, right)};
    const auto segment = static_cast<std::size_t>(segment_of(verdict.name));
    const ModelInput* input = segment < evidence.segments.size() ? &evidence.segments[segment] : nullptr;
    if (!common_factor(compared) && in_single_precision(evidence, compared, verdict))
        return "off by no more than rounding to float32 explains" + held_to_double(evidence, verdict.name);
    if (const auto values = pattern_of_values(compared)) {
        const std::string more = scale_taken(evidence, verdict.name, compared) + in_bits(verdict.name, compared) +
                                 span_left_out(evidence, verdict.name, compared);
        return *values + (more.empty() ? as_a_root(compared) : more);
    }
    if (const auto layout = other_layout(evidence, verdict)) return *layout;
    if (const auto half = in_half_precision(evidence, compared, verdict.name)) return *half;
    if (const auto mask = pattern_of_mask(compared, scope_and_stem(verdict.name).second, input)) return *mask;
    if (const auto places = pattern_of_places(compared, input)) return *places;
    return kNoPattern;
}

// Rules that explain every value of a wrong stage: factors, offsets, axes exchanged, heads and channels reordered.

namespace {

using Sentence = std::optional<std::string>;

constexpr Index kFewestValues = 4;     // fewer values agree with any rule
constexpr double kBeyondNoise = 10;    // an offset of so many times what is allowed is no average of small differences
constexpr Index kMostChannels = 4096;  // wider axes are words, whose order is never permuted

/// <found, right> / <right, right> of some cells.
class Ratio {
public:
    void add(double right, double found) {
        dot_ += right * found;
        square_ += right * right;
        ++cells_;
    }
    double value() const { return square_ > 0 ? dot_ / square_ : 0; }
    bool is_known() const { return square_ > 0; }
    Index cells() const { return cells_; }

private:
    double dot_ = 0, square_ = 0;
    Index cells_ = 0;
};

/// Nothing of the right values is beyond rounding.
bool is_noise(const Compared& at) {
    return std::all_of(at.right.values().begin(), at.right.values().end(),
                       [&](double value) { return std::abs(value) <= at.allowed; });
}

Sentence one_factor(const Compared& at) {
    const std::optional<double> factor = common_factor(at);
    if (!factor) return std::nullopt;
    if (std::all_of(at.found.values().begin(), at.found.values().end(), [](double value) { return value == 0; }))
        return "every value is 0";
    if (*factor == 0) return "no value is larger than what rounding allows: all may be 0";
    if (at.explained_by([&](Index n) { return -at.right[n]; })) return "the sign of every value is flipped";
    // Six digits do not tell a factor of rounding from 1.
    const double more = *factor - 1;
    const std::string number = std::abs(more) > 1e-4
                                   ? format_number(*factor)
                                   : std::string(more < 0 ? "1 - " : "1 + ") + format_number(std::abs(more));
    return "every value is " + number + " times what it should be";
}

Sentence one_offset(const Compared& at) {
    if (at.right.size() < kFewestValues) return std::nullopt;
    double sum = 0;
    for (Index n = 0; n < at.right.size(); ++n) sum += at.found[n] - at.right[n];
    const double offset = sum / static_cast<double>(at.right.size());
    if (!(std::abs(offset) >= kBeyondNoise * at.allowed) ||
        !at.explained_by([&](Index n) { return at.right[n] + offset; }))
        return std::nullopt;
    return "every value is off by " + format_number(offset);
}

Sentence transposed_or_exchanged(const Compared& at) {
    if (at.rank() < 2 || at.last() < 2 || at.before_last() < 2 ||
        at.matrices() * at.last() * at.before_last() < kFewestValues)
        return std::nullopt;
    const Index rows = at.before_last(), columns = at.last(), matrix = rows * columns;
    const auto exchanged = [&](Index n) {  // the values of the transposed matrix, one after the other
        const Index place = n % matrix;
        return at.right[n - place + place % rows * columns + place / rows];
    };
    if (!at.explained_by(exchanged)) return std::nullopt;
    if (at.last() == at.before_last()) return "transposed: the last two axes are exchanged";
    return "the values lie in memory column by column: the last two axes are exchanged, the shape is not";
}

/// True if found is right with one axis read backwards.
bool is_backwards(const Compared& at, std::size_t axis) {
    Index step = 1;
    for (std::size_t a = axis + 1; a < at.right.shape().size(); ++a) step *= at.right.shape()[a];
    const Index count = at.right.shape()[axis];
    return at.explained_by([&](Index n) { return at.right[n + (count - 1 - 2 * (n / step % count)) * step]; });
}

Sentence reversed(const Compared& at) {
    for (std::size_t back = 1; back <= 2 && back <= at.right.shape().size(); ++back) {
        const std::size_t axis = at.right.shape().size() - back;
        if (at.right.shape()[axis] < 3 || !is_backwards(at, axis)) continue;
        const std::string name = axis < at.axes.size() ? at.axes[axis] : "";
        if (name == "2k" || name == "R") return "the rows of the table are reversed";
        if (name == "Tk") return "the key axis is reversed";
        if (name == "Tq") return "the query axis is reversed";
        return "axis " + std::to_string(axis) + (name.empty() ? "" : " (" + name + ")") + " is reversed";
    }
    return std::nullopt;
}

/// The rows of a table of positions, moved on as a whole.
Sentence moved_rows(const Compared& at) {
    if (at.rank() < 2 || at.axes.size() != at.right.shape().size()) return std::nullopt;
    const std::string& name = at.axes[at.axes.size() - 2];
    if (name != "2k" && name != "R") return std::nullopt;
    const Index rows = at.before_last(), width = at.last();
    for (Index by = 1; by < rows; ++by) {
        const auto from = [&](Index n) {
            const Index row = n / width % rows;
            return at.right[n + ((row - by + rows) % rows - row) * width];
        };
        if (!at.explained_by(from)) continue;
        if (2 * by == rows) return "the two halves of the table are exchanged";
        return 2 * by < rows ? "the rows of the table stand " + std::to_string(by) + " further on, the last in front"
                             : "the rows of the table stand " + std::to_string(rows - by) +
                                   " further to the front, the first at the end";
    }
    return std::nullopt;
}

/// Some rows are 0, all others right.
Sentence zero_rows(const Compared& at) {
    const Index width = at.last(), rows = at.right.size() / std::max<Index>(width, 1);
    if (at.rank() < 2 || width < 2) return std::nullopt;
    Index zeros = 0, first = -1;
    for (Index row = 0; row < rows; ++row) {
        bool is_zero = true, is_right = true;
        for (Index n = row * width; n < (row + 1) * width; ++n) {
            is_zero = is_zero && at.found[n] == 0;
            is_right = is_right && !at.wrong(n);
        }
        if (is_right) continue;
        if (!is_zero) return std::nullopt;
        if (first < 0) first = row;
        ++zeros;
    }
    if (zeros == 0 || zeros == rows) return std::nullopt;
    const Shape& shape = at.right.shape();
    return std::to_string(zeros) + " of " + std::to_string(rows) + (zeros == 1 ? " rows is" : " rows are") +
           " 0, the others are right; the first of them: " + place(first, Shape(shape.begin(), shape.end() - 1));
}

/// For each place of an axis of `found` the one place of `right` that holds the same values; empty if there is none.
std::vector<Index> order_of(const Compared& at, Index count, Index step) {
    const Index outer = at.right.size() / (count * step);
    std::vector<Index> order;
    std::vector<bool> taken(static_cast<std::size_t>(count));
    const auto same = [&](Index to, Index from) {
        for (Index o = 0; o < outer; ++o)
            for (Index s = 0; s < step; ++s)
                if (!(std::abs(at.found[(o * count + to) * step + s] - at.right[(o * count + from) * step + s]) <=
                      at.allowed))
                    return false;
        return true;
    };
    for (Index to = 0; to < count; ++to) {
        Index from = 0;
        while (from < count && (taken[static_cast<std::size_t>(from)] || !same(to, from))) ++from;
        if (from == count) return {};
        taken[static_cast<std::size_t>(from)] = true;
        order.push_back(from);
    }
    return order;
}

Sentence reordered(const Compared& at) {
    Index step = 1;
    for (std::size_t axis = at.axes.size(); axis-- > 0;) {
        const std::string& name = at.axes[axis];
        const Index count = at.right.shape()[axis];
        const bool channels =
            axis + 1 == at.axes.size() && (name == "d" || name == "D" || name == "H*d" || name == "E" || name == "F");
        // A place that holds few values is found again by chance.
        if (count >= 2 && count <= kMostChannels && at.right.size() / count >= kFewestValues &&
            (channels || name == "H" || name == "B")) {
            const std::vector<Index> order = order_of(at, count, step);
            const char* what = name == "H" ? "heads" : name == "B" ? "samples" : "channels";
            if (!order.empty()) return std::string("the ") + what + " stand in the order " + listed(order);
        }
        step *= count;
    }
    return std::nullopt;
}

/// Rows of H*d channels that were cut into heads as [d,H]: every H-th channel belongs to one head.
Sentence heads_cut_otherwise(const Compared& at) {
    if (at.axes.size() != at.right.shape().size() || at.rank() < 3 || at.axes[at.axes.size() - 3] != "H" ||
        at.axes.back() != "d")
        return std::nullopt;
    const Index width = at.last(), rows = at.before_last(), heads = at.right.extent(at.rank() - 3);
    if (width < 2 || heads < 2) return std::nullopt;
    const auto cut = [&](Index n) {  // where the channel that was taken stands in the right cut
        const Index c = n % width, row = n / width % rows, head = n / (width * rows) % heads;
        const Index channel = c * heads + head;
        return at.right[n - (head * rows + row) * width - c + (channel / width * rows + row) * width + channel % width];
    };
    if (!at.explained_by(cut)) return std::nullopt;
    return "the channels are cut into heads as [d,H] instead of [H,d]: channel c of head h is number c H + h of its "
           "row, not h d + c";
}

/// Which group of cells shares a constant: its number for a flat index.
template <class GroupOf>
Sentence constant_offsets(const Compared& at, Index groups, GroupOf group_of, const std::string& words) {
    if (at.right.size() / groups < kFewestValues || groups < 2) return std::nullopt;
    std::vector<double> sum(static_cast<std::size_t>(groups)), count(static_cast<std::size_t>(groups));
    for (Index n = 0; n < at.right.size(); ++n) {
        sum[static_cast<std::size_t>(group_of(n))] += at.found[n] - at.right[n];
        count[static_cast<std::size_t>(group_of(n))] += 1;
    }
    for (std::size_t g = 0; g < sum.size(); ++g) sum[g] /= count[g];
    if (!at.explained_by([&](Index n) { return at.right[n] + sum[static_cast<std::size_t>(group_of(n))]; }))
        return std::nullopt;
    const auto [least, most] = std::minmax_element(sum.begin(), sum.end());
    if (!(std::max(std::abs(*least), std::abs(*most)) >= kBeyondNoise * at.allowed)) return std::nullopt;
    return words + ", from " + format_number(*least) + " to " + format_number(*most);
}

/// A factor per group of neighbouring cells; `repeat` groups follow each other and begin anew.
Sentence constant_factors(const Compared& at, Index length, Index repeat, const std::string& words, bool list) {
    const Index groups = std::min(at.right.size() / length, repeat);
    if (length < kFewestValues || groups < 2 || is_noise(at)) return std::nullopt;
    std::vector<Ratio> ratios(static_cast<std::size_t>(groups));
    for (Index n = 0; n < at.right.size(); ++n)
        ratios[static_cast<std::size_t>(n / length % groups)].add(at.right[n], at.found[n]);
    for (Index n = 0; n < at.right.size(); ++n) {
        const double factor = ratios[static_cast<std::size_t>(n / length % groups)].value();
        if (!(std::abs(at.found[n] - factor * at.right[n]) <= at.allowed * std::max(1.0, std::abs(factor))))
            return std::nullopt;
    }
    std::string numbers;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Ratio& ratio : ratios) {
        if (!list && !ratio.is_known()) continue;  // 0, as it should be
        numbers += (numbers.empty() ? "" : ", ") + format_number(ratio.value());
        least = std::min(least, ratio.value());
        most = std::max(most, ratio.value());
    }
    if (list && groups <= 16) return words + ": " + numbers;
    return words + ", from " + format_number(least) + " to " + format_number(most);
}

/// Logits that went through a softmax, or its logarithm, along the last axis.
Sentence through_a_softmax(const Compared& at) {
    const Index columns = at.last();
    if (at.rank() < 2 || columns < kFewestValues) return std::nullopt;
    std::vector<double> normalizer;  // log sum exp of every row
    for (Index first = 0; first < at.right.size(); first += columns) {
        double most = at.right[first], sum = 0;
        for (Index n = first; n < first + columns; ++n) most = std::max(most, at.right[n]);
        for (Index n = first; n < first + columns; ++n) sum += std::exp(at.right[n] - most);
        normalizer.push_back(most + std::log(sum));
    }
    const auto logarithm = [&](Index n) { return at.right[n] - normalizer[static_cast<std::size_t>(n / columns)]; };
    if (at.explained_by(logarithm)) return "each row is the log-softmax of what it should be";
    if (at.explained_by([&](Index n) { return std::exp(logarithm(n)); }))
        return "each row is the softmax of what it should be";
    return std::nullopt;
}

/// Probabilities of scores that were multiplied by one number more: every row is p^c, divided by its sum.
Sentence softmax_of_scaled(const Compared& at) {
    const std::optional<double> power = power_of_rows(at);
    if (!power || !at.has_pairs()) return std::nullopt;
    return "each row is the softmax of " + format_number(*power) + " times the scores";
}

Sentence by_group(const Compared& at) {
    const Index everything = at.right.size();
    if (at.rank() < 2) return std::nullopt;
    const Index columns = at.last(), matrix = columns * at.before_last();
    Index heads = 1;
    for (std::size_t axis = 0; axis < at.axes.size(); ++axis)
        if (at.axes[axis] == "H") heads = at.right.shape()[axis];
    if (at.has_heads())
        if (auto factors = constant_factors(at, matrix, heads, "each head has a factor of its own", true))
            return factors;
    if (auto row = constant_offsets(
            at, everything / columns, [&](Index n) { return n / columns; }, "each row is off by a constant of its own"))
        return row;
    if (!at.has_pairs())
        if (auto vector = constant_offsets(
                at, heads * columns, [&](Index n) { return n / matrix % heads * columns + n % columns; },
                at.has_heads() ? "all rows of a head are off by the same vector"
                               : "all rows are off by the same vector"))
            return vector;
    return constant_factors(at, columns, everything, "each row has a factor of its own", false);
}

}  // namespace

std::optional<double> common_factor(const Compared& at) {
    Ratio ratio;
    for (Index n = 0; n < at.right.size(); ++n) ratio.add(at.right[n], at.found[n]);
    // What is 0 up to rounding has no factor: any number is that many times its noise.
    if (is_noise(at)) return std::nullopt;
    const double factor = ratio.value();
    if (ratio.cells() < kFewestValues || !at.explained_by([&](Index n) { return factor * at.right[n]; }, factor))
        return std::nullopt;
    return at.explained_by([](Index) { return 0.0; }) ? 0 : factor;  // small enough for any factor
}

std::optional<double> power_of_rows(const Compared& at) {
    if (at.rank() < 2 || at.right.size() == 0) return std::nullopt;
    constexpr double kLeast = 1e-6;  // smaller probabilities have no exact logarithm
    const Index columns = at.last();
    double product = 0, square = 0;
    for (Index first = 0; first < at.right.size(); first += columns)
        for (Index n = first + 1; n < first + columns; ++n) {
            const double a = at.right[n - 1], b = at.right[n], c = at.found[n - 1], d = at.found[n];
            if (!(std::min({a, b, c, d}) > kLeast) || !(std::max({a, b, c, d}) < 1 + kLeast)) continue;
            product += std::log(b / a) * std::log(d / c);
            square += std::log(b / a) * std::log(b / a);
        }
    if (!(square > 0) || !(product > 0)) return std::nullopt;
    const double power = product / square;
    std::vector<double> sums;
    for (Index first = 0; first < at.right.size(); first += columns) {
        double sum = 0;
        for (Index n = first; n < first + columns; ++n) sum += std::pow(at.right[n], power);
        sums.push_back(sum);
    }
    const auto sharpened = [&](Index n) {
        const double sum = sums[static_cast<std::size_t>(n / columns)];
        return sum > 0 ? std::pow(at.right[n], power) / sum : 0;
    };
    if (!at.explained_by(sharpened)) return std::nullopt;
    return power;
}

std::optional<std::string> pattern_of_values(const Compared& compared) {
    for (const double value : compared.found.values())
        if (!std::isfinite(value)) return std::nullopt;
    for (const auto rule : {one_factor, one_offset, transposed_or_exchanged, reversed, moved_rows, heads_cut_otherwise,
                            reordered, through_a_softmax, softmax_of_scaled, zero_rows, rows_of_other_tokens, by_group})
        if (Sentence sentence = rule(compared)) return sentence;
    return std::nullopt;
}

}  // namespace locus::conformance
