#include "core/compare.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/stages.h"

namespace locus {

namespace {

constexpr double kStagesPerLayer = 16;

/// "segment.1.layer.0.q" -> "layer.0.q": a memory is made by the layers before, as any input is.
std::string without_segment(const std::string& name) {
    return name.starts_with("segment.") ? name.substr(name.find('.', 8) + 1) : name;
}

/// l + 1 of "layer.l.q" or "emd.l.q", where the number begins.
double number_after(const std::string& name, std::size_t at) { return 1 + std::strtod(name.c_str() + at, nullptr); }

bool is_index(const Stage& stage) { return std::holds_alternative<IndexTensor>(stage.values); }

std::vector<Index> unravel(Index flat, const Shape& shape) {
    std::vector<Index> index(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return index;
}

double largest_magnitude(const Stage& stage) {
    double largest = 0;
    std::visit(
        [&](const auto& tensor) {
            for (const auto stored : tensor.values()) {
                const double size = std::abs(static_cast<double>(stored));
                if (size <= std::numeric_limits<double>::max()) largest = std::max(largest, size);
            }
        },
        stage.values);
    return largest;
}

/// The value loop: a value passes only by being inside; NaN and infinity are outside, also where both sides have them.
template <class Expected, class Found>
void compare_values(const Tensor<Expected>& expected, const Tensor<Found>& found, StageVerdict& verdict) {
    double worst = -1;
    for (Index n = 0; n < expected.size(); ++n) {
        const double difference = std::abs(static_cast<double>(found[n]) - static_cast<double>(expected[n]));
        const bool inside = difference <= verdict.allowed;
        if (!inside) ++verdict.wrong;
        const double badness = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
        if (badness > worst) {
            worst = badness;
            verdict.worst = n;
            verdict.max_difference = difference;
        }
    }
    if (verdict.worst >= 0) {
        verdict.worst_index = unravel(verdict.worst, expected.shape());
        verdict.expected = static_cast<double>(expected[verdict.worst]);
        verdict.found = static_cast<double>(found[verdict.worst]);
    }
    verdict.pass = verdict.wrong == 0;
    if (!verdict.pass)
        verdict.reason = std::to_string(verdict.wrong) + " of " + std::to_string(verdict.size) + " values outside";
}

/// As what a file held the values of a stage; its own dtype where `stored` does not say.
std::string stored_dtype(const Stage& stage, const std::map<std::string, std::string>& stored) {
    const auto held = stored.find(stage.name);
    return held == stored.end() ? stage.dtype() : held->second;
}

/// `stored`: as what a file held the values of `found`.
StageVerdict judge(const Stage& expected, const Stage& found, const std::string& stored, const Tolerance& tolerance) {
    StageVerdict verdict;
    verdict.name = expected.name;
    verdict.size = expected.size();
    verdict.tolerance = is_index(expected) ? Tolerance{} : tolerance;
    verdict.largest = largest_magnitude(expected);
    verdict.allowed = verdict.tolerance.absolute + verdict.tolerance.relative * verdict.largest;
    if (is_index(expected) != is_index(found))
        verdict.reason = "dtype " + stored + " instead of " + expected.dtype();
    else if (expected.shape() != found.shape())
        verdict.reason = "shape " + to_string(found.shape()) + " instead of " + to_string(expected.shape());
    else if (expected.size() != found.size())  // a tensor without axes holds one number, one that was never filled none
        verdict.reason = std::to_string(found.size()) + " numbers instead of " + std::to_string(expected.size());
    else
        std::visit([&](const auto& right, const auto& other) { compare_values(right, other, verdict); },
                   expected.values, found.values);
    return verdict;
}

}  // namespace

double dtype_epsilon(const std::string& dtype) {
    if (dtype == "F64") return std::numeric_limits<double>::epsilon();
    if (dtype == "F16") return std::ldexp(1.0, -10);
    if (dtype == "BF16") return std::ldexp(1.0, -7);
    return std::numeric_limits<float>::epsilon();
}

double StageVerdict::share() const {
    if (max_difference == 0) return 0;
    const double share = max_difference / allowed;
    return std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
}

bool Comparison::pass() const { return !stages.empty() && first() == nullptr; }

std::vector<std::string> Comparison::loose() const {
    std::vector<std::string> names;
    for (const StageVerdict& verdict : stages)
        if (verdict.is_loose()) names.push_back(verdict.name);
    return names;
}

const StageVerdict* Comparison::first() const {
    const auto wrong =
        std::find_if(stages.begin(), stages.end(), [](const StageVerdict& verdict) { return !verdict.pass; });
    return wrong == stages.end() ? nullptr : &*wrong;
}

DerivedTolerances::DerivedTolerances(const TraceView& reference) {
    for (const std::string& full_name : reference.names()) {
        const std::string name = without_segment(full_name);
        if (name.starts_with("layer.")) layers_ = std::max(layers_, number_after(name, 6));
        const auto longest = [&](double& known) {
            const Shape* shape = reference.shape_of(full_name);
            if (shape && !shape->empty()) known = std::max(known, static_cast<double>(shape->back()));
        };
        if (name.ends_with(".output") || name.ends_with(".attention")) longest(width_);
        if (name.ends_with(".q")) longest(heads_);
        if (name.ends_with(".probs") || name.ends_with(".scores")) longest(tokens_);
        if (name.ends_with(".ffn_act")) longest(feed_forward_);
    }
}

double DerivedTolerances::depth(const std::string& full_name) const {
    const std::string name = without_segment(full_name);
    if (name.starts_with("embeddings.") || name.starts_with("relative.")) return 0;
    if (name.starts_with("layer.")) return number_after(name, 6);
    if (name.starts_with("emd.query")) return layers_;
    if (name.starts_with("emd.")) return layers_ + number_after(name, 4);
    if (name.starts_with("classifier.")) return layers_ + 1;  // of the last layer's output, whatever stands beside it
    return layers_ + 3;
}

double DerivedTolerances::sums_per_layer(const Stage& stage) const {
    const double own = stage.shape().empty() ? 1 : static_cast<double>(stage.shape().back());
    const double width = width_ == 0 ? own : width_;  // what no stage shows counts as the model width
    const double heads = heads_ == 0 ? width : heads_, tokens = tokens_ == 0 ? width : tokens_;
    const double feed_forward = feed_forward_ == 0 ? 4 * width : feed_forward_;
    // q, k, v; three terms; softmax and context; dense; two feed-forward products; two norms
    return width + 3 * heads + 2 * tokens + width + width + feed_forward + 2 * width;
}

Tolerance DerivedTolerances::of(const Stage& expected, const Stage& found,
                                const std::map<std::string, std::string>& stored) const {
    if (is_index(expected)) return {};
    const double eps = std::max(dtype_epsilon(expected.dtype()), dtype_epsilon(stored_dtype(found, stored)));
    const double layers = std::max(1.0, depth(expected.name));
    const auto rounding = [](double unit, double times) { return 2 * unit * (4 + std::sqrt(times)); };
    const double single = std::numeric_limits<float>::epsilon(), sums = sums_per_layer(expected) * layers;
    // Half precision is what values are stored in, once per stage; sums are added up in single precision.
    const double bound =
        eps > single ? rounding(eps, kStagesPerLayer * layers) + rounding(single, sums) : rounding(eps, sums);
    return {bound, bound};
}

Tolerance derived_tolerance(const TraceView& reference, const Stage& expected, const Stage& found,
                            const std::map<std::string, std::string>& stored) {
    return DerivedTolerances(reference).of(expected, found, stored);
}

Comparison compare(const TraceView& reference, const TraceView& candidate, const std::optional<Tolerance>& fixed,
                   const std::map<std::string, std::string>& stored,
                   const std::function<void(const StageVerdict&)>& tell, double accuracy) {
    const DerivedTolerances derived(reference);
    const auto tolerance_of = [&](const Stage& expected, const Stage& found) {
        if (fixed) return *fixed;
        const Tolerance rounding = derived.of(expected, found, stored);
        return Tolerance{std::max(rounding.relative, accuracy), std::max(rounding.absolute, accuracy)};
    };
    Comparison comparison;
    std::vector<std::string> names = reference.names();
    std::stable_sort(names.begin(), names.end(), stage_comes_before);
    for (const std::string& name : names) {
        if (!candidate.has(name)) {
            comparison.missing.push_back(name);
            continue;
        }
        const auto expected = reference.at(name), found = candidate.at(name);
        comparison.stages.push_back(
            judge(*expected, *found, stored_dtype(*found, stored), tolerance_of(*expected, *found)));
        if (tell) tell(comparison.stages.back());
    }
    for (const std::string& name : candidate.names())
        if (!reference.has(name)) comparison.unexpected.push_back(name);
    LOCUS_CHECK(!comparison.stages.empty(), "compare: the two traces have no stage in common");
    return comparison;
}

namespace {

/// Whole numbers in the order of the floats.
std::int64_t rank_of(float value) {
    const auto bits = std::bit_cast<std::int32_t>(value);
    return bits >= 0 ? bits : std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits;
}

}  // namespace

double ulp_distance(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(std::abs(rank_of(a) - rank_of(b)));
}

// Numbers that are less exact than the file they lie in.

namespace {

/// Ten bits after the leading one, multiples of 2^-24 below 2^-14, at most 65504.
bool is_half(double value) {
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);  // in [0.5, 1)
    const double grid = exponent > -14 ? std::ldexp(mantissa, 11) : std::ldexp(value, 24);
    return std::abs(value) <= 65504 && grid == std::floor(grid);
}

bool is_float(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

bool is_bfloat(double value) {
    return is_float(value) && (std::bit_cast<std::uint32_t>(static_cast<float>(value)) & 0xffff) == 0;
}

/// Which formats hold every number that was looked at.
class Narrowest {
public:
    /// False once none of them does.
    bool look(double value) {
        if (!std::isfinite(value)) return true;  // every format has infinity and NaN
        bool any = false;
        for (Format& one : formats_) {
            one.possible = one.possible && one.holds(value);
            any = any || one.possible;
        }
        telling_ += 64 * value != std::floor(64 * value);
        return any;
    }
    /// Some format that still may hold every number is less exact than this.
    bool may_be_coarser_than(double epsilon) const {
        return std::any_of(formats_.begin(), formats_.end(),
                           [&](const Format& one) { return one.possible && dtype_epsilon(one.dtype) > epsilon; });
    }
    std::string dtype() const {
        constexpr Index kEnough = 16;
        if (telling_ < kEnough) return "";
        for (const Format& one : formats_)
            if (one.possible) return one.dtype;
        return "";
    }

private:
    struct Format {
        const char* dtype;
        bool (*holds)(double);
        bool possible = true;
    };
    // Of ordinary size, a number of BF16 is one of F16 too; but halves do not all end with three zeros.
    std::array<Format, 3> formats_ = {{{"BF16", is_bfloat}, {"F16", is_half}, {"F32", is_float}}};
    Index telling_ = 0;  // numbers that no short fraction explains
};

}  // namespace

std::string narrowest_dtype(const Tensor<double>& values) {
    Narrowest narrowest;
    for (const double value : values.values())
        if (!narrowest.look(value)) return "";
    return narrowest.dtype();
}

std::string narrower_dtype(const TraceView& trace, const std::map<std::string, std::string>& stored) {
    Narrowest narrowest;
    double widest = 1;
    for (const std::string& name : trace.names()) {
        const auto stage = trace.at(name);
        if (is_index(*stage)) continue;
        widest = std::min(widest, dtype_epsilon(stored_dtype(*stage, stored)));
        for (Index n = 0; n < stage->size(); ++n)
            if (!narrowest.look(stage->at(n))) return "";
        // Most files end here: float32 that is no half.  The stages left need not be read.
        if (!narrowest.may_be_coarser_than(widest)) return "";
    }
    const std::string dtype = narrowest.dtype();
    return !dtype.empty() && dtype_epsilon(dtype) > widest ? dtype : "";
}

std::map<std::string, std::string> stored_as(const TraceView& trace, const std::string& dtype,
                                             std::map<std::string, std::string> stored) {
    if (dtype.empty()) return stored;
    for (const std::string& name : trace.names())
        if (!is_index(*trace.at(name))) stored[name] = dtype;
    return stored;
}

}  // namespace locus
