#include "core/conformance/diagnosis/reference_exactness.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/formulas/roformer.h"
#include "core/positions/rotary.h"
#include "core/stages.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

/// Of the largest value: codes that compute in double may take angles in float32.
constexpr double kDoubtful = 1e-3;

/// Of the largest value: what two ways to compute in double may differ by is less, what single precision leaves is
/// more.
constexpr double kSeenOfSingle = 1e-9;

struct OwnResidual {
    double residual = 0, allowed = 0;  // both of the largest value; what rounding allows
};

/// What the right formula leaves of the reference's own stage: the least of all dialects that it may follow.  Nothing
/// where it cannot be computed.
std::optional<OwnResidual> own_residual(const Evidence& evidence, const Comparison& comparison, const std::string& name,
                                        const Variant& right) {
    const auto stage = evidence.reference.at(name);
    StageVerdict own;
    own.name = name;
    own.tolerance = derived_tolerance(evidence.reference, *stage, *stage);
    own.allowed = own.tolerance.absolute + own.tolerance.relative * largest_size(widened(*stage));
    Evidence alone = evidence;
    alone.candidate = evidence.reference;
    alone.stored.clear();
    // Of DeBERTa and RoFormer a dialect decides here what a query without keys is, and only probs would show which it
    // was: the rows of padding raise no doubt.
    std::set<Dialect> dialects = {evidence.dialect};
    const std::optional<Family> family = known_family(evidence);
    if (family == Family::deberta || family == Family::roformer) dialects = {Dialect::reference, Dialect::hf};
    std::optional<OwnResidual> least;
    for (const Dialect dialect : dialects) {
        alone.dialect = dialect;
        alone.shared = std::make_shared<SharedWork>();
        const std::optional<Hypothesis> judged = Judge(alone, comparison, own).judge(0, right);
        if (!judged) return std::nullopt;
        if (!least || judged->explanation.residual < least->residual)
            least = {judged->explanation.residual, judged->explanation.allowed};
    }
    return least;
}

/// The right formula of a stage; of sines and cosines without the file, which holds them in float32.
Variant exact_formula(const std::string& stem) {
    if (stem != "/rotary.sin" && stem != "/rotary.cos") return {};
    return {"", angles_by([](const Replay& at) {
                const auto sin = at.expected("/rotary.sin");
                if (!sin || sin->rank() != 2 || sin->extent(1) == 0) throw NotEnough{"rotary.sin"};
                return inverse_frequencies(2 * sin->extent(1));
            })};
}

}  // namespace

std::optional<std::string> shows_single_precision(const Evidence& evidence, const Comparison& comparison,
                                                  const StageVerdict& first) {
    if (first.tolerance.relative >= kSinglePrecision) return std::nullopt;
    constexpr double eps = std::numeric_limits<double>::epsilon();
    std::set<std::string> settled;
    for (const StageVerdict& verdict : comparison.stages)
        if (verdict.pass) settled.insert(verdict.name);
    std::vector<std::string> names = evidence.reference.names();
    std::stable_sort(names.begin(), names.end(), stage_comes_before);
    for (const std::string& name : names) {
        throw_if_cancelled(evidence.stop);
        if (settled.contains(name) || dtype_epsilon(evidence.reference.at(name)->dtype()) > eps) continue;
        const auto own = own_residual(evidence, comparison, name, exact_formula(scope_and_stem(name).second));
        if (own && own->residual > std::max(kSeenOfSingle, kBeyondRounding * own->allowed) &&
            own->residual <= kSinglePrecision)
            return name;
    }
    return std::nullopt;
}

bool has_single_angles(const StageVerdict& first) {
    const std::string stem = scope_and_stem(first.name).second;
    const bool angles = stem == "/rotary.sin" || stem == "/rotary.cos" || stem.starts_with("/positions.r");
    return angles && first.tolerance.relative < kSinglePrecision &&
           first.max_difference <= kSinglePrecision * std::max(1.0, first.largest);
}

std::string doubt_of_reference(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict) {
    const std::optional<OwnResidual> own = own_residual(evidence, comparison, verdict.name, {});
    if (!own || own->residual <= std::max(kDoubtful, kBeyondRounding * own->allowed)) return "";
    return "the reference's own " + verdict.name + " does not follow from its other stages by the right formula, by " +
           format_number(own->residual) +
           " of its largest value: is it of another dialect or of another model, or are the two files exchanged?";
}

}  // namespace locus::conformance
