#pragma once
// The recorded DeBERTa cases as evidence for formulas and diagnoses.
#include <memory>

#include "core/models/model.h"
#include "tests/conformance/evidence.h"
#include "tests/oracle_cases.h"

namespace locus::conformance {

/// A recorded case; where there is an exact trace of it, that one.
struct Recorded {
    explicit Recorded(const test::Case& one)
        : name(one.name()),
          exact(test::fs::exists(one.folder / "trace_exact.safetensors")),
          tolerance(one.json[exact ? "tolerance_exact" : "tolerance"].get<double>()),
          dialect(one.dialect()),
          trace(read_trace(one.folder / (exact ? "trace_exact.safetensors" : "trace.safetensors"))),
          model(ModelFolder::open(one.model.string())),
          segments(test::read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors")) {}

    /// Reference and candidate are what was recorded.
    Evidence evidence() const { return {trace, trace, model, segments}; }

    std::string name;
    bool exact;
    double tolerance;
    Dialect dialect;
    Trace trace;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};

inline std::vector<test::Case> deberta_cases() {
    return test::cases_of({"hf_deberta", "ms_deberta"}, "tiny_v3_trained", "tiny-v3");
}

/// "emd.1.q" -> "emd.1." and "q"; "relative.index" -> "" and "/relative.index".
inline std::pair<std::string, std::string> place_of(const std::string& name) {
    for (const char* group : {"layer.", "emd."}) {
        const std::size_t digit = std::string(group).size();
        if (!name.starts_with(group) || !std::isdigit(static_cast<unsigned char>(name[digit]))) continue;
        const std::size_t end = name.find('.', digit) + 1;
        return {name.substr(0, end), name.substr(end)};
    }
    return {"", "/" + name};
}

/// max |a - b| / max(1, max |b|); infinity for another shape or anything that is not a number.
inline double deviation(const Tensor<double>& a, const Tensor<double>& b) {
    if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
    double worst = 0, size = 1;
    for (Index n = 0; n < a.size(); ++n) {
        const double difference = std::abs(a[n] - b[n]);
        if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, difference);
        size = std::max(size, std::abs(b[n]));
    }
    return worst / size;
}

}  // namespace locus::conformance
