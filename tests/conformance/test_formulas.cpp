// Every right formula makes its recorded stage out of the other recorded stages, to rounding.
#include <catch2/catch.hpp>

#include "tests/conformance/recorded.h"

namespace locus::test::test_formulas {

using namespace locus::conformance;

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

}  // namespace locus::test::test_formulas
