// Every right formula makes its recorded stage out of the other recorded stages, to rounding.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/conformance/diagnosis/backward_pass.h"
#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/kit/cases.h"
#include "core/io/safetensors.h"
#include "core/training/masked_words.h"
#include "tests/changed_model.h"
#include "tests/conformance/recorded.h"
#include "tests/conformance/toy/mutation.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_formulas {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

const Formula* formula_of(Family family, const std::string& stem) {
    for (const Formula& formula : formulas_of(family))
        if (formula.stem == stem) return &formula;
    return nullptr;
}

/// What DeBERTa's stages follow from is not all here: convolution and talking heads stand between.
bool passes_through_others(const Recorded& recorded, const std::string& scope, const std::string& stem) {
    const auto between = [&](const char* other) {
        return recorded.trace.find(scope + other) && !formula_of(recorded.family(), other);
    };
    return (stem == "output" && between("conv")) || ((stem == "probs" || stem == "context") && between("scores_mixed"));
}

/// Checks every stage that has a formula; returns the names of those that have none.
std::set<std::string> check_formulas(const Recorded& recorded) {
    std::set<std::string> without;
    for (const Stage& stage : recorded.trace.stages()) {
        INFO(recorded.one.name() << " " << stage.name);
        const auto [scope, stem] = scope_and_stem(stage.name);
        if (!formula_of(recorded.family(), stem)) {
            without.insert(stem);
            continue;
        }
        if (passes_through_others(recorded, scope, stem)) continue;
        try {
            CHECK(distance(Replay(recorded.evidence, scope).computed(stem), widened(stage)) <= recorded.allowed(stage));
        } catch (const NotEnough& missing) {
            FAIL_CHECK("lacks " << missing.what);
        }
    }
    return without;
}

/// Another value of its kind: flags flipped, tokens exchanged, numbers moved by a different amount each.
Tensor<double> disturbed(const std::string& stem, Tensor<double> values, Index tokens) {
    for (Index n = 0; n < values.size(); ++n) {
        if (stem == "visible")
            values[n] = 1 - values[n];
        else if (stem == "query_tokens")
            values[n] = values[n] < 1 ? static_cast<double>(tokens - 1) : values[n] - 1;
        else
            values[n] += 0.25 * static_cast<double>(1 + n % 3);
    }
    return values;
}

using Link = std::pair<std::string, std::string>;  // a stage and an input of its formula

/// The links of a formula that matter to a recorded stage.
void note_links(const Recorded& recorded, const Stage& stage, std::set<Link>& mattering) {
    const auto [scope, stem] = scope_and_stem(stage.name);
    const Formula* formula = formula_of(recorded.family(), stem);
    const Replay plain(recorded.evidence, scope);
    for (const std::string& input : formula ? formula->inputs : std::vector<std::string>{}) {
        if (mattering.count({stem, input})) continue;
        try {
            const Tensor<double> other = disturbed(input, plain(input), recorded.evidence.segments.front().length());
            const Replay replay(recorded.evidence, scope, {{input, {}, [&](const Replay&) { return other; }}});
            REQUIRE(replay.touches(stem));
            if (distance(replay.computed(stem), widened(stage)) > 1e-4) mattering.insert({stem, input});
        } catch (const NotEnough&) {  // not of this case: r_k_backward, ef, ...
        } catch (const Error&) {
        }
    }
}

/// Families that share formulas are checked together: some links matter in one of them alone.
void check_links(const std::vector<Family>& families) {
    std::set<Link> mattering;
    std::set<std::string> recorded_stems;
    for (const Family family : families)
        for (const auto& recorded : recorded_cases(family))
            for (const Stage& stage : recorded->trace.stages()) {
                recorded_stems.insert(scope_and_stem(stage.name).second);
                note_links(*recorded, stage, mattering);
            }
    for (const Family family : families)
        for (const Formula& formula : formulas_of(family))
            for (const std::string& input : formula.inputs) {
                INFO(formula.stem << " from " << input);
                if (recorded_stems.count(formula.stem)) CHECK(mattering.count({formula.stem, input}) == 1);
            }
}

}  // namespace

TEST_CASE("formulas: every recorded stage of RoFormer follows from the others", "[kit][oracle]") {
    for (const auto& recorded : recorded_cases(Family::roformer))
        for (const std::string& stem : check_formulas(*recorded)) {
            INFO(stem);
            CHECK((stem == "/mlm.positions" || stem.ends_with("_at_positions")));
        }
}

TEST_CASE("formulas: every recorded stage of Transformer-XL follows from the others", "[kit][oracle]") {
    for (const auto& recorded : recorded_cases(Family::transformer_xl)) CHECK(check_formulas(*recorded).empty());
}

TEST_CASE("formulas: every recorded stage of XLNet follows from the others, in both streams", "[kit][oracle]") {
    for (const auto& recorded : recorded_cases(Family::xlnet)) CHECK(check_formulas(*recorded).empty());
}

TEST_CASE("formulas: every formula of DeBERTa makes its recorded stage", "[kit][oracle]") {
    for (const auto& recorded : recorded_cases(Family::deberta)) {
        const std::set<std::string> without = check_formulas(*recorded);
        for (const char* stem : {"/relative.index", "/relative.table", "q", "k", "v", "q_r", "k_r", "c2c", "c2p", "p2c",
                                 "scores", "probs", "context", "attention", "ffn_act", "ffn", "output"}) {
            INFO(stem);
            CHECK(without.count(stem) == 0);
        }
    }
}

TEST_CASE("formulas: a stage changes with every input that its formula names", "[kit]") {
    check_links({Family::roformer});
    check_links({Family::transformer_xl, Family::xlnet});
}

TEST_CASE("formulas: stage names fall into scope and stem", "[kit]") {
    using Pair = std::pair<std::string, std::string>;
    CHECK(scope_and_stem("relative.index") == Pair("", "/relative.index"));
    CHECK(scope_and_stem("segment.1.positions.r") == Pair("segment.1.", "/positions.r"));
    CHECK(scope_and_stem("segment.1.layer.12.bd") == Pair("segment.1.layer.12.", "bd"));
    CHECK(scope_and_stem("layer.0.g.bd") == Pair("layer.0.g.", "bd"));
    CHECK(scope_and_stem("segment.2.memory.1") == Pair("segment.2.layer.1.", "memory"));
    CHECK(scope_and_stem("emd.1.q") == Pair("emd.1.", "q"));
    CHECK(scope_and_stem("emd.query.0") == Pair("", "/emd.query.0"));
}

// Every right formula of DeBERTa makes its recorded stage out of the other recorded stages, or out of few of them.

TEST_CASE("formulas: every stage of a recorded DeBERTa follows from the others", "[kit][oracle]") {
    std::map<std::string, int> checked;
    for (const auto& recorded : recorded_cases(Family::deberta))
        for (const Stage& stage : recorded->trace.stages()) {
            if (stage.name == "mlm.positions") continue;  // given, not computed
            INFO(recorded->one.name() << " " << stage.name);
            const auto [scope, stem] = scope_and_stem(stage.name);
            Tensor<double> found;
            CHECK_NOTHROW(found = Replay(recorded->evidence, scope).computed(stem));
            CHECK(distance(found, widened(stage)) <= recorded->allowed(stage));
            ++checked[scope.substr(0, 4) + stem];
        }
    for (const char* stem :
         {"/embeddings.word", "/embeddings.output", "layeconv", "layeconv_act", "layeoutput_before_conv", "layeoutput",
          "layescores_mixed", "layeprobs_mixed", "/emd.query.0", "emd.q", "emd.k", "emd.attention", "emd.output",
          "/mlm.transform", "/mlm.logits", "/mlm.transform_at_positions", "/mlm.logits_at_positions", "/mlm.loss"}) {
        INFO(stem);
        CHECK(checked[stem] > 0);
    }
}

TEST_CASE("formulas: a stage that nobody reports is computed from those it follows from", "[kit][oracle]") {
    for (const auto& recorded : recorded_cases(Family::deberta)) {
        if (recorded->one.name() != "ms_deberta_v2_conv_emd") continue;
        const std::set<std::string> kept = {"embeddings.word", "layer.0.output_before_conv",
                                            "layer.0.output",  "layer.1.output",
                                            "layer.2.output",  "emd.0.output"};
        Trace sparse;
        for (const Stage& stage : recorded->trace.stages())
            if (kept.contains(stage.name)) sparse.add(stage);
        const Evidence evidence{sparse, sparse, recorded->evidence.model, recorded->evidence.segments,
                                recorded->evidence.dialect};
        for (const char* name : {"embeddings.output", "layer.0.conv_act", "layer.0.output", "layer.0.context",
                                 "emd.1.attention", "emd.1.output"}) {
            INFO(name);
            const Stage& stage = recorded->trace.at(name);
            const auto [scope, stem] = scope_and_stem(name);
            CHECK(distance(Replay(evidence, scope).computed(stem), widened(stage)) <= 4 * recorded->allowed(stage));
        }
    }
}

// Right formulas of a backward pass make the gradients that other people's autograd recorded, and those that follow
// from nothing but the forward formulas.

namespace {

/// A case, and everything that is known of it in one trace.
struct Backward {
    explicit Backward(const CaseContent& content) : id(content.id), family(content.family) {
        for (const Trace* part : {&content.inputs, &content.reference})
            for (const Stage& stage : part->stages()) all.add(stage);
        evidence.family = family;
    }
    Backward(const Backward&) = delete;
    std::string id;
    Family family;
    Trace all;
    Evidence evidence{all, all, nullptr, {}};
};

std::vector<std::unique_ptr<Backward>> attentions() {
    std::vector<std::unique_ptr<Backward>> cases;
    for (const CaseContent& content : gradient_cases(test::kOracle))
        if (content.model.empty()) cases.push_back(std::make_unique<Backward>(content));
    return cases;
}

/// sum(context * grad.layer.0.context), with one stage replaced.
double loss(const Backward& one, const std::string& stem, const Tensor<double>& values) {
    const Replay replay(one.evidence, "layer.0.", {{stem, {}, [&](const Replay&) { return values; }}});
    const Tensor<double>& context = replay("context");
    const Tensor<double>& weights = replay("grad.context");
    double sum = 0;
    for (Index n = 0; n < context.size(); ++n) sum += context[n] * weights[n];
    return sum;
}

}  // namespace

TEST_CASE("gradients: every recorded gradient follows from the forward stages", "[kit][gradients]") {
    std::size_t checked = 0;
    for (const auto& one : attentions())
        for (const Stage& stage : one->all.stages()) {
            if (!stage.name.starts_with("grad.") || stage.name == "grad.layer.0.context") continue;
            INFO(one->id << " " << stage.name);
            // Gradients that nobody gave: those that formulas compute on their way are computed, not looked up.
            Trace forward;
            for (const Stage& other : one->all.stages())
                if (!other.name.starts_with("grad.") || other.name == "grad.layer.0.context") forward.add(other);
            Evidence evidence{forward, forward, nullptr, {}};
            evidence.family = one->family;
            const auto [scope, stem] = scope_and_stem(stage.name);
            const Tensor<double> expected = widened(stage);
            double size = 1;
            for (const double value : expected.values()) size = std::max(size, std::abs(value));
            CHECK(distance(Replay(evidence, scope).computed(stem), expected) <= 1e-12 * size);
            ++checked;
        }
    CHECK(checked == 3 * 7 + 2 * 5 + 2 * 8);
}

TEST_CASE("gradients: central differences of the forward formulas agree", "[kit][gradients]") {
    for (const auto& one : attentions()) {
        if (one->id != "L1/grad_t11_k3" && one->id != "L1/grad_rope_value") continue;
        // The mask is what the forward formulas ask for beside stages.
        ModelInput input;
        input.mask = one->all.at("mask").as<std::int64_t>();
        input.tokens = IndexTensor({input.mask.extent(0), input.mask.extent(1)});
        one->evidence.segments = {input};
        for (const char* stem : {"q", "k", "v", "q_r", "k_r"}) {
            if (!one->all.find(std::string("layer.0.") + stem)) continue;
            const Tensor<double> at = widened(one->all.at(std::string("layer.0.") + stem));
            const Tensor<double> gradient = widened(one->all.at(std::string("grad.layer.0.") + stem));
            for (Index n = 0; n < at.size(); n += 7) {
                const double step = 1e-5;
                Tensor<double> above = at, below = at;
                above[n] += step;
                below[n] -= step;
                INFO(one->id << " " << stem << " " << n);
                CHECK((loss(*one, stem, above) - loss(*one, stem, below)) / (2 * step) ==
                      Approx(gradient[n]).margin(1e-7));
            }
        }
    }
}

namespace {

/// Every gradient of a recorded model by its formula, out of the forward stages and, if `others`, the other gradients.
void check_model_gradients(const GradientRange& range, bool others, double allowed) {
    Trace given;
    for (const Stage& stage : range.known.stages())
        if (others || !stage.name.starts_with("grad.")) given.add(stage);
    const Evidence evidence{given, given, range.model, range.segments};
    for (const Stage& stage : range.content.reference.stages()) {
        if (!stage.name.starts_with("grad.")) continue;
        INFO(range.content.id << " " << stage.name);
        const auto [scope, stem] = scope_and_stem(stage.name);
        CHECK(Replay(evidence, scope).full_name(stem) == stage.name);
        try {
            const Tensor<double> expected = widened(stage), found = Replay(evidence, scope).computed(stem);
            CHECK(distance(found, expected) <= allowed * std::max(1.0, largest_size(expected)));
        } catch (const NotEnough& missing) {
            // Without the other gradients a layer does not know what comes back to it.
            CHECK_FALSE(others);
            CHECK(missing.what.find("grad.") != std::string::npos);
        }
    }
}

}  // namespace

TEST_CASE("gradients: every gradient of a whole model follows from its stages and the other gradients",
          "[kit][gradients]") {
    std::size_t models = 0;
    for (const GradientRange& range : gradient_ranges(test::kOracle)) {
        if (!range.model) continue;
        check_model_gradients(range, true, 1e-12);
        check_model_gradients(range, false, 1e-12);
        ++models;
    }
    CHECK(models == 2);
}

TEST_CASE("gradients: those of a whole pass are those that training computes", "[kit][gradients]") {
    for (const GradientRange& range : gradient_ranges(test::kOracle)) {
        if (!range.model) continue;
        const DebertaConfig& config = range.model->deberta->config();
        const Trace trained = gradient_trace<double>(config, range.model->source, range.segments.front(), {}, {});
        std::size_t same = 0;
        for (const Stage& stage : trained.stages()) {
            const Stage* found = range.content.reference.find(stage.name);
            INFO(range.content.id << " " << stage.name);
            if (!found) continue;
            CHECK(distance(widened(*found), widened(stage)) <= 1e-12 * std::max(1.0, largest_size(widened(stage))));
            ++same;
        }
        CHECK(same > 90);
    }
}

namespace {

/// The backward pass of grads_deberta_model with another value in config.json.
struct ChangedBackwardPass {
    ChangedBackwardPass(const char* field, const nlohmann::json& value) {
        copy_changed(kOracle / "grads_deberta_model/model", folder / "model", {{field, value}});
        model = ModelFolder::open((folder / "model").string());
        for (const GradientRange& range : gradient_ranges(kOracle))
            if (range.content.id.find("grads_deberta_model") != std::string::npos) segments = range.segments;
        REQUIRE(segments.size() == 1);
    }
    Trace trained(Dialect dialect) const {
        return gradient_trace<double>(model->deberta->config(), model->source, segments.front(),
                                      DebertaOptions::of(dialect), {});
    }
    /// By the formulas of each stage.
    Trace step_by_step(Dialect dialect) const {
        RightPass right = RightPass::of(model, segments, dialect);
        add_backward_pass(right, [](const std::string&) { return true; }, {});
        return right.trace;
    }
    TemporaryFolder folder;
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
};

void check_same_gradients(const Trace& trained, const Trace& expected) {
    std::size_t same = 0;
    for (const Stage& stage : trained.stages()) {
        const Stage* found = expected.find(stage.name);
        INFO(stage.name);
        if (!found) continue;
        CHECK(distance(widened(*found), widened(stage)) <= 1e-12 * std::max(1.0, largest_size(widened(stage))));
        ++same;
    }
    CHECK(same > 60);
}

}  // namespace

TEST_CASE("gradients: those of training follow the dialect, and the padding of config.json", "[kit][gradients]") {
    const std::string words = "grad.deberta.embeddings.word_embeddings.weight";
    const auto rows = [&](const Trace& trace) { return Matrix<double>(trace.at(words).as<double>().rows()); };
    SECTION("offsets beyond max_relative_positions") {
        const ChangedBackwardPass pass("max_relative_positions", 6);
        check_same_gradients(pass.trained(Dialect::hf), pass.step_by_step(Dialect::hf));
        CHECK(distance(widened(pass.trained(Dialect::hf).at("grad.layer.1.q")),
                       widened(pass.trained(Dialect::reference).at("grad.layer.1.q"))) > 1e-6);
    }
    SECTION("terms that are counted and not added") {
        const ChangedBackwardPass pass("relative_attention", false);
        check_same_gradients(pass.trained(Dialect::hf), pass.step_by_step(Dialect::hf));
        const Trace right = pass.trained(Dialect::hf);
        const Matrix<double> d_scores = right.at("grad.layer.1.scores").as<double>().rows(),
                             d_c2c = right.at("grad.layer.1.c2c").as<double>().rows();
        CHECK((d_c2c * std::sqrt(3.0 * 4.0) - d_scores).cwiseAbs().maxCoeff() <= 1e-15);
    }
    SECTION("lookups of the padding") {
        const ChangedBackwardPass plain("pad_token_id", 0);
        const std::int64_t token = plain.segments.front().tokens[1];
        REQUIRE(token != 0);
        const ChangedBackwardPass padded("pad_token_id", token), none("pad_token_id", nullptr),
            from_the_end("pad_token_id", token - 37);
        check_same_gradients(padded.trained(Dialect::reference), padded.step_by_step(Dialect::reference));
        check_same_gradients(none.trained(Dialect::reference), none.step_by_step(Dialect::reference));
        const Matrix<double> usual = rows(plain.trained(Dialect::reference)),
                             other = rows(padded.trained(Dialect::reference));
        const Index row = static_cast<Index>(token);
        CHECK((usual - other).row(row).cwiseAbs().maxCoeff() > 1e-6);
        CHECK((usual - other).middleRows(1, row - 1).cwiseAbs().maxCoeff() == 0);
        CHECK(rows(from_the_end.trained(Dialect::reference)) == other);
    }
}

// Replaced-token detection and SiFT: every recorded stage follows from the others by its right formula.

namespace {

/// Checks every stage of the exact trace; returns the names that were checked.
std::set<std::string> check_exactly(const TrainingCase& one) {
    const Trace reference = one.with_noise(one.exact);
    const Evidence evidence{reference, reference, one.model, one.segments, Dialect::official};
    const double allowed = one.json["tolerance_exact"].get<double>();
    std::set<std::string> checked;
    for (const Stage& stage : one.exact.stages()) {
        if (stage.name.starts_with("grad.")) continue;  // of parameters: no formula of a pass
        INFO(one.name << " " << stage.name);
        const auto [scope, stem] = scope_and_stem(stage.name);
        double size = 1;
        for (Index n = 0; n < stage.size(); ++n) size = std::max(size, std::abs(stage.at(n)));
        Tensor<double> found;
        CHECK_NOTHROW(found = Replay(evidence, scope).computed(stem));
        CHECK(distance(found, widened(stage)) <= allowed * size);
        checked.insert(stage.name);
    }
    return checked;
}

}  // namespace

TEST_CASE("formulas: every stage of replaced-token detection follows from the others", "[kit][oracle]") {
    const std::set<std::string> checked = check_exactly(training_case("ms_rtd"));
    for (const char* stage : {"rtd.norm", "rtd.transform", "rtd.logits", "rtd.labels", "rtd.loss", "layer.1.output"})
        CHECK(checked.count(stage) == 1);
}

TEST_CASE("formulas: every stage of SiFT follows from the others, its gradient too", "[kit][oracle]") {
    const std::set<std::string> checked = check_exactly(training_case("ms_sift"));
    for (const char* stage : {"xhat", "delta0", "logits_clean", "logits0", "loss0", "grad", "delta", "logits", "loss"})
        CHECK(checked.count(std::string("sift.") + stage) == 1);
}

TEST_CASE("stages: those of SiFT are described, stand in the order of a pass, and no other name is known", "[stages]") {
    for (const char* name : {"ms_rtd", "ms_sift"}) {
        const TrainingCase one = training_case(name);
        for (const Stage& stage : one.exact.stages()) {
            if (stage.name.starts_with("grad.")) continue;
            INFO(stage.name);
            const auto known = describe_stage(stage.name);
            REQUIRE(known);
            CHECK(known->axes.size() == stage.shape().size());
            CHECK_FALSE(known->formula.empty());
            CHECK_FALSE(known->source.empty());
        }
    }
    CHECK(stage_comes_before("sift.xhat", "sift.delta0"));
    CHECK(stage_comes_before("sift.grad", "sift.delta"));
    CHECK(stage_comes_before("sift.loss0", "sift.grad"));
    CHECK_FALSE(describe_stage("sift.detla"));
    CHECK_FALSE(describe_stage("sift."));
    CHECK_FALSE(describe_stage("rtd.label"));
}

}  // namespace locus::test::test_formulas
