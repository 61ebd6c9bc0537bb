#pragma once
// ms_rtd and ms_sift as evidence: recorded stages, the model, and beside tokens what only these two cases are given.
#include "core/conformance/diagnosis/evidence.h"
#include "tests/oracle_cases.h"

namespace locus::conformance {

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
