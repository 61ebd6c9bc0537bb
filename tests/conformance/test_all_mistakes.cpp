// Several mistakes in one port: all are named in one run, none wrongly, and what is left after a repair is said.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/conformance/diagnosis/all_mistakes.h"
#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/formulas/deberta.h"
#include "core/conformance/kit/dump.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/conformance/kit/pair.h"
#include "core/conformance/mistakes/wrong_attention.h"
#include "core/conformance/report/report.h"
#include "core/io/safetensors.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/injected_mistakes.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/conformance/toy/several_mistakes.h"
#include "tests/random_model.h"
#include "tests/run_program.h"
#include "tests/sanitizers.h"

namespace locus::test::test_all_mistakes {

using namespace locus::conformance;
using namespace locus::conformance::toy;

TEST_CASE("all mistakes: a port that makes several at once is named completely, in float and in double",
          "[kit][several]") {
    const SeveralMistakes port = GENERATE(values<SeveralMistakes>(
        {// a first port of DeBERTa in a new framework: no buckets, the paper's p2c, no norm on the table, tanh GELU
         {Family::deberta, "ms_deberta_v3_long", {{16, 0}, {1, 0}, {39, 0}}},
         {Family::deberta, "ms_deberta_v3_emd", {{1, 0}, {39, 0}, {41, 0}, {84, 0}}},
         {Family::deberta, "ms_deberta_v3_emd", {{26, 0}, {32, 0}, {101, 1}}},
         {Family::deberta, "hf_deberta_v1", {{22, 0}, {28, 1}, {25, 0}, {104, 0}}},
         {Family::deberta, "hf_deberta_v2_conv", {{44, 0}, {87, 0}}},
         {Family::roformer, "hf_roformer", {{56, 0}, {27, 0}, {99, 1}}},
         {Family::roformer, "hf_roformer", {{89, 0}, {102, 2}, {95, 0}}},
         {Family::transformer_xl, "txl_basic", {{65, 0}, {68, 0}, {26, 1}}},
         {Family::xlnet, "hf_xlnet_bi", {{69, 0}, {76, 0}, {39, 0}}},
         // never told that it does not train: dropout everywhere
         {Family::deberta, "hf_deberta_v1", {{37, 3}, {37, 2}, {37, 7}, {37, 8}, {37, 9}}},
         {Family::deberta, "hf_deberta_v2_conv", {{37, 3}, {37, 2}, {37, 7}, {37, 8}, {37, 9}, {37, 10}}},
         {Family::roformer, "hf_roformer", {{37, 2}, {37, 7}, {37, 8}}},
         {Family::transformer_xl, "txl_basic", {{37, 11}, {37, 2}, {37, 7}, {37, 12}, {37, 8}}},
         {Family::xlnet, "hf_xlnet_bi", {{37, 11}, {37, 2}, {37, 7}, {37, 12}, {37, 8}}}}));
    const Range& range = several_range(port.family, port.where);
    std::set<int> made;
    for (const auto& [number, way] : port.ways) made.insert(number);
    const auto check = [&](const Trace& reference, const Trace& candidate) {
        const AllMistakes all = all_of(range, reference, candidate);
        INFO(port.where << "\n" << said(all));
        CHECK(numbers_of(all) == made);
        CHECK(all.repaired == Repaired::yes);
    };
    check(range.recorded, port_with_all<float>(range, port.ways));
    check(range.sharp, port_with_all<double>(range, port.ways));
}

TEST_CASE("all mistakes: of one stage of the first layer alone most mistakes are named, and none wrongly",
          "[kit][several]") {
    for (const std::string only : {"layer.0.probs", "layer.0.output"}) {
        const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
        std::size_t named = 0, caught = 0;
        for (const InjectedMistake& known : injected_mistakes()) {
            if (std::find(known.families.begin(), known.families.end(), Family::deberta) == known.families.end())
                continue;
            const Trace port =
                reported(port_with_all<double>(range, {{known.injected.mistake, known.injected.variant}}), only);
            if (compare(range.sharp, port).pass()) continue;
            ++caught;
            const AllMistakes all = all_of(range, range.sharp, port);
            INFO(only << ", mistake " << known.injected.mistake << " (" << known.what << ")\n" << said(all));
            const WrongStage& stage = all.stages.front();
            CHECK(stage.pair.empty());
            if (!stage.diagnosis.named) continue;
            ++named;
            const auto& same = stage.diagnosis.equivalent;
            CHECK((names(stage.diagnosis.named->mistake, known.injected) ||
                   std::find(same.begin(), same.end(), known.injected.mistake) != same.end()));
        }
        INFO(only << ": " << named << " of " << caught);
        CHECK(caught > 50);
        CHECK(named * 5 >= caught * 4);
    }
}

TEST_CASE("all mistakes: a mistake in every layer is said once and counted", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const AllMistakes all = all_of(range, range.sharp, port_with_all<double>(range, {{1, 0}}));
    INFO(said(all));
    REQUIRE(all.stages.size() == 5);  // three layers, two passes of the decoder
    CHECK(all.stages.front().first_at.empty());
    for (std::size_t n = 1; n < all.stages.size(); ++n) {
        CHECK(all.stages[n].first_at == "layer.0.p2c");
        REQUIRE(all.stages[n].diagnosis.named);
        CHECK(all.stages[n].diagnosis.named->fits());
        REQUIRE(all.stages[n].diagnosis.runner_up);
        CHECK(all.stages[n].diagnosis.runner_up->mistake == 0);
        CHECK(all.stages[n].diagnosis.runner_up->residual > 10 * all.stages[n].diagnosis.named->allowed);
    }
}

TEST_CASE("all mistakes: where tokens become alike a mistake that has a name is not taken for another layout",
          "[kit][several]") {
    const DebertaConfig config = small_config();
    const auto weights = random_weights(config, 5);
    weights->tensors.at("encoder.layer.0.output.LayerNorm.weight").second *= 1e-6;
    const Deberta<float> model(config, weights);
    const ModelInput input = tokens_input({3, 17, 5, 30, 8, 21, 11, 2, 36, 14});
    const StageFilter layers("layer.*,relative.*");
    const Trace right = model.forward(input, DebertaOptions::of(Dialect::reference), layers);
    const Trace port = model.forward(input, DebertaOptions::of(Dialect::paper), layers);
    const Comparison comparison = compare(right, port);
    const auto context = std::find_if(comparison.stages.begin(), comparison.stages.end(),
                                      [](const StageVerdict& each) { return each.name == "layer.1.context"; });
    REQUIRE(context->pass);  // all values of layer 1 are one: whatever it attends to, the context is right
    const AllMistakes all = all_of(several_range(Family::deberta, "ms_deberta_v3_emd"), right, port, false, false);
    INFO(said(all));
    REQUIRE(all.stages.size() == 2);
    CHECK(all.stages[1].stage == "layer.1.p2c");
    CHECK(all.stages[1].saved.empty());
    CHECK(all.stages[1].first_at == "layer.0.p2c");
}

TEST_CASE("all mistakes: a mistake before a stage is counted in every layer, although nobody reports what it changes",
          "[kit][several]") {
    struct Repeated {
        Family family;
        std::string where, stage;
        std::size_t layers;
    };
    const Repeated one = GENERATE(values<Repeated>({{Family::deberta, "hf_deberta_v2_short", "layer.0.output", 2},
                                                    {Family::deberta, "ms_deberta_v3_emd", "layer.0.output", 3},
                                                    {Family::roformer, "hf_roformer", "layer.0.output", 2}}));
    const Range& range = several_range(one.family, one.where);
    const AllMistakes all = all_of(range, range.sharp, port_with_all<double>(range, {{101, 1}}));
    INFO(said(all));
    CHECK(numbers_of(all) == std::set<int>{101});
    for (std::size_t l = 1; l < one.layers; ++l) {
        const WrongStage* again = wrong_at(all, "layer." + std::to_string(l) + ".output");
        REQUIRE(again);
        CHECK(again->first_at == one.stage);
    }
    // What is wrong once for all layers is one mistake, although the index is not reported.
    const Trace port = reported(port_with_all<double>(several_range(Family::deberta, "hf_deberta_v2_short"), {{7, 0}}),
                                "*.c2p,*.p2c,*.scores,*.output,embeddings.*");
    const Range& short_range = several_range(Family::deberta, "hf_deberta_v2_short");
    CHECK(numbers_of(all_of(short_range, short_range.sharp, port)) == std::set<int>{7});
}

TEST_CASE("all mistakes: traces in files are judged as those in memory", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const Trace port = port_with_all<float>(range, {{1, 0}, {16, 0}});
    const TemporaryFolder folder;
    const fs::path right = folder / "right.safetensors", wrong = folder / "wrong.safetensors";
    write_trace(right, range.sharp);
    write_trace(wrong, port);
    TracePair pair{range.sharp, port};
    pair.model = range.model;
    pair.segments = range.segments;
    std::vector<std::string> told;
    pair.compared = [&](const StageVerdict& verdict) { told.push_back(verdict.name); };
    const std::string expected = pair_json(judge_pair(pair));
    CHECK(told.size() > 50);
    CHECK(std::is_sorted(told.begin(), told.end(), stage_comes_before));
    pair.reference = open_trace(right);
    pair.candidate = open_trace(wrong);
    CHECK(pair_json(judge_pair(pair)) == expected);
    CHECK_THAT(expected, Catch::Contains("\"mistake\": 16"));
}

TEST_CASE("all mistakes: files larger than the memory are compared stage by stage", "[kit][several]") {
    if (kSanitized) {
        WARN("skipped: a sanitizer reserves more memory than the limit leaves");
        return;
    }
    const TemporaryFolder folder;
    const Index heads = 4, tokens = 256;
    Trace right, wrong;
    for (int layer = 0; layer < 12; ++layer)
        for (const char* term : {"c2c", "c2p", "p2c", "scores"}) {
            Tensor<float> values({1, heads, tokens, tokens});
            for (Index n = 0; n < values.size(); ++n) values[n] = static_cast<float>((n * 7 + layer) % 1001) - 500;
            const std::string name = "layer." + std::to_string(layer) + "." + term;
            right.add(name, values);
            if (name == "layer.11.c2p") values[12345] += 1;
            wrong.add(name, values);
        }
    write_trace(folder / "right.safetensors", right);
    write_trace(folder / "wrong.safetensors", wrong);
    REQUIRE(fs::file_size(folder / "right.safetensors") > 48'000'000);
    // 40 MB for what a program allocates, of 100 MB in the files.
    const Outcome outcome = run_file(fs::path(LOCUS_BINARY_DIR) / "bin/locus-check",
                                     {(folder / "right.safetensors").string(), (folder / "wrong.safetensors").string()},
                                     "ulimit -d 40000; ");
    INFO(outcome.err);
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.out, Catch::Contains("first wrong stage: layer.11.c2p"));
}

TEST_CASE("all mistakes: what no mistake explains is said, and a repair would not do", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const Trace port = ended_at(with_strange(port_with_all<double>(range, {{1, 0}}), "layer.1.ffn"), "layer.1.ffn");
    const AllMistakes all = all_of(range, range.sharp, port);
    INFO(said(all));
    CHECK(numbers_of(all) == std::set<int>{1});
    CHECK(all.repaired == Repaired::no);
    const auto strange = std::find_if(all.stages.begin(), all.stages.end(),
                                      [](const WrongStage& each) { return each.stage == "layer.1.ffn"; });
    REQUIRE(strange != all.stages.end());
    CHECK_FALSE(strange->explained());
    CHECK_FALSE(strange->diagnosis.pattern.empty());
}

TEST_CASE("all mistakes: stages of which nothing is known are counted, not listed line by line", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    Trace port;
    double seed = 0;
    for (const Stage& stage : range.sharp.stages()) {
        if (!stage.name.ends_with(".output")) continue;
        Stage own = stage;
        if (stage.name != "embeddings.output") {
            Tensor<double>& values = std::get<Tensor<double>>(own.values);
            for (Index n = 0; n < values.size(); ++n) values[n] = std::sin(37 * static_cast<double>(n) + ++seed);
        }
        port.add(own);
    }
    const std::string text = divergence_text(judged(range, port));
    INFO(text);
    CHECK_THAT(text,
               Catch::Contains("    layer.1.output: no mistake of the catalogue explains it; no pattern found\n") &&
                   Catch::Contains("    nor is anything known of layer.2.output, emd.0.output, emd.1.output\n"));
}

namespace {

/// The stages whose names end so in another shape, of as many values.
Trace reshaped(const Trace& made, const std::vector<std::string>& ends,
               const std::function<Shape(const Shape&)>& shape_of) {
    Trace port;
    for (const Stage& stage : made.stages()) {
        Stage own = stage;
        if (auto* values = std::get_if<Tensor<double>>(&own.values))
            if (std::any_of(ends.begin(), ends.end(), [&](const auto& end) { return stage.name.ends_with(end); }))
                own.values = Tensor<double>(shape_of(values->shape()), values->values());
        port.add(own);
    }
    return port;
}

}  // namespace

TEST_CASE("all mistakes: a stage of another shape counts as not reported, and what follows from it is still judged",
          "[kit][several]") {
    const auto flat = [](const Shape& shape) { return Shape{shape[0], shape[2], shape[1] * shape[3]}; };
    const std::vector<std::string> heads = {".q", ".k", ".v", "_rot"};
    for (const auto& [family, where] :
         {std::pair{Family::deberta, "ms_deberta_v3_emd"}, std::pair{Family::roformer, "hf_roformer"},
          std::pair{Family::transformer_xl, "txl_basic"}, std::pair{Family::xlnet, "hf_xlnet_mems"}}) {
        const Range& range = several_range(family, where);
        const std::string layer = range.segments.size() > 1 ? "segment.0.layer.0." : "layer.0.";
        const Trace port = reshaped(port_with_all<double>(range, {{25, 0}}), heads, flat);
        const AllMistakes all = all_of(range, range.sharp, port);
        INFO(where << "\n" << said(all));
        REQUIRE(wrong_at(all, layer + "q"));
        CHECK_THAT(wrong_at(all, layer + "q")->saved,
                   Catch::StartsWith("the right numbers in the right order, but of shape ["));
        CHECK_FALSE(nearest_of(wrong_at(all, layer + "q")->diagnosis));
        CHECK(wrong_at(all, layer + "scores") == nullptr);
        REQUIRE(wrong_at(all, layer + "context"));
        REQUIRE(wrong_at(all, layer + "context")->diagnosis.named);
        CHECK(wrong_at(all, layer + "context")->diagnosis.named->mistake == 25);
        // The same where the reference does not hold them.
        const Trace silent = reported(range.sharp, "*.scores,*.probs,*.context,*.output,embeddings.*");
        CHECK(numbers_of(all_of(range, silent, port)) == std::set<int>{25});
    }
    // A batch of one without its axis.
    const Range& one = several_range(Family::deberta, "hf_deberta_v2_long");
    const auto without_batch = [](const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); };
    const Trace port = reshaped(port_with_all<double>(one, {{39, 0}}),
                                {".q", ".k", ".v", "c2c", "c2p", "p2c", "scores", "probs", "context", "attention",
                                 "ffn_act", "ffn", "output", "word"},
                                without_batch);
    const AllMistakes all = all_of(one, one.sharp, port);
    INFO(said(all));
    CHECK_FALSE(all.stages.empty());
    CHECK(all.repaired != Repaired::yes);
}

TEST_CASE("all mistakes: where none explains a stage the nearest is told, if it is near", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const auto nearest_at = [&](const Trace& port, const std::string& stage) {
        const AllMistakes all = all_of(range, range.sharp, ended_at(port, stage));
        REQUIRE(wrong_at(all, stage));
        CHECK_FALSE(wrong_at(all, stage)->explained());
        return nearest_of(wrong_at(all, stage)->diagnosis);
    };
    const Trace papers = port_with_all<double>(range, {{1, 0}});
    Trace port;  // its p2c, and every value is off a little more
    for (const Stage& stage : papers.stages()) {
        Stage own = stage;
        if (stage.name == "layer.0.p2c") own.values = shaken(std::get<Tensor<double>>(own.values), 0.01);
        port.add(own);
    }
    const auto nearest = nearest_at(port, "layer.0.p2c");
    REQUIRE(nearest);
    CHECK(nearest->mistake.mistake == 1);
    CHECK_FALSE(nearest->mistake.fits());
    REQUIRE(nearest->right_leaves);
    CHECK(*nearest->right_leaves > 10 * nearest->mistake.residual);
    CaseReport report;
    report.comparison = compare(range.sharp, port);
    report.all = all_of(range, range.sharp, port);
    report.diagnosis = report.all->stages.front().diagnosis;
    report.first = ShownStage{"layer.0.p2c", {}, {}, {}, {}};
    CHECK_THAT(explanation_text(report),
               Catch::Contains("  nearest: mistake 1: ") && Catch::Contains(", the right formula leaves "));
    const auto json = case_json(report)["diagnoses"][0]["nearest"];
    CHECK(json["mistake"] == 1);
    CHECK(json["right_leaves"] == *nearest->right_leaves);
    CHECK_FALSE(nearest_at(with_strange(range.sharp, "layer.1.ffn"), "layer.1.ffn"));
}

TEST_CASE("all mistakes: what a memory is made of is not to blame where the segment before reports it right",
          "[kit][several]") {
    const Range& range = several_range(Family::transformer_xl, "txl_basic");
    const Trace port = port_with_all<double>(range, {{70, 2}});
    const Evidence evidence{range.sharp, port, range.model, range.segments};
    const Comparison comparison = compare(range.sharp, port);
    const auto verdict = std::find_if(comparison.stages.begin(), comparison.stages.end(),
                                      [](const StageVerdict& each) { return each.name == "segment.1.layer.1.k"; });
    REQUIRE(verdict != comparison.stages.end());
    const Judge judge(evidence, comparison, *verdict);
    CHECK(judge.contradicted(mistake_of(70), mistake_of(70).variants[0]));
    CHECK_FALSE(judge.contradicted(mistake_of(70), mistake_of(70).variants[2]));
    const AllMistakes all = all_of(range, range.sharp, port);
    INFO(said(all));
    CHECK(numbers_of(all) == std::set<int>{70});
    CHECK(all.repaired == Repaired::yes);
    for (const WrongStage& each : all.stages)
        if (each.diagnosis.named) CHECK(each.diagnosis.named->how == mistake_of(70).variants[2].how);
}

TEST_CASE("all mistakes: a decoder that reads one hidden state too late is one mistake", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const AllMistakes all = all_of(range, range.sharp, port_with_all<double>(range, {{51, 1}}));
    INFO(said(all));
    CHECK(numbers_of(all) == std::set<int>{51});
    CHECK(all.repaired == Repaired::yes);
}

TEST_CASE("all mistakes: the feed-forward part behind a norm that stands in front", "[kit][several]") {
    const Range& range = several_range(Family::transformer_xl, "txl_pre_lnorm");
    for (const int way : {4, 5}) {
        const AllMistakes all = all_of(range, range.sharp, port_with_all<double>(range, {{99, way}}));
        INFO(said(all));
        CHECK(numbers_of(all) == std::set<int>{99});
        CHECK(all.repaired == Repaired::yes);
    }
}

TEST_CASE("all mistakes: the last row of the shift dropped, in both streams", "[kit][several]") {
    const Range& range = several_range(Family::xlnet, "hf_xlnet_bi");
    const Evidence right{range.sharp, range.sharp, range.model, range.segments};
    Trace port;
    for (const Stage& stage : range.sharp.stages()) {
        const auto [scope, stem] = scope_and_stem(stage.name);
        // [B,H,T,2T] as [2T,T], without its last row as [T,2T - 1]: number i (2T - 1) + j.  Targets read their token's
        // row.
        const Replay replay(right, scope, mistake_of(67).variants[2].formulas);
        Stage own = stage;
        if (stem == "bd") own.values = replay.computed(stem);
        port.add(own);
    }
    const std::string last = "the last row is dropped instead of the first";
    CHECK(mistake_of(67).variants[2].how == last);
    const AllMistakes all = all_of(range, range.sharp, port);
    INFO(said(all));
    CHECK(numbers_of(all) == std::set<int>{67});
    CHECK(said(all).find("g.bd") != std::string::npos);
}

namespace {

/// A port whose layers are right and that goes on behind them by `formulas`.
Trace port_behind_the_layers(const Range& range, const std::vector<Formula>& formulas) {
    const Evidence right{range.sharp, range.sharp, range.model, range.segments};
    Trace port;
    for (const Stage& stage : range.sharp.stages()) {
        const auto [scope, stem] = scope_and_stem(stage.name);
        const Replay replay(right, scope, formulas);
        Stage own = stage;
        if (!scope.starts_with("layer.") && replay.touches(stem)) own.values = replay.computed(stem);
        port.add(own);
    }
    return port;
}

}  // namespace

TEST_CASE("all mistakes: a mask decoder in a model whose head reads the last layer", "[kit][several]") {
    for (const char* name : {"hf_deberta_v2_conv", "ms_deberta_biased"}) {
        const Range& range = several_range(Family::deberta, name);
        const Trace port = port_behind_the_layers(range, mistake_of(47).variants.back().formulas);
        const AllMistakes all = all_of(range, range.sharp, port);
        INFO(name << "\n" << said(all));
        CHECK(numbers_of(all) == std::set<int>{47});
        CHECK(all.repaired == Repaired::yes);
        CHECK(all.stages.front().diagnosis.named->how ==
              "two passes in a model without a decoder, whose head reads the last layer");
    }
}

TEST_CASE("all mistakes: another hidden state in the mask decoder is told from another number of passes by the head",
          "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const Variant& late = mistake_of(51).variants[2];
    REQUIRE(late.how == "one too late, in the mask decoder alone");
    const Trace whole = port_behind_the_layers(range, late.formulas);
    Trace port;  // that reports no more than the outputs of its layers and passes, and logits
    for (const Stage& stage : whole.stages())
        if (stage.name.ends_with(".output") || stage.name.starts_with("mlm.logits")) port.add(stage);
    const AllMistakes all = all_of(range, range.sharp, port);
    INFO(said(all));
    CHECK(wrong_at(all, "emd.0.output"));
    CHECK(numbers_of(all) == std::set<int>{51});
}

TEST_CASE("all mistakes: what a mistake would do to unreported stages is dropped where reported ones rule it out",
          "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    // The query alone starts from the last layer; 47 would also have the head read the first of two passes.
    const std::vector<Formula>& way = mistake_of(47).variants[5].formulas;
    const auto query =
        std::find_if(way.begin(), way.end(), [](const Formula& each) { return each.stem == "/emd.query.0"; });
    REQUIRE(query != way.end());
    const Trace port = port_behind_the_layers(range, decoder_of({*query}));
    const AllMistakes all = all_of(range, range.sharp, port);
    INFO(said(all));
    CHECK(wrong_at(all, "emd.query.0"));
    CHECK(wrong_at(all, "mlm.transform") == nullptr);
}

TEST_CASE("all mistakes: dumps in half precision are named by what one step rounds, and never wrongly",
          "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    std::map<std::string, int> names_given;
    for (const InjectedMistake& known : injected_mistakes()) {
        const std::vector<Family>& listed = known.families;
        if (std::find(listed.begin(), listed.end(), Family::deberta) == listed.end()) continue;
        const Trace port = port_with_all<float>(range, {{known.injected.mistake, known.injected.variant}});
        for (const char* dtype : {"F16", "BF16"}) {
            const TemporaryFolder folder;
            write_dump(folder / "dump.safetensors", port, dtype);
            const Dump dump = *read_dump(folder.path(), "dump");
            TracePair pair;
            pair.reference = range.recorded;
            pair.candidate = dump.trace;
            pair.stored = dump.stored;
            pair.model = range.model;
            pair.segments = range.segments;
            const CaseReport report = judge_pair(pair);
            if (!report.diagnosis || !report.diagnosis->named) continue;
            INFO(known.injected.mistake << " " << known.what << ", " << dtype << "\n" << said(*report.all));
            const auto& same = report.diagnosis->equivalent;
            CHECK((names(report.diagnosis->named->mistake, known.injected) ||
                   std::find(same.begin(), same.end(), known.injected.mistake) != same.end()));
            ++names_given[dtype];
        }
    }
    CHECK(names_given["F16"] >= 80);
    INFO(names_given["F16"] << " names of dumps in F16, " << names_given["BF16"] << " in BF16");
    CHECK(names_given["BF16"] >= 40);
}

TEST_CASE("all mistakes: stages that the reference does not know are named, with the nearest it knows",
          "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    Trace port;
    for (const Stage& stage : range.sharp.stages()) {
        Stage own = stage;
        if (stage.name.ends_with(".c2p")) own.name.replace(own.name.size() - 3, 3, "c2_p");
        if (port.stages().empty()) {  // one that is the port's own
            Stage debugged = own;
            debugged.name = "debug.first";
            port.add(std::move(debugged));
        }
        port.add(own);
    }
    TracePair pair;
    pair.reference = range.sharp;
    pair.candidate = port;
    const std::string text = pair_verdicts(judge_pair(pair), std::nullopt);
    CHECK_THAT(text, Catch::Contains("6 stages not in the reference: ") && Catch::Contains("debug.first") &&
                         Catch::Contains("the nearest to layer.0.c2_p is layer.0.c2p"));
}

TEST_CASE("all mistakes: after a mistake in what nobody reports, stages follow from those that are reported",
          "[kit][several]") {
    const Range& range = several_range(Family::transformer_xl, "txl_basic");
    const Trace made = port_with_all<double>(range, {{68, 0}});  // u and v, which no port dumps
    REQUIRE(made.find("segment.0.layer.0.bias.u") == nullptr);
    const AllMistakes all = all_of(range, range.sharp, with_strange(made, "segment.0.layer.0.ffn"));
    INFO(said(all));
    CHECK(numbers_of(all) == std::set<int>{68});
    const WrongStage* strange = wrong_at(all, "segment.0.layer.0.ffn");
    REQUIRE(strange);
    CHECK_FALSE(strange->named());
    // The strange one, which the port does not go on with.
    CHECK(all.repaired == Repaired::yes);
    for (const WrongStage& stage : all.stages) CHECK(stage.saved.empty() == (stage.stage != strange->stage));
}

TEST_CASE("all mistakes: what would make another stage of the layer wrong is not named where that one is right",
          "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const Variant third_row = {"c2p, and no other term, reads the third row after the right one",
                               {c2p_by([](const Replay& at) {
                                   Tensor<double> rows = index_here(at);
                                   const double last = static_cast<double>(at("k_r").extent(1) - 1);
                                   for (Index n = 0; n < rows.size(); ++n) rows[n] = std::min(rows[n] + 3, last);
                                   return rows;
                               })}};
    const MistakenPass port = mistaken_pass({range.model, range.segments, Dialect::reference, range.sharp}, third_row);
    const AllMistakes all = all_of(range, range.sharp, port.trace);
    INFO(said(all));
    REQUIRE(wrong_at(all, "layer.1.c2p"));
    CHECK(wrong_at(all, "layer.1.p2c") == nullptr);
    CHECK(numbers_of(all).empty());
}

TEST_CASE("all mistakes: one mistake is one, whatever follows from it", "[kit][several]") {
    for (const auto& [family, where] : {std::pair{Family::deberta, "ms_deberta_v3_emd"},
                                        {Family::roformer, "hf_roformer"},
                                        {Family::transformer_xl, "txl_basic"}}) {
        const Range& range = several_range(family, where);
        std::size_t completely = 0, all_ports = 0;
        std::string others;
        for (const InjectedMistake& known : injected_mistakes()) {
            const std::vector<Family>& listed = mistake_of(known.injected.mistake).families;
            if (std::find(known.families.begin(), known.families.end(), family) == known.families.end()) continue;
            if (std::find(listed.begin(), listed.end(), family) == listed.end()) continue;  // nothing to name it by
            const Trace port = port_with_all<double>(range, {{known.injected.mistake, known.injected.variant}});
            const Comparison comparison = compare(range.sharp, port);
            if (!comparison.first()) continue;
            const AllMistakes all = all_of(range, range.sharp, port);
            INFO(where << ", mistake " << known.injected.mistake << " (" << known.what << ")\n" << said(all));
            ++all_ports;
            completely += all.repaired == Repaired::yes;
            if (all.repaired != Repaired::yes)
                others += "\n" + std::to_string(known.injected.mistake) + " " + known.what + ": " + said(all);
            for (const WrongStage& stage : all.stages) {
                if (!stage.diagnosis.named) continue;
                const auto& same = stage.diagnosis.equivalent;
                CHECK((names(stage.diagnosis.named->mistake, known.injected) ||
                       std::find(same.begin(), same.end(), known.injected.mistake) != same.end()));
            }
            for (const WrongStage& stage : all.stages) CHECK(stage.pair.empty());
        }
        INFO(where << ": " << completely << " of " << all_ports << others);
        CHECK(completely * 10 >= all_ports * 9);
    }
}

}  // namespace locus::test::test_all_mistakes
