#pragma once
// Recorded foreign cases as evidence: a case is its own reference and its own candidate.
#include <limits>
#include <set>

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
                return test::cases_of({"txl_"}, "tiny_txl_trained", "tiny-txl");
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

}  // namespace locus::conformance
