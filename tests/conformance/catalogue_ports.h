#pragma once
// Ports that make one mistake of the catalogue in layer 0 of a recorded case, and what a diagnosis makes of them.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/conformance/diagnosis/diagnosis.h"
#include "core/io/safetensors.h"
#include "tests/oracle_cases.h"

namespace locus::test {

using namespace locus::conformance;

/// One pass with everything a diagnosis may look at.
struct RecordedPort {
    std::string name;
    Trace reference;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};

/// Every recorded DeBERTa case, the trained model too; short texts first.
inline const std::vector<RecordedPort>& recorded_ports() {
    static const std::vector<RecordedPort> all = [] {
        std::vector<RecordedPort> cases;
        for (const Case& one : cases_of({"hf_deberta", "ms_deberta"}, "tiny_v3_trained", "tiny-v3")) {
            const fs::path exact = one.folder / "trace_exact.safetensors", rounded = one.folder / "trace.safetensors";
            cases.push_back({one.name(), read_trace(fs::exists(exact) ? exact : rounded),
                             ModelFolder::open(one.model.string()),
                             read_segments(one.folder / "inputs.safetensors", rounded)});
        }
        std::stable_sort(cases.begin(), cases.end(), [](const RecordedPort& a, const RecordedPort& b) {
            return a.segments.front().length() < b.segments.front().length();
        });
        return cases;
    }();
    return all;
}

using Stems = std::vector<std::string>;

/// What a port of DeBERTa reports of layer 0, in the order of a pass.
inline const Stems& every_stem() {
    static const Stems all = {
        "/relative.index", "q",     "k",           "v",      "q_r", "k_r", "c2c", "c2p", "p2c", "scores",
        "scores_mixed",    "probs", "probs_mixed", "context"};
    return all;
}

/// Values as a float32 port would write them.
inline Stage as_port_writes(const Stage& like, const Tensor<double>& values) {
    Stage stage = like;
    if (std::string(like.dtype()) == "I64") {
        IndexTensor whole(values.shape());
        for (Index n = 0; n < values.size(); ++n) whole[n] = static_cast<std::int64_t>(values[n]);
        stage.values = whole;
    } else {
        Tensor<float> rounded(values.shape());
        for (Index n = 0; n < values.size(); ++n) rounded[n] = static_cast<float>(values[n]);
        stage.values = rounded;
    }
    return stage;
}

/// A port that makes this mistake and reports these stages; nothing if it cannot be made here or would crash.
inline std::optional<Trace> port_with(const RecordedPort& one, const Variant& variant, const Stems& stems) {
    const Trace silent;
    const Evidence evidence{one.reference, silent, one.model, one.segments};
    const Replay replay(evidence, "layer.0.", variant.formulas);
    Trace port;
    try {
        for (const Stage& stage : one.reference.stages()) {
            const std::string stem = stage.name.starts_with("layer.0.") ? stage.name.substr(8) : "/" + stage.name;
            if (std::find(stems.begin(), stems.end(), stem) == stems.end()) continue;
            port.add(as_port_writes(stage, replay.touches(stem) ? replay(stem) : widened(stage)));
        }
    } catch (const NotEnough&) {
        return std::nullopt;
    } catch (const Error&) {
        return std::nullopt;
    }
    if (port.stages().empty()) return std::nullopt;
    return port;
}

/// What became of a port.
struct PortOutcome {
    bool seen = false;         // something failed
    double size = 0;           // max |difference| over what rounding explains, of the first wrong stage
    std::optional<int> named;  // as whom
    std::vector<int> same;     // other mistakes that make the same numbers here
    std::string stage, best;   // for messages
    bool is(int number) const { return named == number; }
    bool ties_with(int number) const { return std::find(same.begin(), same.end(), number) != same.end(); }
};

inline PortOutcome outcome_of(const RecordedPort& one, const Trace& port) {
    const Comparison comparison = compare(one.reference, port);
    const StageVerdict* first = comparison.first();
    if (!first) return {};
    const Diagnosis found = diagnose({one.reference, port, one.model, one.segments}, comparison, *first);
    PortOutcome outcome;
    outcome.seen = true;
    outcome.size = first->allowed > 0 ? first->max_difference / first->allowed : first->max_difference * 1e6;
    if (found.named) outcome.named = found.named->mistake;
    outcome.same = found.equivalent;
    outcome.stage = first->name;
    for (std::size_t n = 0; n < std::min<std::size_t>(3, found.judged.size()); ++n)
        outcome.best += std::to_string(found.judged[n].mistake) + " (" + found.judged[n].how + ") " +
                        std::to_string(found.judged[n].residual) + ", ";
    return outcome;
}

}  // namespace locus::test
