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

/// What the right formula of a dialect leaves of the reference's own stage.  Nothing where it cannot be computed.
std::optional<OwnResidual> own_residual_in(Dialect dialect, const Evidence& evidence, const Comparison& comparison,
                                           const std::string& name, const Variant& right) {
    const auto stage = evidence.reference.at(name);
    StageVerdict own;
    own.name = name;
    own.tolerance = derived_tolerance(evidence.reference, *stage, *stage);
    own.allowed = own.tolerance.absolute + own.tolerance.relative * largest_size(widened(*stage));
    Evidence alone = evidence;
    alone.candidate = evidence.reference;
    alone.stored.clear();
    alone.dialect = dialect;
    alone.shared = std::make_shared<SharedWork>();
    const std::optional<Hypothesis> judged = Judge(alone, comparison, own).judge(0, right);
    if (!judged) return std::nullopt;
    return OwnResidual{judged->explanation.residual, judged->explanation.allowed};
}

/// Of DeBERTa and RoFormer a dialect decides what a query without keys is, and only probs tell which it was.
bool hides_queries_by_dialect(const Evidence& evidence) {
    const std::optional<Family> family = known_family(evidence);
    return family == Family::deberta || family == Family::roformer;
}

/// The least of all dialects that the reference may follow: the rows of padding raise no doubt.
std::optional<OwnResidual> own_residual(const Evidence& evidence, const Comparison& comparison, const std::string& name,
                                        const Variant& right) {
    std::set<Dialect> dialects = {evidence.dialect};
    if (hides_queries_by_dialect(evidence)) dialects = {Dialect::reference, Dialect::hf};
    std::optional<OwnResidual> least;
    for (const Dialect dialect : dialects) {
        const std::optional<OwnResidual> own = own_residual_in(dialect, evidence, comparison, name, right);
        if (!own) return std::nullopt;
        if (!least || own->residual < least->residual) least = own;
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

Dialect dialect_shown(const Evidence& evidence, const Comparison& comparison) {
    static const std::set<std::string> kBehindProbs = {"context", "attention", "output"};
    if (!hides_queries_by_dialect(evidence)) return evidence.dialect;
    const Dialect other = evidence.dialect == Dialect::hf ? Dialect::reference : Dialect::hf;
    for (const std::string& name : evidence.reference.names()) {
        const auto [scope, stem] = scope_and_stem(name);
        if (!scope.starts_with("layer.") || !kBehindProbs.contains(stem) || evidence.reference.has(scope + "probs"))
            continue;
        const auto own = own_residual_in(evidence.dialect, evidence, comparison, name, {}),
                   others = own_residual_in(other, evidence, comparison, name, {});
        if (!own || !others) continue;
        return kBeyondBest * others->residual < own->residual ? other : evidence.dialect;
    }
    return evidence.dialect;
}

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

bool has_exact_embeddings(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict) {
    if (!scope_and_stem(verdict.name).second.starts_with("/embeddings.")) return false;
    const std::optional<OwnResidual> own = own_residual(evidence, comparison, verdict.name, {});
    return own && own->residual <= std::max(kSeenOfSingle, kBeyondRounding * own->allowed);
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
