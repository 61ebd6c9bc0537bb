// Entries 39 to 52 of the catalogue: what they predict is far from right, and a port that makes one of them is told so.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "core/conformance/diagnosis/diagnosis.h"
#include "core/stages.h"
#include "tests/conformance/recorded.h"

namespace locus::test::test_catalogue_encoder {

using namespace locus::conformance;

namespace {

constexpr int kFirst = 39, kLast = 52;

/// Closer than this is the same number, further is a mistake: recorded traces of double precision agree to 1e-12, the
/// faintest mistake (eps 1e-12 for 1e-7) moves a norm by 5e-8.  A port that lies nowhere further than kFaint from right
/// is right: eps 1e-12 outside the root.
constexpr double kSame = 1e-11, kFaint = 1e-9;

/// A case with a reference that has no rounding of its own: what was recorded exactly, else our own pass in double
/// precision, which the oracle's tests hold against what was recorded.
struct Probe {
    explicit Probe(std::unique_ptr<Recorded> from)
        : recorded(std::move(from)),
          reference(recorded->exact ? recorded->trace : test::run_case<double>(recorded->one, Dialect::reference)) {}
    Evidence evidence(const Trace& candidate) const {
        return {reference, candidate, recorded->evidence.model, recorded->evidence.segments, Dialect::reference};
    }
    std::string name() const { return recorded->one.name(); }
    std::unique_ptr<Recorded> recorded;
    Trace reference;
};

/// Of one family.  The trained models are too large for so many passes; texts of 300 tokens have as many pairs as a
/// hundred others, and the same layers.
const std::vector<Probe>& probes(Family family) {
    static std::map<Family, std::vector<Probe>> all;
    std::vector<Probe>& made = all[family];
    if (made.empty())
        for (auto& recorded : recorded_cases(family))
            if (!recorded->one.name().ends_with("_trained") && !recorded->one.name().ends_with("_t300"))
                made.emplace_back(std::move(recorded));
    return made;
}

std::vector<std::string> names_in_order(const Trace& trace) {
    std::vector<std::string> names = trace.names();
    std::stable_sort(names.begin(), names.end(), stage_comes_before);
    return names;
}

std::optional<Tensor<double>> by_formula(const Evidence& evidence, const std::string& name,
                                         const std::vector<Formula>& replaced) {
    const auto [scope, stem] = scope_and_stem(name);
    try {
        return Replay(evidence, scope, replaced).computed(stem);
    } catch (const NotEnough&) {
    } catch (const Error&) {
    }
    return std::nullopt;
}

/// What a port reports that makes the mistake and is right otherwise: every stage follows from its own stages before.
/// Entry 51 is a mistake of the report: what follows is computed from the right states.
Trace port_with(const Probe& probe, int number, const Variant& variant) {
    Trace port;
    double farthest = 0;
    const bool reports_wrongly = number == 51;
    for (const std::string& name : names_in_order(probe.reference)) {
        Stage stage = probe.reference.at(name);
        std::optional<Tensor<double>> values;
        if (stage.dtype() != std::string("I64")) {
            const Evidence evidence = probe.evidence(reports_wrongly ? probe.reference : port);
            values = by_formula(evidence, name, variant.formulas);
            if (!values) values = by_formula(evidence, name, {});
        }
        const double moved = values ? distance(*values, widened(stage)) : 0;
        farthest = std::max(farthest, moved);
        if (moved > kSame) stage.values = std::move(*values);
        port.add(std::move(stage));
    }
    return farthest > kFaint ? port : probe.reference;
}

Trace only(const Trace& port, const std::function<bool(const std::string&)>& reports) {
    Trace some;
    for (const Stage& stage : port.stages())
        if (reports(stage.name)) some.add(stage);
    return some;
}

std::optional<Diagnosis> diagnosis_of(const Probe& probe, const Trace& port) {
    const Comparison comparison = compare(probe.reference, port);
    if (!comparison.first()) return std::nullopt;
    return diagnose(probe.evidence(port), comparison, *comparison.first());
}

bool is_or_equals(const Diagnosis& diagnosis, int number) {
    return diagnosis.named->mistake == number ||
           std::find(diagnosis.equivalent.begin(), diagnosis.equivalent.end(), number) != diagnosis.equivalent.end();
}

/// True if this way of making the mistake is among those that explain the stage.
bool fits(const Diagnosis& diagnosis, int number, const std::string& how) {
    return std::any_of(diagnosis.judged.begin(), diagnosis.judged.end(), [&](const Explanation& each) {
        return each.mistake == number && each.how == how && each.fits();
    });
}

std::string told(const Diagnosis& diagnosis) {
    std::string text = diagnosis.named ? std::to_string(diagnosis.named->mistake) + " " + diagnosis.named->how : "none";
    for (std::size_t n = 0; n < std::min<std::size_t>(4, diagnosis.judged.size()); ++n) {
        char line[200];
        std::snprintf(line, sizeof line, " | %d %s %.1e (%.1e)", diagnosis.judged[n].mistake,
                      diagnosis.judged[n].how.c_str(), diagnosis.judged[n].residual, diagnosis.judged[n].allowed);
        text += line;
    }
    return text;
}

/// Calls judge(mistake, variant, case) for every way to make mistakes 39 to 52 and every case of their families.  What
/// is measured on a candidate is made in test_fitted_numbers.cpp and by the toy ports of test_injected_mistakes.cpp.
template <class Judge>
void each_way(Judge judge) {
    for (int number = kFirst; number <= kLast; ++number) {
        const Mistake& mistake = mistake_of(number);
        for (const Variant& variant : mistake.variants) {
            if (variant.measured) continue;
            for (const Family family : mistake.families)
                for (const Probe& probe : probes(family)) judge(mistake, variant, probe);
        }
    }
}

/// How far the variant's stages lie from the recorded ones at most, in units of what rounding explains.
double farthest(const Recorded& recorded, const Variant& variant) {
    double worst = 0;
    for (const Stage& stage : recorded.trace.stages()) {
        const auto [scope, stem] = scope_and_stem(stage.name);
        if (!Replay(recorded.evidence, scope, variant.formulas).touches(stem)) continue;
        const auto values = by_formula(recorded.evidence, stage.name, variant.formulas);
        if (values && values->shape() == stage.shape())
            worst = std::max(worst, distance(*values, widened(stage)) / recorded.allowed(stage));
    }
    return worst;
}

/// Which stages a port reports.
using Reported = std::map<std::string, std::function<bool(const std::string&)>>;

/// A port that reports these alone is told its mistake's number, another that gives the same numbers, or none; and
/// each set of stages is enough for some mistake.
void check_reported(const Reported& sets) {
    std::map<std::string, int> named;
    each_way([&](const Mistake& mistake, const Variant& variant, const Probe& probe) {
        const Trace port = port_with(probe, mistake.number, variant);
        for (const auto& [which, reports] : sets) {
            const Trace some = only(port, reports);
            if (some.stages().empty()) continue;
            const auto diagnosis = diagnosis_of(probe, some);
            if (!diagnosis || !diagnosis->named) continue;
            INFO(mistake.number << " " << variant.how << " in " << probe.name() << " by " << which << ": "
                                << told(*diagnosis));
            CHECK(is_or_equals(*diagnosis, mistake.number));
            ++named[which];
        }
    });
    for (const auto& [which, reports] : sets) {
        INFO(which);
        CHECK(named[which] > 0);
    }
}

bool is_output_of_layer(const std::string& name) { return name.starts_with("layer.") && name.ends_with(".output"); }

}  // namespace

TEST_CASE("catalogue: every way to make mistakes 39 to 52 shows in a recorded case of every family that has it",
          "[kit][oracle]") {
    std::map<std::pair<int, Family>, double> by_family;
    std::map<std::pair<int, std::string>, double> by_way;
    each_way([&](const Mistake& mistake, const Variant& variant, const Probe& probe) {
        const double worst = farthest(*probe.recorded, variant);
        for (double* kept :
             {&by_family[{mistake.number, probe.recorded->family()}], &by_way[{mistake.number, variant.how}]})
            *kept = std::max(*kept, worst);
    });
    for (const auto& [which, worst] : by_family) {
        INFO(which.first << " in " << to_string(which.second));
        CHECK(worst >= 100);
    }
    for (const auto& [which, worst] : by_way) {
        INFO(which.first << " " << which.second);
        // Losses of other tokens are more numbers, not other ones.
        CHECK((worst >= 100 || which.second == "a loss for tokens with label 0 too"));
    }
}

TEST_CASE("catalogue: a port that makes one of the mistakes 39 to 52 is told its number", "[kit]") {
    std::map<std::pair<int, std::string>, int> seen;
    each_way([&](const Mistake& mistake, const Variant& variant, const Probe& probe) {
        int& times = seen[{mistake.number, variant.how}];
        const auto diagnosis = diagnosis_of(probe, port_with(probe, mistake.number, variant));
        if (!diagnosis) return;
        ++times;
        INFO(mistake.number << " " << variant.how << " in " << probe.name() << ": " << told(*diagnosis));
        CHECK((diagnosis->named && diagnosis->named->mistake == mistake.number));
        CHECK(fits(*diagnosis, mistake.number, variant.how));
    });
    for (const auto& [which, times] : seen) {
        INFO(which.first << " " << which.second);
        CHECK(times > 0);
    }
}

// Four tests of half a minute to two minutes each, so that none comes near its time limit on a slow machine.

TEST_CASE("catalogue: with outputs alone reported none of the mistakes 39 to 52 is taken for another", "[kit]") {
    check_reported({{"outputs", [](const std::string& name) { return name.ends_with(".output"); }},
                    {"outputs of layers", is_output_of_layer}});
}

TEST_CASE("catalogue: with the last pass or scores reported none of the mistakes 39 to 52 is taken for another",
          "[kit]") {
    check_reported({{"the last pass", [](const std::string& name) { return name == "emd.1.output"; }},
                    {"scores", [](const std::string& name) { return name.ends_with(".scores"); }}});
}

TEST_CASE("catalogue: with stages of the head alone reported none of the mistakes 39 to 52 is taken for another",
          "[kit]") {
    check_reported({{"transform", [](const std::string& name) { return name == "mlm.transform"; }},
                    {"logits", [](const std::string& name) { return name == "mlm.logits"; }}});
}

TEST_CASE("catalogue: with stages of layers and logits reported none of the mistakes 39 to 52 is taken for another",
          "[kit]") {
    using Name = const std::string&;
    check_reported(
        {{"layers and logits", [](Name name) { return name.starts_with("layer.") || name == "mlm.logits"; }},
         {"outputs of layers and logits", [](Name name) { return is_output_of_layer(name) || name == "mlm.logits"; }}});
}

}  // namespace locus::test::test_catalogue_encoder
