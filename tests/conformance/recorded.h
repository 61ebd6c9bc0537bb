#pragma once
// Recorded foreign cases as evidence: a case is its own reference and its own candidate.
#include <limits>
#include <set>

#include "core/conformance/diagnosis/replay.h"
#include "core/conformance/formulas/formulas.h"
#include "tests/oracle_cases.h"

namespace locus::conformance {

struct Recorded {
    explicit Recorded(const test::Case& from)
        : one(from),
          exact(test::fs::exists(one.folder / "trace_exact.safetensors")),
          trace(read_trace((one.folder / (exact ? "trace_exact.safetensors" : "trace.safetensors")).string())) {
        evidence.model = ModelFolder::open(one.model.string());
        evidence.segments = test::read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors");
        evidence.dialect = one.dialect();
    }
    Recorded(const Recorded&) = delete;

    Family family() const { return evidence.model->family; }
    /// What one formula may miss a recorded stage by: rounding of double; where the code rounded to float on its way
    /// and there is no exact trace, the case's tolerance.  RoFormer's float angles stand in the file and are no
    /// rounding.
    double allowed(const Stage& stage) const {
        double size = 0;
        for (Index n = 0; n < stage.size(); ++n) size = std::max(size, std::abs(stage.at(n)));
        if (!exact && family() != Family::roformer) return one.json["tolerance"].get<double>() * std::max(1.0, size);
        const Tolerance rounding = derived_tolerance(trace, stage, stage);
        return rounding.absolute + rounding.relative * size;
    }

    test::Case one;
    bool exact;
    Trace trace;
    Evidence evidence{trace, trace, nullptr, {}, Dialect::reference};
};

/// The recorded cases of a family, and the trained one.
inline std::vector<std::unique_ptr<Recorded>> recorded_cases(Family family) {
    const auto named = [&]() -> std::vector<test::Case> {
        switch (family) {
            case Family::deberta:
                return test::cases_of({"hf_deberta", "ms_deberta"}, "tiny_v3_trained", "tiny-v3");
            case Family::roformer:
                return test::cases_of({"hf_roformer"}, "tiny_roformer_trained", "tiny-roformer");
            case Family::transformer_xl:
                return test::cases_of({"txl_", "hf_txl_"}, "tiny_txl_trained", "tiny-txl");
            case Family::xlnet:
                break;
        }
        return test::cases_of({"hf_xlnet"}, "tiny_xlnet_trained", "tiny-xlnet");
    };
    std::vector<std::unique_ptr<Recorded>> cases;
    for (const test::Case& one : named()) cases.push_back(std::make_unique<Recorded>(one));
    return cases;
}

/// max |a - b|; infinity for another shape or anything that is not a number.
inline double distance(const Tensor<double>& a, const Tensor<double>& b) {
    if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (Index n = 0; n < a.size(); ++n) {
        const double difference = std::abs(a[n] - b[n]);
        if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, difference);
    }
    return worst;
}

// ms_rtd and ms_sift as evidence: recorded stages, the model, and beside tokens what only these two cases are given.

struct TrainingCase {
    std::string name;
    test::fs::path folder;
    nlohmann::json json;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
    Trace inputs;           // hidden, noise
    Trace recorded, exact;  // as the code ran, and with its float32 casts lifted
    /// `reference` and the noise, if there is some: what a diagnosis looks at.
    Trace with_noise(const Trace& reference) const {
        Trace all;
        for (const Stage& stage : reference.stages()) all.add(stage);
        if (const Stage* noise = inputs.find("noise")) all.add(*noise);
        return all;
    }
};

inline TrainingCase training_case(const std::string& name) {
    TrainingCase one;
    one.name = name;
    one.folder = test::kOracle / name;
    one.json = test::read_json(one.folder / "case.json");
    one.model = ModelFolder::open((one.folder / "model").string());
    one.segments = test::read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors");
    one.inputs = read_trace(one.folder / "inputs.safetensors");
    one.recorded = read_trace(one.folder / "trace.safetensors");
    one.exact = read_trace(one.folder / "trace_exact.safetensors");
    return one;
}

}  // namespace locus::conformance
