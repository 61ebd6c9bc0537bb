// What is right passes in every dtype it may be stored in, and what is wrong by more than that does not: laws over all
// recorded cases.
#include <bit>
#include <catch2/catch.hpp>
#include <map>

#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/recorded.h"

namespace locus::test::test_false_alarms {

namespace {

const std::map<std::string, double> kSteps = {{"F64", std::ldexp(1.0, -52)},
                                              {"F32", std::ldexp(1.0, -23)},
                                              {"F16", std::ldexp(1.0, -10)},
                                              {"BF16", std::ldexp(1.0, -7)}};

double stored_as(const std::string& dtype, double value) {
    const auto narrow = static_cast<float>(value);
    if (dtype == "F32") return narrow;
    if (dtype == "F16") return static_cast<float>(Eigen::half(narrow));
    if (dtype == "BF16") return std::bit_cast<float>(static_cast<std::uint32_t>(as_bfloat16(narrow)) << 16);
    return value;
}

/// One stage as a file of this dtype holds it; index stages stay what they are.
Stage stored_as(const std::string& dtype, const Stage& stage) {
    if (std::string(stage.dtype()) == "I64") return stage;
    Tensor<double> values = widened(stage);
    for (Index n = 0; n < values.size(); ++n) values[n] = stored_as(dtype, values[n]);
    return named(stage.name, std::move(values));
}

/// A trace that was computed elsewhere and stored in a dtype.
struct Stored {
    Trace trace;
    std::map<std::string, std::string> dtypes;
    Stored(const Trace& from, const std::string& dtype) {
        for (const Stage& stage : from.stages()) {
            trace.add(stored_as(dtype, stage));
            dtypes[stage.name] = std::string(stage.dtype()) == "I64" ? "I64" : dtype;
        }
    }
};

std::string alarm(const Comparison& comparison) {
    return comparison.first() ? comparison.first()->name + ", " + comparison.first()->reason : "";
}

template <class Law>
void for_all_recorded(Law law) {
    for (const Family family : {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet})
        for (const auto& one : recorded_cases(family)) law(*one);
}

double largest(const Stage& stage) {
    double size = 1;
    for (Index n = 0; n < stage.size(); ++n) size = std::max(size, std::abs(stage.at(n)));
    return size;
}

/// The trace with one value of one stage off by this much.
Trace with_error(const Trace& trace, const std::string& name, double error) {
    Trace wrong;
    for (const Stage& stage : trace.stages()) {
        if (stage.name != name) {
            wrong.add(stage);
            continue;
        }
        Tensor<double> values = widened(stage);
        values[values.size() / 2] += error;
        wrong.add(named(name, values));
    }
    return wrong;
}

}  // namespace

TEST_CASE("false alarms: every recorded trace passes in every dtype", "[kit]") {
    for_all_recorded([](const Recorded& one) {
        for (const auto& [dtype, step] : kSteps) {
            INFO(one.one.name() << " " << dtype);
            const Stored stored(one.trace, dtype);
            CHECK(alarm(compare(one.trace, stored.trace, std::nullopt, stored.dtypes)) == "");
        }
    });
}

TEST_CASE("false alarms: a pass that is stored in half precision after every stage passes", "[kit]") {
    // Locus in single precision follows the recorded code in its dialect; then every stage is rounded once more.
    for_all_recorded([](const Recorded& one) {
        const auto model = open_case_model<float>(one.one.model);
        const Trace computed = model->forward(one.evidence.segments, one.evidence.dialect);
        for (const std::string dtype : {"F32", "F16", "BF16"}) {
            INFO(one.one.name() << " " << dtype);
            const Stored stored(computed, dtype);
            const Comparison comparison = compare(one.trace, stored.trace, std::nullopt, stored.dtypes);
            for (const StageVerdict& stage : comparison.stages) {
                // Angles in single precision are off by their size; the recorded code has them so.
                if (stage.name.find("positions.r") != std::string::npos || dtype != "F32") continue;
                INFO(stage.name << " " << stage.max_difference);
                CHECK(stage.max_difference <= std::max(stage.allowed, one.one.json["tolerance"].get<double>() *
                                                                          largest(one.trace.at(stage.name))));
            }
            if (dtype != "F32") CHECK(alarm(comparison) == "");
        }
    });
}

TEST_CASE("false alarms: one value that is off by more than its dtype explains is seen, in every stage", "[kit]") {
    // Sums are added up in the dtype itself in double and single precision, once per stage in half precision.
    const std::map<std::string, double> steps_seen = {{"F64", 150}, {"F32", 150}, {"F16", 50}, {"BF16", 50}};
    for_all_recorded([&](const Recorded& one) {
        if (one.one.json["probes"]["T"].get<int>() > 10 || one.one.name().find("trained") != std::string::npos)
            return;  // longer sums, more layers
        for (const auto& [dtype, step] : kSteps) {
            const Stored stored(one.trace, dtype);
            for (const Stage& stage : one.trace.stages()) {
                if (std::string(stage.dtype()) == "I64" || stage.name.find("rotary") != std::string::npos ||
                    stage.name.find("positions") != std::string::npos)
                    continue;
                INFO(one.one.name() << " " << dtype << " " << stage.name);
                const double error = steps_seen.at(dtype) * step * largest(stage);
                const Trace wrong = with_error(stored.trace, stage.name, error);
                const Comparison comparison = compare(one.trace, wrong, std::nullopt, stored.dtypes);
                REQUIRE(comparison.first());
                CHECK(comparison.first()->name == stage.name);
                CHECK(comparison.first()->wrong == 1);
            }
        }
    });
}

TEST_CASE("false alarms: a layer is as deep in a segment as it is in one text", "[kit]") {
    Trace alone, segments;
    for (int layer = 0; layer < 12; ++layer) {
        const std::string name = "layer." + std::to_string(layer) + ".output";
        alone.add(named(name, Tensor<double>({1, 2, 8})));
        for (const char* segment : {"segment.0.", "segment.1."})
            segments.add(named(segment + name, Tensor<double>({1, 2, 8})));
    }
    double before = 0;
    for (const Stage& stage : alone.stages()) {
        const Stage& same = segments.at("segment.1." + stage.name);
        const double bound = derived_tolerance(alone, stage, stage).relative;
        CHECK(derived_tolerance(segments, same, same).relative == bound);
        CHECK(bound > before);
        before = bound;
    }
}

}  // namespace locus::test::test_false_alarms
