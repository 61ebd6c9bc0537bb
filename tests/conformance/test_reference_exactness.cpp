// References in double whose code computes in single precision here and there: a right port passes beside them, a wrong
// one is named, and what differs by as little for another reason does not pass.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/conformance/diagnosis/reference_exactness.h"
#include "core/conformance/report/report.h"
#include "core/io/safetensors.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/conformance/toy/several_mistakes.h"
#include "tests/files.h"

namespace locus::test::test_reference_exactness {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

CaseReport judged_beside(const Range& range, const Trace& reference, const Trace& candidate) {
    TracePair pair;
    pair.reference = reference;
    pair.candidate = candidate;
    pair.model = range.model;
    pair.segments = range.segments;
    return judge_pair(pair);
}

/// The same model in a folder of its own, without the table of angles that its file holds in float32.
void copy_without_angles(const std::string& from, const fs::path& to) {
    fs::create_directory(to);
    fs::copy_file(fs::path(from) / "config.json", to / "config.json");
    const TensorFile file = open_safetensors(fs::path(from) / "model.safetensors");
    std::vector<std::pair<std::string, Tensor<float>>> kept;
    for (const TensorEntry& entry : file.entries)
        if (!entry.name.ends_with("embed_positions.weight")) kept.emplace_back(entry.name, read_tensor<float>(entry));
    REQUIRE(kept.size() + 1 == file.entries.size());
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, values] : kept) tensors.push_back({name, values.shape(), values.values().data()});
    write_safetensors(to / "model.safetensors", tensors);
}

/// A pass of RoFormer with sines and cosines in double.
Trace with_exact_angles(const Range& range) {
    const TemporaryFolder folder;
    copy_without_angles(range.model_folder, folder / "model");
    return open_case_model<double>((folder / "model").string())->forward(range.segments, Dialect::hf);
}

Trace without(const Trace& trace, const std::vector<std::string>& stems) {
    Trace rest;
    for (const Stage& stage : trace.stages())
        if (std::none_of(stems.begin(), stems.end(),
                         [&](const std::string& stem) { return stage.name.find(stem) != std::string::npos; }))
            rest.add(stage);
    return rest;
}

const Range& roformer() { return several_range(Family::roformer, "hf_roformer"); }

}  // namespace

TEST_CASE("exactness: exact numbers pass beside what other people's code makes of double", "[kit]") {
    int cases = 0;
    for (const Family family : {Family::deberta, Family::transformer_xl, Family::xlnet})
        for (const Range& range : ranges_of(family)) {
            const Comparison strict = compare(range.recorded, range.sharp);
            if (strict.pass() || range.is_long()) continue;  // recorded in double altogether, or in float32
            ++cases;
            const CaseReport report = judged_beside(range, range.recorded, range.sharp);
            INFO(range.name << "\n" << pair_text(report));
            CHECK(report.verdict == Verdict::pass);
            CHECK(report.accuracy == kSinglePrecision);
            CHECK_THAT(report.accuracy_said, Catch::StartsWith("the reference is exact to 1e-06, as "));
            CHECK_THAT(pair_text(report), Catch::Contains(report.accuracy_said + ": no stage is held to less\n"));
            const auto tolerance = nlohmann::json::parse(pair_json(report))["tolerance"];
            Report page;
            page.cases.push_back(report);
            CHECK_THAT(report_html(page), Catch::Contains(report.accuracy_said + ": no stage is held to less"));
            CHECK(tolerance["at_least"] == 1e-6);
            CHECK(tolerance["because"] == report.accuracy_said);
            // The other way round only a table of angles is forgiven, where it is reported: a sum in single precision
            // is mistake 83.
            const CaseReport turned = judged_beside(range, range.sharp, range.recorded);
            const std::vector<std::string> names = range.recorded.names();
            const bool has_angles = std::any_of(names.begin(), names.end(), [](const std::string& name) {
                return name.find("positions.r") != std::string::npos;
            });
            INFO(pair_text(turned));
            CHECK((turned.verdict == Verdict::pass) == has_angles);
            if (has_angles)
                CHECK_THAT(turned.accuracy_said, Catch::StartsWith("the candidate is exact to 1e-06, as "));
            else
                CHECK_THAT(turned.diagnosis->pattern,
                           Catch::StartsWith("off by no more than rounding to float32 explains") ||
                               Catch::Contains("every value is 1 + 1.79482e-08 times"));
        }
    CHECK(cases > 12);
}

TEST_CASE("exactness: a step that is off by float32 among others in double is no dump to save as float32", "[kit]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    Trace port;
    const Trace own = run_toy<double>(range.model_folder, range.segments, {});
    for (const Stage& stage : own.stages()) {
        Stage other = stage;
        if (stage.name == "layer.0.attention") {
            Tensor<double>& values = std::get<Tensor<double>>(other.values);
            for (Index n = 0; n < values.size(); ++n) values[n] += 2e-7 * std::sin(static_cast<double>(n));
        }
        port.add(other);
        if (stage.name == "layer.0.attention") break;
    }
    const CaseReport report = judged_beside(range, range.sharp, port);
    INFO(pair_text(report));
    REQUIRE(report.verdict == Verdict::fail);
    CHECK(report.first->name == "layer.0.attention");
    CHECK_THAT(report.diagnosis->pattern,
               Catch::StartsWith("off by no more than rounding to float32 explains, while what it is made of is right "
                                 "to double: ") &&
                   !Catch::Contains("save it as F32"));
}

TEST_CASE("exactness: stages of files are read anew each time, and judged alike", "[kit]") {
    const fs::path folder = kOracle / "ms_deberta_biased";
    TracePair pair;
    pair.reference = open_trace(folder / "trace_exact.safetensors");
    pair.candidate = open_trace(folder / "trace.safetensors", &pair.stored);
    const CaseReport wrong = judge_pair(pair);
    REQUIRE(wrong.verdict == Verdict::fail);
    CHECK(wrong.first->name == "layer.0.c2c");
    CHECK(wrong.diagnosis->pattern ==
          "off by no more than rounding to float32 explains; it is saved as F64, so it is "
          "held to double: if you compute in float32, save it as F32");
    std::swap(pair.reference, pair.candidate);
    pair.stored.clear();
    const CaseReport right = judge_pair(pair);
    CHECK(right.verdict == Verdict::pass);
    CHECK(right.accuracy == kSinglePrecision);
}

TEST_CASE("exactness: a reference that is double throughout shows nothing, whatever is wrong beside it", "[kit]") {
    for (const Family family : {Family::deberta, Family::transformer_xl, Family::xlnet})
        for (const Range& range : ranges_of(family)) {
            const Evidence evidence{range.sharp, range.sharp, range.model, range.segments};
            Comparison wrong = compare(range.sharp, range.sharp);
            for (StageVerdict& verdict : wrong.stages) verdict.pass = false;
            INFO(range.name);
            CHECK(shows_single_precision(evidence, wrong, wrong.stages.front()).value_or("") == "");
        }
}

// Without a model only stages tell what follows from what.

TEST_CASE("exactness: a right reference is not doubted where the model is not given", "[kit]") {
    // Its context is made of v_rot, as its own stages show, and not of v.
    Range range = several_range(Family::roformer, "hf_roformer_rotate_value");
    const Trace port = port_with_all<double>(range, {{25, 0}});
    range.model = nullptr, range.segments.clear();
    const CaseReport report = judged_beside(range, range.sharp, port);
    INFO(pair_text(report));
    CHECK(report.first->name == "layer.0.context");
    CHECK(report.all->doubt.empty());
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->mistake == 25);
}

TEST_CASE("exactness: without a model the output of a convolution follows from nothing, and c2p from the index",
          "[kit]") {
    for (const char* name : {"hf_deberta_v2_conv", "ms_deberta_v3_emd"}) {
        Range range = several_range(Family::deberta, name);
        const Trace port = port_with_all<double>(range, {{4, 0}});
        range.model = nullptr, range.segments.clear();
        const CaseReport report = judged_beside(range, range.sharp, port);
        INFO(pair_text(report));
        REQUIRE(report.diagnosis->named);
        CHECK(report.diagnosis->named->mistake == 4);
        CHECK(report.all->repaired != Repaired::no);
    }
}

TEST_CASE("exactness: the loss of an adaptive softmax follows from its log-probabilities, whatever these are",
          "[kit]") {
    const Range& range = several_range(Family::transformer_xl, "txl_word_clusters");
    const CaseReport report = judged_beside(range, range.sharp, port_with_all<double>(range, {{113, 1}}));
    INFO(pair_text(report));
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->mistake == 113);
    CHECK(report.all->repaired == Repaired::yes);
}

TEST_CASE("exactness: a port of RoFormer that computes its angles in double is right", "[kit]") {
    const Range& range = roformer();
    const Trace port = with_exact_angles(range);
    const std::vector<std::vector<std::string>> left_out = {{}, {"rotary."}, {"rotary.", "_rot"}};
    for (const std::vector<std::string>& stems : left_out)
        for (const bool with_model : {true, false}) {
            Range known = range;
            if (!with_model) known.model = nullptr, known.segments.clear();
            const CaseReport report = judged_beside(known, range.sharp, without(port, stems));
            INFO(pair_text(report));
            CHECK(report.verdict == Verdict::pass);
            CHECK(report.accuracy_said ==
                  "the reference is exact to 1e-06, as rotary.sin was computed there in single precision, at least in "
                  "part");
        }
    // No angle enters the embeddings: an eps of their norm that is wrong by less than 1e-6 leaves is told.
    Trace other;
    const Trace early = without(port, {"layer.", "mlm."});
    for (Stage stage : early.stages()) {
        if (stage.name == "embeddings.output") std::get<Tensor<double>>(stage.values).rows() *= 1 - 2e-7;
        other.add(std::move(stage));
    }
    const CaseReport embeddings = judged_beside(range, range.sharp, other);
    INFO(pair_text(embeddings));
    CHECK(embeddings.verdict == Verdict::fail);
    CHECK(embeddings.first->name == "embeddings.output");
    // Of one with angles of another base, computed in double, the mistake is named whatever it reports.
    const Trace wrong = port_with_all<double>(range, {{89, 0}});
    for (const std::vector<std::string>& stems : left_out) {
        const CaseReport report = judged_beside(range, range.sharp, without(wrong, stems));
        INFO(pair_text(report));
        CHECK(report.verdict == Verdict::fail);
        CHECK(report.accuracy == kSinglePrecision);
        REQUIRE(report.diagnosis->named);
        CHECK(report.diagnosis->named->mistake == 89);
    }
}

TEST_CASE("exactness: with the reference's own tables a port is held to double", "[kit]") {
    const Range& range = roformer();
    const auto nudged = [&](const std::vector<std::string>& left_out, double by) {
        Trace port;
        const Trace kept = without(range.sharp, left_out);
        for (const Stage& stage : kept.stages()) {
            Stage own = stage;
            if (stage.name == "layer.1.attention") std::get<Tensor<double>>(own.values)[5] += by;
            port.add(own);
        }
        return judged_beside(range, range.sharp, port);
    };
    CHECK(nudged({}, 3e-7).verdict == Verdict::fail);
    CHECK(nudged({}, 3e-7).accuracy == 0);
    CHECK(nudged({}, 0).accuracy == 0);
    CHECK(nudged({"rotary."}, 3e-7).verdict == Verdict::pass);  // nothing shows which tables it has
    CHECK(nudged({"rotary."}, 3e-5).verdict == Verdict::fail);
    // A tolerance that the user gives, or a case.json, is in force as it is.
    const Trace exact = with_exact_angles(range);
    TracePair pair{range.sharp, exact};
    pair.fixed = Tolerance{1e-12, 1e-12};
    CHECK(judge_pair(pair).verdict == Verdict::fail);
    pair.fixed.reset();
    pair.accuracy = 1e-9;
    CHECK(judge_pair(pair).verdict == Verdict::fail);
    pair.accuracy = 0;
    CHECK(judge_pair(pair).verdict == Verdict::pass);
}

}  // namespace locus::test::test_reference_exactness
