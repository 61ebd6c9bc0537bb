#include "core/conformance/diagnosis/missing_evidence.h"

#include <algorithm>

namespace locus::conformance {

namespace {

enum class Lack { nothing, input, model };

/// What keeps a hypothesis from saying what the stage would be, if the user could pass it.
Lack lack_of(const Evidence& evidence, const std::string& stage, const Variant& variant) {
    const auto [scope, stem] = scope_and_stem(stage);
    try {
        const Replay replay(evidence, scope, variant.formulas);
        if (replay.touches(stem)) replay.computed(stem);
    } catch (const NotEnough& missing) {
        if (missing.what.find("model folder") != std::string::npos) return Lack::model;
        if (missing.what == "the inputs") return Lack::input;
    } catch (const Error&) {  // shapes that do not fit the formula
    }
    return Lack::nothing;
}

}  // namespace

std::string would_learn(const Evidence& evidence, const StageVerdict& verdict, const Diagnosis& diagnosis) {
    const auto& judged = diagnosis.judged;
    if (diagnosis.named || (evidence.model && !evidence.segments.empty())) return "";
    if (!judged.empty() && judged.front().mistake == 0 && judged.front().fits()) return "";
    std::size_t wait = 0;
    bool model = false;
    for (const Mistake& mistake : catalogue()) {
        const auto is_this = [&](const Explanation& each) { return each.mistake == mistake.number; };
        if (std::any_of(judged.begin(), judged.end(), is_this)) continue;
        if (evidence.model && std::find(mistake.families.begin(), mistake.families.end(), evidence.model->family) ==
                                  mistake.families.end())
            continue;
        Lack worst = Lack::nothing;
        for (const Variant& variant : mistake.variants)
            worst = std::max(worst, lack_of(evidence, verdict.name, variant));
        wait += worst != Lack::nothing;
        model = model || worst == Lack::model;
    }
    if (wait == 0) return "";
    const std::string more = std::to_string(wait) + (wait == 1 ? " more mistake" : " more mistakes");
    return "with " + std::string(model ? "--model DIR (configuration and weights) and " : "") +
           "--input FILE (tokens and masks) " + more + " of the catalogue can be judged at " + verdict.name;
}

}  // namespace locus::conformance
