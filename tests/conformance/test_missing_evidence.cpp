// Two files alone tell less than two files, a model and its input: a diagnosis says what is missing and invents
// nothing.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/conformance/diagnosis/equivalents.h"
#include "core/conformance/diagnosis/missing_evidence.h"
#include "core/io/safetensors.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/run_program.h"

namespace locus::test::test_missing_evidence {

using namespace locus::conformance;
using namespace locus::conformance::toy;
using locus::test::fs::path;

namespace {

Range range_named(Family family, const std::string& name) {
    for (Range& range : ranges_of(family))
        if (range.name == name) return std::move(range);
    FAIL("no case " + name);
    return {};
}

Trace port_of(const Range& range, const Slip& slip) {
    ToyOptions options;
    options.hugging_face = range.hugging_face;
    options.slip = slip;
    return run_toy<double>(range.model_folder, range.segments, options);
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What is said of a port that hides keys alone, with this much known about it.
struct Answer {
    Diagnosis diagnosis;
    std::string learn;
    Answer(const Range& range, const Trace& port, bool model, bool input) {
        const Evidence evidence{range.sharp, port, model ? range.model : nullptr,
                                input ? range.segments : std::vector<ModelInput>{}};
        const Comparison comparison = compare(range.sharp, port);
        REQUIRE(comparison.first());
        diagnosis = diagnose(evidence, comparison, *comparison.first());
        learn = would_learn(evidence, *comparison.first(), diagnosis);
    }
};

}  // namespace

TEST_CASE("would learn: a mask of keys alone needs the input, and the answer says so", "[kit]") {
    const Range range = range_named(Family::deberta, "ms_deberta_v3_emd");
    const Trace port = port_of(range, {32, 0});
    const Answer files(range, port, false, false), with_model(range, port, true, false), all(range, port, true, true);
    CHECK_FALSE(files.diagnosis.named);
    CHECK(holds(files.learn, "--input FILE"));
    CHECK(holds(files.learn, " of the catalogue can be judged at layer.0."));
    CHECK_FALSE(with_model.diagnosis.named);
    CHECK(holds(with_model.learn, "--input FILE"));
    CHECK_FALSE(holds(with_model.learn, "--model"));
    REQUIRE(all.diagnosis.named);
    CHECK(all.diagnosis.named->mistake == 32);
    CHECK(all.learn.empty());

    const locus::test::TemporaryFolder folder;
    write_trace(folder / "right.safetensors", range.sharp, {});
    write_trace(folder / "port.safetensors", port, {});
    const std::vector<std::string> two = {(folder / "right.safetensors").string(),
                                          (folder / "port.safetensors").string()};
    const auto text = locus::test::run("locus-check", two);
    CHECK(text.status == 1);
    CHECK(holds(text.out, "\n  " + files.learn + "\n"));
    std::vector<std::string> more = two;
    for (const std::string& word : {std::string("--json"), std::string("--model"), range.model_folder})
        more.push_back(word);
    const auto json = nlohmann::json::parse(locus::test::run("locus-check", more).out);
    CHECK(json["would_learn"] == with_model.learn);
    CHECK(json["diagnosis"].is_null());
}

TEST_CASE("would learn: where a stage of the weights fails, the model is asked for first", "[kit]") {
    const Range range = range_named(Family::deberta, "ms_deberta_v3_emd");
    const Answer files(range, port_of(range, {39, 0}), false, false);
    CHECK_FALSE(files.diagnosis.named);
    CHECK(holds(files.learn, "--model DIR (configuration and weights)"));
    const Answer all(range, port_of(range, {39, 0}), true, true);
    REQUIRE(all.diagnosis.named);
    CHECK(all.diagnosis.named->mistake == 39);
}

TEST_CASE("would learn: without model or input no mistake gets another one's name", "[kit][mutation]") {
    for (const auto& [family, name] : {std::pair{Family::deberta, "ms_deberta_v3_emd"},
                                       {Family::roformer, "hf_roformer"},
                                       {Family::transformer_xl, "txl_basic"},
                                       {Family::xlnet, "hf_xlnet_bi"}}) {
        const Range range = range_named(family, name);
        for (const KnownSlip& known : slips()) {
            if (std::find(known.families.begin(), known.families.end(), family) == known.families.end()) continue;
            const Trace port = port_of(range, known.slip);
            const Comparison comparison = compare(range.sharp, port);
            if (!comparison.first()) continue;
            for (const bool model : {false, true}) {
                const Evidence evidence{range.sharp, port, model ? range.model : nullptr, {}};
                const Diagnosis diagnosis = diagnose(evidence, comparison, *comparison.first());
                if (!diagnosis.named) continue;
                INFO(name << ", model " << model << ", mistake " << known.slip.mistake << " (" << known.what << ") at "
                          << comparison.first()->name << " is called " << diagnosis.named->mistake);
                const auto& same = diagnosis.equivalent;
                CHECK((names(diagnosis.named->mistake, known.slip) ||
                       std::find(same.begin(), same.end(), known.slip.mistake) != same.end()));
            }
        }
    }
}

}  // namespace locus::test::test_missing_evidence
