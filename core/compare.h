#pragma once
// The one comparison of two traces: tests, `locus check` and the viewer all use it.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/trace_view.h"

namespace locus {

/// |found - expected| <= absolute + relative * max |expected of the stage|, for every value; NaN never passes.
struct Tolerance {
    double relative = 0;
    double absolute = 0;
};

/// The step after 1 of "F64", "F16" and "BF16"; of any other dtype that of float32.
double dtype_epsilon(const std::string& dtype);

struct StageVerdict {
    std::string name;
    bool pass = false;
    std::string reason;  // empty if it passes, else one clause: "shape [2, 7] instead of [2, 7, 12]"
    Tolerance tolerance;
    double allowed = 0;         // the bound in force, for this stage
    double largest = 0;         // max |expected|
    double max_difference = 0;  // NaN if a value is NaN
    Index worst = -1;           // flat index of the worst value; -1 if none was compared
    std::vector<Index> worst_index;
    double expected = 0;
    double found = 0;
    Index wrong = 0;  // how many values are outside
    Index size = 0;
    /// The largest difference as a part of what it may be; infinite where there may be none, and for NaN.
    double share() const;
    /// It passes, but so would much that is wrong: the bound is above a tenth of the largest value.
    bool is_loose() const { return pass && allowed > largest / 10; }
};

struct Comparison {
    std::vector<StageVerdict> stages;     // stages both traces have, in model order
    std::vector<std::string> missing;     // in the reference only: not reported, not a failure
    std::vector<std::string> unexpected;  // in the candidate only
    bool pass() const;
    /// Names of stages that are judged loosely.
    std::vector<std::string> loose() const;
    /// First failing stage in model order; nullptr if all pass.
    const StageVerdict* first() const;
};

/// Rounding that dtype and depth explain: 2 eps (4 + sqrt n) with n the length of all sums on the way to the stage,
/// read off the shapes in the reference; in F16 and BF16, which `stored` says of values that a file held, n is 16 per
/// layer and the sums count in single precision.  Index stages are exact.
class DerivedTolerances {
public:
    /// Reads names and shapes of all stages once.
    explicit DerivedTolerances(const TraceView& reference);
    Tolerance of(const Stage& expected, const Stage& found,
                 const std::map<std::string, std::string>& stored = {}) const;

private:
    /// How many layers lie before or around a stage.
    double depth(const std::string& name) const;
    /// Length of all sums of one layer.
    double sums_per_layer(const Stage& stage) const;

    double width_ = 0, heads_ = 0, tokens_ = 0, feed_forward_ = 0;  // 0: no stage of the reference shows it
    double layers_ = 0;
};

/// The same of one stage.
Tolerance derived_tolerance(const TraceView& reference, const Stage& expected, const Stage& found,
                            const std::map<std::string, std::string>& stored = {});

/// Compares every stage that both have, in model order, one at a time: of a file no more than that is held in memory.
/// Throws Error(usage) if they have none in common.  `fixed` replaces the derived tolerance for all float stages;
/// `tell` is called with each verdict as soon as it is known.  `accuracy`: how far the reference itself may be from
/// exact numbers, of max(1, max |reference|), which counts where it is more than rounding explains.
Comparison compare(const TraceView& reference, const TraceView& candidate,
                   const std::optional<Tolerance>& fixed = std::nullopt,
                   const std::map<std::string, std::string>& stored = {},
                   const std::function<void(const StageVerdict&)>& tell = {}, double accuracy = 0);

/// The narrowest of "BF16", "F16" and "F32" that holds every number; empty if none does, and of fewer than 16 numbers
/// that are no multiples of 1/64.
std::string narrowest_dtype(const Tensor<double>& values);
/// "F16", "BF16" or "F32" if every number of the trace is one, and was stored in a wider dtype: `.float()` before
/// writing does not make half precision exact.  Else empty, also of fewer than 16 numbers that are no multiples of
/// 1/64. `stored`: as of compare.
std::string narrower_dtype(const TraceView& trace, const std::map<std::string, std::string>& stored = {});
/// `stored` with this dtype for every float stage of the trace; unchanged for an empty one.
std::map<std::string, std::string> stored_as(const TraceView& trace, const std::string& dtype,
                                             std::map<std::string, std::string> stored);

/// How many float32 numbers lie between two, one of them counted: 0 for the same, 1 for neighbours.  +0 and -0 are the
/// same.  NaN for NaN.
double ulp_distance(float a, float b);

}  // namespace locus
