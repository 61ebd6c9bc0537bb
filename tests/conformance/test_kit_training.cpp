// Gradients in a kit: cases that say who computed what, names that are known, and a report that names the mistake.
#include <catch2/catch.hpp>
#include <set>

#include "core/conformance/diagnosis/backward_pass.h"
#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/kit/case.h"
#include "core/conformance/kit/first_divergence.h"
#include "core/training/masked_words.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_kit_training {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

const toy::GradientRange& range_of(const std::string& id) {
    static const std::vector<toy::GradientRange> all = toy::gradient_ranges(kOracle);
    for (const toy::GradientRange& range : all)
        if (range.content.id == id) return range;
    FAIL(id);
    return all.front();
}

nlohmann::json case_json(const std::string& id) { return read_json(KitFixture::one(id).folder / "case.json"); }

}  // namespace

TEST_CASE("kit gradients: seven attentions and two models, and who computed which stage", "[kit][gradients]") {
    std::size_t size = 0;
    for (const char* id :
         {"L1/grad_t5_k7", "L1/grad_t11_k3", "L1/grad_q4_k13_b6", "L1/grad_rope", "L1/grad_rope_value", "L1/grad_txl",
          "L1/grad_txl_same_length", "L3/grads_deberta_model", "L3/grads_deberta_model_conv"}) {
        INFO(id);
        const nlohmann::json json = case_json(id);
        const auto by_locus = json["source"]["computed_by_locus"].get<std::vector<std::string>>();
        const Trace reference = reference_of(KitFixture::one(id));
        CHECK_FALSE(by_locus.empty());
        for (const std::string& name : by_locus) CHECK(reference.find(name));
        // No parameter's gradient is Locus' own, and of an attention none of its operands'.
        for (const std::string& name : by_locus) {
            if (!name.starts_with("grad.")) continue;
            if (std::string(id).starts_with("L1/"))
                CHECK((name.ends_with(".probs") || name.ends_with(".scores")));
            else
                CHECK_FALSE(describe_stage(name)->axes.empty());
        }
        for (const auto& entry : fs::recursive_directory_iterator(KitFixture::one(id).folder))
            if (entry.is_regular_file()) size += entry.file_size();
    }
    CHECK(size < 1'200'000);
}

TEST_CASE("kit gradients: a gradient follows from what it is made of", "[kit][gradients]") {
    using Names = std::vector<std::string>;
    const Names known = {"relative.index", "layer.0.q",     "layer.0.k",
                         "layer.0.k_r",    "layer.0.probs", "grad.layer.0.probs"};
    CHECK(depends_of("grad.layer.0.scores", known) == Names{"layer.0.probs", "grad.layer.0.probs"});
    CHECK(depends_of("grad.layer.0.k_r", known) ==
          Names{"layer.0.probs", "grad.layer.0.probs", "layer.0.q", "relative.index"});
    CHECK(depends_of("grad.deberta.encoder.rel_embeddings.weight", {"mlm.logits", "mlm.loss"}) == Names{"mlm.loss"});
    const KitCase& one = KitFixture::one("L1/grad_t5_k7");
    CHECK(one.depends.at("grad.layer.0.q") == Names{"grad.layer.0.scores"});
    CHECK(one.depends.at("grad.layer.0.scores") == Names{"layer.0.probs", "grad.layer.0.probs"});
}

TEST_CASE("kit gradients: right dumps pass, a misspelt gradient is refused with the nearest", "[kit][gradients]") {
    const KitCase& one = KitFixture::one("L1/grad_t11_k3");
    Dump dump;
    dump.trace = toy::run_backward<float>(range_of(one.id), {});
    CHECK(check_case(KitFixture::kit(), one, dump, {}).verdict == Verdict::pass);
    // Gradients of other stages are no mistake.
    dump.trace.add(named("grad.layer.0.c2p", Tensor<double>({1})));
    CHECK(check_case(KitFixture::kit(), one, dump, {}).verdict == Verdict::pass);
    for (const auto& [id, wrong, nearest] : {std::tuple{"L1/grad_t11_k3", "grad.layer.0.krr", "grad.layer.0.k_r"},
                                             {"L1/grad_t11_k3", "grad.q_r", "grad.layer.0.q_r"},
                                             {"L3/grads_deberta_model", "grad.deberta.embeddings.word_embedding.weight",
                                              "grad.deberta.embeddings.word_embeddings.weight"}}) {
        Dump strange;
        strange.trace.add(named(wrong, Tensor<double>({1})));
        const std::string sentence =
            refusal([&] { check_case(KitFixture::kit(), KitFixture::one(id), strange, {}); }, Fault::unsupported);
        INFO(sentence);
        CHECK(sentence.find(wrong) != std::string::npos);
        CHECK(sentence.ends_with(std::string("is ") + nearest));
    }
}

TEST_CASE("kit gradients: the report names the first wrong gradient and the mistake", "[kit][gradients]") {
    for (const auto& [id, injected, first] :
         {std::tuple{"L1/grad_t11_k3", toy::Injection{78, 0}, "grad.layer.0.k_r"},
          {"L1/grad_t5_k7", toy::Injection{38, 1}, "grad.layer.0.scores"},
          {"L1/grad_rope", toy::Injection{38, 0}, "grad.layer.0.scores"},
          {"L1/grad_txl", toy::Injection{79, 2}, "grad.layer.0.bias.v"},
          {"L1/grad_t11_k3", toy::Injection{79, 0}, "grad.layer.0.q_r"},
          {"L3/grads_deberta_model", toy::Injection{53, 1}, "grad.deberta.embeddings.word_embeddings.weight"}}) {
        INFO(id << " " << injected.mistake);
        Dump dump;
        dump.trace = toy::run_backward<double>(range_of(id), injected);
        const CaseReport report = check_case(KitFixture::kit(), KitFixture::one(id), dump, {});
        CHECK(report.verdict == Verdict::fail);
        REQUIRE(report.first);
        CHECK(report.first->name == first);
        REQUIRE(report.diagnosis);
        REQUIRE(report.diagnosis->named);
        CHECK(report.diagnosis->named->mistake == injected.mistake);
    }
}

// Whole models: everything a port that trains may get wrong on its way back.

namespace {

const char* const kModels[] = {"L3/grads_deberta_model", "L3/grads_deberta_model_conv"};

bool is_of_models(const Injection& injected) { return injected.mistake == 53 || injected.mistake >= 136; }

}  // namespace

TEST_CASE("kit gradients: a right port of a whole model passes, whatever it reports", "[kit][gradients]") {
    for (const char* id : kModels)
        for (const char* globs : {"*", "grad.*", "grad.deberta.*,grad.lm_predictions.*", "grad.*.output"}) {
            INFO(id << " " << globs);
            CHECK(check_one(id, toy::only(run_backward<float>(range_of(id), {}), globs)).verdict == Verdict::pass);
            CHECK(check_one(id, toy::only(run_backward<double>(range_of(id), {}), globs)).verdict == Verdict::pass);
        }
}

TEST_CASE("kit gradients: of a whole dump everything that is wrong follows from the mistake that is named",
          "[kit][gradients][mutation]") {
    for (const InjectedMistake& known : injected_gradient_mistakes()) {
        if (!is_of_models(known.injected)) continue;
        for (const char* id : kModels) {
            INFO(id << ": mistake " << known.injected.mistake << ", " << known.what);
            const CaseReport report = check_one(id, run_backward<double>(range_of(id), known.injected));
            if (report.verdict == Verdict::pass) continue;  // this model does not show it
            REQUIRE(report.diagnosis);
            REQUIRE(report.diagnosis->named);
            CHECK(report.diagnosis->named->mistake == known.injected.mistake);
            // Of dS, whose rows sum to 0, positions alone leave the bias of keys nothing but rounding, which has no
            // name.
            if (known.injected.is(141, 5)) continue;
            CHECK(report.all->repaired == Repaired::yes);
            for (const WrongStage& stage : report.all->stages) {
                INFO(stage.stage);
                REQUIRE(stage.diagnosis.named);
                CHECK(stage.diagnosis.named->mistake == known.injected.mistake);
            }
        }
    }
}

TEST_CASE("kit gradients: gradients of parameters alone name a mistake made anywhere in the pass",
          "[kit][gradients][mutation]") {
    for (const auto& [number, variant] :
         {std::pair{136, 4}, {137, 3}, {138, 3}, {139, 0}, {140, 1}, {140, 7}, {141, 0}, {142, 0}, {143, 0}, {53, 0}}) {
        INFO("mistake " << number << ", variant " << variant);
        const std::string globs = "grad.deberta.*,grad.lm_predictions.*";
        const Trace dump = toy::only(run_backward<float>(range_of(kModels[0]), {number, variant}), globs);
        const CaseReport report = check_one(kModels[0], dump);
        REQUIRE(report.diagnosis);
        REQUIRE(report.diagnosis->named);
        CHECK(report.diagnosis->named->mistake == number);
        CHECK(report.all->repaired == Repaired::yes);
    }
}

TEST_CASE("pairs: two mistakes of a backward pass are both named, although nobody reports the forward pass",
          "[kit][gradients][mutation]") {
    const GradientRange& range = range_of(kModels[0]);
    TracePair pair;
    pair.model = range.model;
    pair.segments = range.segments;
    const Trace reference =
        gradient_trace<double>(range.model->deberta->config(), range.model->source, range.segments.front(), {}, {});
    const Trace wrong = toy::only(run_backward<double>(range, {138, 3, {{140, 1}}}), "grad.*");
    pair.reference = reference;
    pair.candidate = wrong;
    const CaseReport report = judge_pair(pair);
    std::set<int> named;
    for (const WrongStage& stage : report.all->stages)
        if (stage.diagnosis.named) named.insert(stage.diagnosis.named->mistake);
    CHECK(named == std::set<int>{138, 140});
    CHECK(report.all->repaired == Repaired::yes);
}

TEST_CASE("pairs: gradients beside those of locus trace are judged without the forward pass",
          "[kit][gradients][mutation]") {
    for (const char* id : kModels) {
        const GradientRange& range = range_of(id);
        TracePair pair;
        pair.model = range.model;
        pair.segments = range.segments;
        const Trace reference =
            gradient_trace<double>(range.model->deberta->config(), range.model->source, range.segments.front(), {}, {});
        pair.reference = reference;
        CHECK_FALSE(reference.find("emd.1.output"));
        const Trace right = toy::only(run_backward<double>(range, {}), "grad.*");
        pair.candidate = right;
        CHECK(judge_pair(pair).verdict == Verdict::pass);
        for (const auto& [number, variant] : {std::pair{137, 0}, {138, 1}, {139, 4}, {140, 0}, {140, 10}, {142, 1}})
            for (const char* globs : {"grad.*", "grad.*.output,grad.deberta.*"}) {
                INFO(id << " " << globs << ": mistake " << number);
                const Trace wrong = toy::only(run_backward<double>(range, {number, variant}), globs);
                pair.candidate = wrong;
                const CaseReport report = judge_pair(pair);
                REQUIRE(report.diagnosis);
                REQUIRE(report.diagnosis->named);
                CHECK(report.diagnosis->named->mistake == number);
                CHECK(report.all->repaired == Repaired::yes);
            }
    }
}

TEST_CASE("pairs: beside a wrong forward pass gradients wait, and get no name of their own", "[kit][gradients]") {
    const GradientRange& range = range_of(kModels[0]);
    const RightPass forward = RightPass::of(range.model, range.segments, Dialect::reference);
    RightPass both = forward;
    add_backward_pass(both, [](const std::string&) { return true; }, {});
    const Trace wrong = mistaken_pass(forward, mistake_of(26).variants.front()).trace;
    const auto judged = [&](const Trace& pass) {
        Trace port;
        for (const Stage& stage : pass.stages()) port.add(stage);
        for (const Stage& stage : both.trace.stages()) {
            if (!stage.name.starts_with("grad.")) continue;
            const bool doubled = stage.name == "grad.layer.0.k" || stage.name == "grad.layer.1.c2p";
            port.add<double>(stage.name,
                             mapped(widened(stage), [&](double value) { return doubled ? 2 * value : value; }));
        }
        TracePair pair;
        pair.reference = both.trace;
        pair.candidate = port;
        pair.model = range.model;
        pair.segments = range.segments;
        return judge_pair(pair);
    };
    const CaseReport behind_wrong = judged(wrong);
    REQUIRE(behind_wrong.diagnosis->named);
    CHECK(behind_wrong.diagnosis->named->mistake == 26);
    for (const WrongStage& stage : behind_wrong.all->stages) CHECK_FALSE(stage.stage.starts_with("grad."));
    CHECK(behind_wrong.all->not_judged == std::vector<std::string>{"grad.layer.1.c2p", "grad.layer.0.k"});
    CHECK(behind_wrong.all->repaired == Repaired::unknown);
    CHECK(pair_text(behind_wrong).find("2 gradients are judged when the forward pass is right") != std::string::npos);
    const CaseReport behind_right = judged(forward.trace);
    CHECK(behind_right.all->stages.size() == 2);
    CHECK(behind_right.all->not_judged.empty());
}

TEST_CASE("kit gradients: under another dialect the backward pass is that of its forward pass", "[kit][gradients]") {
    for (const char* id : kModels) {
        const KitCase& one = KitFixture::one(id);
        const Trace hf = reference_under(KitFixture::kit(), one, Dialect::hf), own = reference_of(one);
        // Hugging Face has no mask decoder: the last layer gives what the head reads, and has a gradient.
        const std::string last = id == std::string(kModels[0]) ? "grad.layer.2.output" : "grad.layer.1.output";
        CHECK(hf.find(last));
        CHECK_FALSE(own.find(last));
        CHECK_FALSE(hf.find("grad.emd.1.output"));
        CHECK(hf.find("grad.deberta.encoder.rel_embeddings.weight"));
        CHECK(distance(widened(hf.at("grad.mlm.logits")), widened(own.at("grad.mlm.logits"))) > 0.01);
    }
}

TEST_CASE("kit gradients: a gradient of a model follows from the pass after its stage", "[kit][gradients]") {
    using Names = std::vector<std::string>;
    const KitCase& one = KitFixture::one(kModels[0]);
    CHECK(one.depends.at("grad.mlm.logits") == Names{"mlm.logits"});
    CHECK(one.depends.at("grad.emd.1.output") == Names{"grad.mlm.transform"});
    CHECK(one.depends.at("grad.emd.0.output") == Names{"grad.emd.1.attention", "grad.emd.1.q"});
    CHECK(one.depends.at("grad.layer.1.output") ==
          Names{"grad.emd.query.0", "grad.emd.0.k", "grad.emd.0.v", "grad.emd.1.k", "grad.emd.1.v"});
    CHECK(one.depends.at("grad.layer.0.output") ==
          Names{"grad.layer.1.attention", "grad.layer.1.q", "grad.layer.1.k", "grad.layer.1.v"});
    CHECK(one.depends.at("grad.deberta.encoder.layer.0.output.dense.weight") ==
          Names{"grad.layer.0.ffn", "layer.0.ffn_act"});
    CHECK(one.depends.at("grad.deberta.encoder.layer.2.output.dense.bias") ==
          Names{"grad.emd.0.ffn", "emd.0.ffn_act", "grad.emd.1.ffn", "emd.1.ffn_act"});
    CHECK(one.depends.at("grad.deberta.encoder.rel_embeddings.weight") == Names{"grad.relative.table"});
    const KitCase& other = KitFixture::one(kModels[1]);
    CHECK(other.depends.at("grad.layer.0.ffn") ==
          Names{"grad.layer.0.output_before_conv", "layer.0.ffn", "layer.0.attention"});
    CHECK(other.depends.at("grad.embeddings.output") ==
          Names{"grad.layer.0.attention", "grad.layer.0.q", "grad.layer.0.k", "grad.layer.0.v", "grad.layer.0.conv"});
}

// Replaced tokens and SiFT as a porter meets them: dumps of the kit's cases, in both precisions.

namespace {

CaseReport checked(const std::string& name, const Trace& candidate) {
    Dump dump;
    for (const Stage& stage : candidate.stages()) {
        dump.trace.add(stage);
        dump.stored[stage.name] = stage.dtype();
    }
    const Kit& kit = test::KitFixture::kit();
    return check_case(kit, test::KitFixture::one("L3/" + name), dump, {});
}

}  // namespace

TEST_CASE("kit: dumps of replaced tokens and SiFT pass, and each injected mistake is named", "[kit][mutation]") {
    const std::vector<TrainingCase> cases = {training_case("ms_rtd"), training_case("ms_sift")};
    for (const TrainingCase& one : cases) {
        CHECK(checked(one.name, run_training<float>(one, {})).verdict == Verdict::pass);
        CHECK(checked(one.name, run_training<double>(one, {})).verdict == Verdict::pass);
    }
    for (const InjectedMistake& known : injected_training_mistakes()) {
        const TrainingCase& one = case_of(cases, known.injected);
        const std::vector<Trace> dumps = {run_training<float>(one, known.injected),
                                          run_training<double>(one, known.injected)};
        for (const Trace& dump : dumps) {
            INFO(known.injected.mistake << ", " << known.what << ", " << dump.stages().front().dtype());
            const CaseReport report = checked(one.name, dump);
            CHECK(report.verdict == Verdict::fail);
            REQUIRE(report.diagnosis);
            REQUIRE(report.diagnosis->named);
            CHECK(report.diagnosis->named->mistake == known.injected.mistake);
        }
    }
}

TEST_CASE("kit: noise that is not cut is wrong in delta0 and is no mistake of the catalogue", "[kit]") {
    const TrainingCase one = training_case("ms_sift");
    const Trace right = run_training<double>(one, {});
    Trace candidate;
    for (const Stage& stage : right.stages())
        candidate.add(stage.name == "sift.delta0" ? test::named(stage.name, one.inputs.at("noise").values) : stage);
    const CaseReport report = checked("ms_sift", candidate);
    REQUIRE(report.first);
    CHECK(report.first->name == "sift.delta0");
    REQUIRE(report.diagnosis);
    CHECK_FALSE(report.diagnosis->named);
    // The right formula was judged: the noise of the case was at hand.
    REQUIRE(report.diagnosis->judged.size() == 1);
    CHECK(report.diagnosis->judged.front().mistake == 0);
    CHECK_FALSE(report.diagnosis->judged.front().fits());
}

TEST_CASE("kit: replaced tokens and SiFT are the same under every dialect, and say sigma and eta", "[kit]") {
    const Kit& kit = test::KitFixture::kit();
    for (const char* id : {"L3/ms_rtd", "L3/ms_sift"})
        for (const Dialect dialect : {Dialect::hf, Dialect::paper, Dialect::reference}) {
            INFO(id << " " << to_string(dialect));
            CHECK(reference_under(kit, test::KitFixture::one(id), dialect).names() == test::KitFixture::one(id).stages);
        }
    CHECK(test::KitFixture::one("L3/ms_sift").config.at("sigma") == 0.01);
    CHECK(test::KitFixture::one("L3/ms_sift").config.at("learning_rate") == 0.1);
    CHECK(test::KitFixture::one("L3/ms_rtd").config.empty());
}

}  // namespace locus::test::test_kit_training
