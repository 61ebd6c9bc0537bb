// Gradients in a kit: cases that say who computed what, names that are known, and a report that names the mistake.
#include <catch2/catch.hpp>

#include "core/conformance/kit/case.h"
#include "core/conformance/kit/first_divergence.h"
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

TEST_CASE("kit gradients: seven attentions and a model, and who computed which stage", "[kit][gradients]") {
    std::size_t size = 0;
    for (const char* id : {"L1/grad_t5_k7", "L1/grad_t11_k3", "L1/grad_q4_k13_b6", "L1/grad_rope", "L1/grad_rope_value",
                           "L1/grad_txl", "L1/grad_txl_same_length", "L3/grads_deberta_model"}) {
        INFO(id);
        const nlohmann::json json = case_json(id);
        const auto by_locus = json["source"]["computed_by_locus"].get<std::vector<std::string>>();
        const Trace reference = reference_of(KitFixture::one(id));
        CHECK_FALSE(by_locus.empty());
        for (const std::string& name : by_locus) CHECK(reference.find(name));
        // No parameter's gradient and no gradient of q is Locus' own.
        for (const std::string& name : by_locus)
            CHECK((!name.starts_with("grad.") || name.ends_with(".probs") || name.ends_with(".scores")));
        for (const auto& entry : fs::recursive_directory_iterator(KitFixture::one(id).folder))
            if (entry.is_regular_file()) size += entry.file_size();
    }
    CHECK(size < 1'000'000);
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
