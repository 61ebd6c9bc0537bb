#pragma once
// Ports that make several mistakes at once, and what is said of them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/conformance/diagnosis/all_mistakes.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/pair.h"
#include "core/stages.h"
#include "tests/conformance/toy/recorded_ranges.h"

namespace locus::conformance::toy {

/// Everything that is said of a candidate.
inline AllMistakes all_of(const Range& range, const Trace& reference, const Trace& candidate, bool model = true,
                          bool input = true) {
    Evidence evidence{reference, candidate, model ? range.model : nullptr,
                      input ? range.segments : std::vector<ModelInput>{}};
    const Comparison comparison = compare(reference, candidate);
    REQUIRE(comparison.first());
    const KitCase stages = conformance::case_of(reference);
    const std::vector<std::string> roots = first_wrong(stages, comparison);
    const auto first = std::find_if(comparison.stages.begin(), comparison.stages.end(),
                                    [&](const StageVerdict& each) { return each.name == roots.front(); });
    return diagnose_all(evidence, comparison, *first, stages.depends);
}

/// What a port dumps that reports these stages alone.
inline Trace reported(const Trace& all, const std::string& globs) {
    const StageFilter filter(globs);
    Trace kept;
    for (const Stage& stage : all.stages())
        if (filter.keeps(stage.name)) kept.add(stage);
    return kept;
}

inline std::set<int> numbers_of(const AllMistakes& all) {
    std::set<int> numbers;
    for (const WrongStage& stage : all.stages) {
        if (stage.diagnosis.named) numbers.insert(stage.diagnosis.named->mistake);
        for (const Explanation& each : stage.pair) numbers.insert(each.mistake);
    }
    return numbers;
}

inline std::string said(const AllMistakes& all) {
    std::string text = std::string("right once repaired: ") + repaired_word(all.repaired);
    for (const WrongStage& stage : all.stages) {
        text += "\n" + stage.stage + ":";
        if (stage.diagnosis.named) text += " " + std::to_string(stage.diagnosis.named->mistake);
        for (const Explanation& each : stage.pair) text += " +" + std::to_string(each.mistake);
        if (!stage.explained()) text += " " + stage.diagnosis.pattern;
    }
    return text;
}

/// Other values, which no formula gives.
inline Tensor<double> shaken(Tensor<double> values, double by = 0.3) {
    for (Index n = 0; n < values.size(); ++n) values[n] += by * std::sin(7.0 * static_cast<double>(n));
    return values;
}

/// The same but for one stage, which follows from nothing; what stands after it stays.
inline Trace with_strange(const Trace& made, const std::string& name) {
    Trace port;
    for (const Stage& stage : made.stages()) {
        Stage own = stage;
        if (stage.name == name) own.values = shaken(std::get<Tensor<double>>(own.values));
        port.add(own);
    }
    return port;
}

/// What a port reports up to this stage.
inline Trace ended_at(const Trace& all, const std::string& name) {
    Trace kept;
    for (const Stage& stage : all.stages()) {
        kept.add(stage);
        if (stage.name == name) break;
    }
    return kept;
}

struct SeveralMistakes {
    Family family;
    std::string where;
    Ways ways;
};

/// What is said of a stage; nullptr if it is not wrong by itself.
inline const WrongStage* wrong_at(const AllMistakes& all, const std::string& name) {
    const auto found =
        std::find_if(all.stages.begin(), all.stages.end(), [&](const WrongStage& each) { return each.stage == name; });
    return found == all.stages.end() ? nullptr : &*found;
}

}  // namespace locus::conformance::toy
