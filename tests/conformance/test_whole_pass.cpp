// A dump of one later stage: the mistake that was made in every layer is named from it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/conformance/diagnosis/all_mistakes.h"
#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/diagnosis/whole_pass.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/pair.h"
#include "tests/conformance/toy/injected_mistakes.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/recorded_ranges.h"

namespace locus::test::test_whole_pass {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

const Range& recorded(const std::string& name) {
    static std::map<std::string, Range> all;
    if (!all.count(name)) {
        const fs::path folder = kOracle / name;
        all[name] = range_of({folder, folder / "model", read_json(folder / "case.json")});
    }
    return all[name];
}

/// What is said of the first wrong stage where a toy port dumps no more than these stages; nothing where none is wrong.
template <class Scalar>
std::optional<WrongStage> judged(const Range& range, const Injection& injected, const std::string& globs) {
    ToyOptions options;
    options.hugging_face = range.hugging_face;
    options.injected = injected;
    const StageFilter filter(globs);
    const Trace port = run_toy<Scalar>(range.model_folder, range.segments, options);
    const Trace& reference = std::is_same_v<Scalar, float> ? range.recorded : range.sharp;
    Trace kept;
    for (const Stage& stage : port.stages())
        if (filter.keeps(stage.name)) kept.add(stage);
    const Comparison comparison = compare(reference, kept);
    const StageVerdict* first = comparison.first();
    if (!first) return std::nullopt;
    const Evidence evidence{reference, kept, range.model, range.segments};
    return diagnose_all(evidence, comparison, *first, case_of(reference).depends).stages.front();
}

/// How many mistakes of a family are called by their name from such dumps; none may be called by another.
template <class Scalar>
int named(const std::string& name, Family family, const std::string& globs) {
    int named = 0;
    for (const InjectedMistake& known : injected_mistakes()) {
        if (std::find(known.families.begin(), known.families.end(), family) == known.families.end()) continue;
        const std::optional<WrongStage> found = judged<Scalar>(recorded(name), known.injected, globs);
        if (!found || !found->diagnosis.named) continue;
        const int number = found->diagnosis.named->mistake;
        const std::vector<int>& same = found->diagnosis.equivalent;
        const bool right =
            names(number, known.injected) || std::find(same.begin(), same.end(), known.injected.mistake) != same.end();
        INFO(name << ", " << globs << ", mistake " << known.injected.mistake << ", variant " << known.injected.variant
                  << ", called " << number << " at " << found->stage);
        CHECK(right);
        named += right;
    }
    return named;
}

}  // namespace

TEST_CASE("whole pass: probabilities of a later layer alone name the mistake", "[kit][mutation]") {
    CHECK(named<float>("ms_deberta_v3_emd", Family::deberta, "layer.1.probs") >= 76);  // of 84 that are seen there
}

TEST_CASE("whole pass: logits alone name the mistake", "[kit][mutation]") {
    CHECK(named<double>("ms_deberta_v3_emd", Family::deberta, "mlm.logits") >= 90);  // of 101
}

TEST_CASE("whole pass: the output of a later layer alone names the mistake", "[kit][mutation]") {
    CHECK(named<double>("hf_roformer", Family::roformer, "layer.1.output") >= 65);  // of 72
    CHECK(named<float>("txl_basic", Family::transformer_xl, "*layer.1.output") >=
          24);  // of 30, some of them below float32
    CHECK(named<double>("hf_xlnet_bi", Family::xlnet, "*layer.1.output,*layer.1.g.output") >= 37);  // of 40
}

TEST_CASE("whole pass: of mistakes that leave the same numbers a rare one is not said first", "[kit]") {
    // Zeros behind the table (18, rare) and no position terms at all (86) are the same where M is far enough away.
    const Range& range = recorded("hf_deberta_v2_long");
    const auto found = judged<double>(range, {86, 2}, "layer.*.output");
    REQUIRE(found);
    REQUIRE(found->diagnosis.named);
    CHECK(found->diagnosis.named->mistake == 86);
    CHECK(found->diagnosis.equivalent == std::vector<int>{18});
}

TEST_CASE("whole pass: what the last layer does wrong goes on through a decoder that nobody reports", "[kit]") {
    const Range& range = recorded("ms_deberta_v3_emd");
    ToyOptions options;
    options.injected = {1, 0};
    const Trace port = run_toy<double>(range.model_folder, range.segments, options);
    const StageFilter filter("layer.*,mlm.logits");
    const auto all_of = [&](double factor) {
        Trace kept;
        for (Stage stage : port.stages()) {
            if (!filter.keeps(stage.name)) continue;
            if (stage.name == "mlm.logits")
                for (Index n = 0; n < stage.size(); ++n) std::get<Tensor<double>>(stage.values)[n] *= factor;
            kept.add(std::move(stage));
        }
        const Comparison comparison = compare(range.sharp, kept);
        return diagnose_all({range.sharp, kept, range.model, range.segments}, comparison, *comparison.first(),
                            case_of(range.sharp).depends);
    };
    const AllMistakes all = all_of(1);
    REQUIRE(all.stages.front().diagnosis.named);
    CHECK(all.stages.front().diagnosis.named->mistake == 1);
    CHECK(all.not_judged.empty());
    CHECK(all.repaired == Repaired::yes);
    CHECK(all_of(1.01).repaired != Repaired::yes);  // logits that it does not explain
}

TEST_CASE("whole pass: a name ends the search, says so, and takes the whole dump", "[kit]") {
    const Range& range = recorded("ms_deberta_v3_emd");
    const auto found = judged<double>(range, {1, 0}, "layer.1.output,layer.2.output");
    REQUIRE(found);
    REQUIRE(found->diagnosis.named);
    CHECK(found->stage == "layer.1.output");
    CHECK(found->diagnosis.named->mistake == 1);
    CHECK(found->diagnosis.in_whole_pass);
    CHECK(found->diagnosis.named->fits());
    REQUIRE(found->diagnosis.runner_up);
    CHECK(found->diagnosis.runner_up->residual > 10 * found->diagnosis.runner_up->allowed);
    // A second mistake in a stage after it is not explained by the first.
    ToyOptions options;
    options.injected = {1, 0};
    Trace port = run_toy<double>(range.model_folder, range.segments, options), kept;
    kept.add(port.at("layer.1.output"));
    Stage other = port.at("layer.2.output");
    Tensor<double> values = other.as<double>();
    for (Index n = 0; n < values.size(); ++n) values[n] *= 1.01;
    other.values = values;
    kept.add(other);
    const Comparison comparison = compare(range.sharp, kept);
    const Evidence evidence{range.sharp, kept, range.model, range.segments};
    CHECK_FALSE(whole_pass_behind(evidence, comparison, *comparison.first()).found);
    // Nor is anything looked for without inputs, or with those of another text.
    kept = Trace();
    kept.add(port.at("layer.1.output"));
    const Comparison one = compare(range.sharp, kept);
    CHECK(whole_pass_behind({range.sharp, kept, range.model, range.segments}, one, *one.first()).found);
    CHECK_FALSE(whole_pass_behind({range.sharp, kept, range.model, {}}, one, *one.first()).found);
    // Where all passes would be too much work, it is said how long a text may be.
    Evidence tired = {range.sharp, kept, range.model, range.segments};
    std::size_t told = 0, ways = 0;
    tired.passes_done = [&](std::size_t done, std::size_t of) {
        told = std::max(told, done);
        ways = of;
    };
    CHECK(whole_pass_behind(tired, one, *one.first()).most_tokens == 0);
    CHECK((ways > 100 && told > ways / 2 && told < ways));
    WholePassSearch search;
    for (tired.most_work = 1e9; search.most_tokens == 0; tired.most_work /= 2)
        search = whole_pass_behind(tired, one, *one.first());
    const Index tokens = range.segments.front().tokens.size();
    CHECK_FALSE(search.found);
    CHECK((search.most_tokens < tokens && search.most_tokens >= tokens / 2 - 1));  // half the work for half the text
    tired.most_work = 1;                                                           // not even for the right pass
    CHECK_FALSE(whole_pass_behind(tired, one, *one.first()).found);
    std::vector<ModelInput> others = range.segments;
    others.front().tokens[1] += 1;
    CHECK_FALSE(whole_pass_behind({range.sharp, kept, range.model, others}, one, *one.first()).found);
}

TEST_CASE("whole pass: pairs of mistakes in one layer are tried where the layers before are known", "[kit]") {
    const Range& range = recorded("ms_deberta_v3_emd");
    // Noise that no mistake makes in some outputs, the others right; how many pairs were tried.
    const auto pairs_tried = [&](const std::vector<int>& wrong, const std::vector<int>& right) {
        Trace kept;
        for (int layer = 0; layer < 3; ++layer) {
            const bool is_wrong = std::find(wrong.begin(), wrong.end(), layer) != wrong.end();
            if (!is_wrong && std::find(right.begin(), right.end(), layer) == right.end()) continue;
            Stage stage = range.sharp.at("layer." + std::to_string(layer) + ".output");
            Tensor<double> values = stage.as<double>();
            for (Index n = 0; is_wrong && n < values.size(); ++n) values[n] += 0.1 * std::sin(7.0 * (layer + 1.0) * n);
            stage.values = std::move(values);
            kept.add(std::move(stage));
        }
        const Comparison comparison = compare(range.sharp, kept);
        REQUIRE(comparison.first());
        const Evidence evidence{range.sharp, kept, range.model, range.segments};
        return diagnose_all(evidence, comparison, *comparison.first(), case_of(range.sharp).depends).pairs_tried;
    };
    CHECK(pairs_tried({0}, {}) > 0);
    CHECK(pairs_tried({1}, {}) == 0);
    CHECK(pairs_tried({1}, {0}) > 0);
    CHECK(pairs_tried({1, 2}, {}) > 0);  // layer 2 begins with what layer 1 reports
    CHECK(pairs_tried({2}, {0}) > 0);    // one layer at least is right
}

TEST_CASE("whole pass: what is no number in a prediction excuses nothing", "[kit]") {
    const Range& range = recorded("ms_deberta_v3_emd");
    const RightPass right = RightPass::of(range.model, range.segments, Dialect::official);
    const auto finite = [](double value) { return std::isfinite(value); };
    int seen = 0;
    for (const Variant& way : mistake_of(33).variants) try {  // a constant that overflows: rows of NaN
            const MistakenPass pass = mistaken_pass(right, way);
            for (const Stage& stage : pass.trace.stages()) {
                if (!stage.name.starts_with("layer.1.") || !std::holds_alternative<Tensor<double>>(stage.values))
                    continue;
                Tensor<double> values = stage.as<double>();
                if (std::all_of(values.values().begin(), values.values().end(), finite)) continue;
                ++seen;
                for (Index n = 0; n < values.size(); ++n) values[n] = 7;
                Trace dump;
                dump.add<double>(stage.name, values);
                const Comparison comparison = compare(range.sharp, dump);
                REQUIRE(comparison.first());
                INFO(way.how << ", " << stage.name);
                CHECK_FALSE(
                    whole_pass_behind({range.sharp, dump, range.model, range.segments}, comparison, *comparison.first())
                        .found);
            }
        } catch (const NotEnough&) {  // not with this input
        }
    CHECK(seen > 0);
}

TEST_CASE("whole pass: stages that the reference lacks are compared with the model's own", "[kit]") {
    const Range& range = recorded("hf_txl_word_clusters");  // whose recorded trace holds few stages
    const RightPass right = RightPass::of(range.model, range.segments, Dialect::hf);
    const Trace port = mistaken_pass(right, mistake_of(68).variants.front()).trace;  // u and v exchanged
    TracePair pair{range.recorded, port};
    pair.model = range.model;
    pair.segments = range.segments;
    const std::string ac = "segment.0.layer.0.ac";
    REQUIRE_FALSE(range.recorded.find(ac));
    CaseReport report = judge_pair(pair);
    INFO(pair_text(report));
    CHECK(report.filled > range.recorded.names().size());
    REQUIRE(report.first);
    CHECK(report.first->name == ac);
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->mistake == 68);
    CHECK_THAT(pair_text(report), Catch::Contains(" stages that the reference does not hold are compared with what "
                                                  "Locus computes, whose other stages are the reference's\n"));
    // Without the inputs nobody knows what they would be, and no stage that is right is blamed.
    pair.segments.clear();
    report = judge_pair(pair);
    CHECK(report.filled == 0);
    CHECK_THAT(report.diagnosis->pattern,
               Catch::Contains("so the mistake lies in what it is made of, such as segment.0.layer.0.") &&
                   Catch::EndsWith(", which the reference does not hold"));
    // A reference of another model is not filled.
    Trace other;
    for (const Stage& stage : range.recorded.stages()) {
        Stage moved = stage;
        if (auto* values = std::get_if<Tensor<double>>(&moved.values))
            for (Index n = 0; n < values->size(); ++n) (*values)[n] += 0.5;
        other.add(moved);
    }
    pair.reference = other;
    pair.segments = range.segments;
    CHECK(judge_pair(pair).filled == 0);
}

// What must have no name, and what is told by more than one stage.

namespace {

/// What is said of a port that makes `way` in a whole pass of a recorded case, and dumps what `globs` keep of it in
/// float.
CaseReport said_of(Family family, const std::string& name, const Variant& way, const std::string& globs) {
    const Range& range = several_range(family, name);
    const RightPass right = RightPass::of(range.model, range.segments, Dialect::hf);
    Trace port;
    const Trace kept = toy::only(mistaken_pass(right, way).trace, globs);
    for (const Stage& stage : kept.stages()) {
        const auto* values = std::get_if<Tensor<double>>(&stage.values);
        if (!values) {
            port.add(stage);
            continue;
        }
        Tensor<float> single(values->shape());
        for (Index n = 0; n < single.size(); ++n) single[n] = static_cast<float>((*values)[n]);
        port.add(stage.name, std::move(single));
    }
    TracePair pair;
    pair.reference = right.trace;
    pair.candidate = port;
    pair.model = range.model;
    pair.segments = range.segments;
    pair.dialect = Dialect::hf;
    return judge_pair(pair);
}

}  // namespace

TEST_CASE("whole pass: a stage of nothing but NaN is no mistake's", "[kit][several]") {
    const Variant nothing{"", {{"/mlm.logits", {"/mlm.transform"}, [](const Replay& at) {
                                    return mapped(at.right("/mlm.logits"), [](double) { return std::nan(""); });
                                }}}};
    for (const char* globs : {"mlm.logits", "layer.1.output,mlm.logits"}) {
        const CaseReport report = said_of(Family::roformer, "hf_roformer_mask3d", nothing, globs);
        REQUIRE(report.diagnosis);
        CHECK_FALSE(report.diagnosis->named);
    }
}

TEST_CASE("whole pass: probabilities that are not mixed over heads are no sum in float", "[kit][several]") {
    const Variant unmixed{"", {{"probs_mixed", {"probs"}, [](const Replay& at) { return at("probs"); }}}};
    for (const char* globs : {"mlm.logits", "*.context", "*.output"}) {
        const CaseReport report = said_of(Family::deberta, "hf_deberta_v1_talking_head", unmixed, globs);
        REQUIRE(report.diagnosis);
        CHECK_FALSE(report.diagnosis->named);
    }
}

TEST_CASE("whole pass: a way that changes both streams of XLNet is told from one that changes the first",
          "[kit][several]") {
    const Variant& exchanged = mistake_of(73).variants.at(2);
    const CaseReport report = said_of(Family::xlnet, "hf_xlnet_order_3241", exchanged, "*");
    REQUIRE(report.diagnosis);
    REQUIRE(report.diagnosis->named);
    CHECK(report.diagnosis->named->way == &exchanged);
    CHECK(report.all->repaired == Repaired::yes);
}

TEST_CASE("whole pass: a target that stands for no token says nothing about queries that see no key",
          "[kit][several]") {
    const Range& range = several_range(Family::xlnet, "hf_xlnet_bi");
    const RightPass right = RightPass::of(range.model, range.segments, Dialect::hf);
    // With input_mask inverted a text without padding sees nothing; transformers attends evenly there.
    const MistakenPass wrong = mistaken_pass(right, mistake_of(72).variants.at(5));
    const Tensor<double> before = widened(right.trace.at("layer.0.g.probs")),
                         after = widened(wrong.trace.at("layer.0.g.probs"));
    Index unused = 0;
    for (Index row = 0; row < before.rows().rows(); ++row) {
        const double sum = before.rows().row(row).sum();
        unused += sum == 0;
        INFO("row " << row);
        CHECK(std::abs(after.rows().row(row).sum() - sum) <= 1e-12);
    }
    CHECK(unused > 0);
    CHECK(largest_difference(before, after) > 0.1);
}

}  // namespace locus::test::test_whole_pass
