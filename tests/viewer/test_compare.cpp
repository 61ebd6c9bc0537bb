// What the Compare page opens on really shows what it says, and its worker answers for every kind of side.
#include <catch2/catch.hpp>
#include <chrono>

#include "core/io/safetensors.h"
#include "tests/max_abs.h"
#include "tests/run_program.h"
#include "viewer/data/deberta_session.h"
#include "viewer/plots/difference.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/state/state.h"

namespace locus::test::test_compare {

namespace {

CompareAnswer compared(const CompareState& state, const std::string& text = State().text) {
    static const DebertaSession session("tiny-v3");
    Request request;
    request.text = text;
    request.compare = state.request();
    const auto answer = session.answer(request);
    REQUIRE(answer->error.empty());
    return answer->compare;
}

Difference difference(const CompareAnswer& answer, Index head) {
    return difference_of(matrix_of(answer.a, 0, head), matrix_of(answer.b, 0, head), answer.allowed);
}

}  // namespace

TEST_CASE("compare: the page opens where paper and code part: off the diagonal of p2c", "[viewer][compare]") {
    const State state;
    const CompareAnswer answer = compared(state.compare);
    REQUIRE(answer.error.empty());
    CHECK(answer.stage == "layer.0.p2c");
    const Matrix<double> code = matrix_of(answer.a, 0, state.compare.head);
    const Matrix<double> paper = matrix_of(answer.b, 0, state.compare.head);
    const Index length = code.rows();
    const Difference found = difference(answer, state.compare.head);
    CHECK(found.outside == length * (length - 1));
    CHECK(where_outside(code, paper, answer.allowed) == "every cell off the diagonal differs and the diagonal agrees");
}

TEST_CASE("compare: what both dialects share agrees, and f32 is f64 up to rounding but not to the last bit",
          "[viewer][compare][law]") {
    CompareState state;
    state.stage = "layer.0.c2p";
    CompareAnswer answer = compared(state);
    CHECK(difference(answer, 0).largest == 0);
    state = {};
    state.b = {"", Dialect::official, true};
    answer = compared(state);
    CHECK(std::string(answer.b.dtype()) == "F64");
    CHECK(difference(answer, 3).outside == 0);
    CHECK(difference(answer, 3).largest > 0);
    // The bound is some hundred roundings of float32, not a number that anything would pass.
    CHECK(answer.allowed < 1e3 * 6e-8 * max_abs(matrix_of(answer.a, 0, 3)));
}

TEST_CASE("compare: B may stand in another layer", "[viewer][compare]") {
    CompareState state;
    state.b = {"", Dialect::official, false, 1};
    state.stage = "layer.0.probs";
    const CompareAnswer answer = compared(state);
    CHECK(answer.a.name == "layer.0.probs");
    CHECK(answer.b.name == "layer.1.probs");
    CHECK(difference(answer, 0).outside > 0);
}

TEST_CASE("compare: a stage that is not there gives way to the nearest one", "[viewer][compare]") {
    CHECK(nearest_stage("layer.9.p2c", {"layer.0.q", "layer.0.p2c"}) == "layer.0.p2c");
    CHECK(nearest_stage("layer.0.p2c", {"layer.1.q", "layer.1.scores"}) == "layer.1.scores");
    CHECK(nearest_stage("layer.0.p2c", {"embeddings.output"}) == "embeddings.output");
    CHECK(nearest_stage("layer.0.p2c", {}).empty());
    CHECK(nearest_stage("layer.0.p2c", {"layer.0.p2c.raw", "layer.1.p2c", "layer.0.p2c"}) == "layer.0.p2c");
    CHECK(common_stages({"layer.0.scores", "layer.0.c2c", "layer.0.q"}, {"layer.0.q", "layer.0.scores", "layer.0.c2c"},
                        -1, -1) == std::vector<std::string>{"layer.0.q", "layer.0.c2c", "layer.0.scores"});
    CHECK(stages_without_tokens({"layer.0.q", "layer.0.k_r", "layer.0.p2c", "mlm.loss", "somebody.else"}) ==
          std::vector<std::string>{"layer.0.k_r"});
    CHECK(common_stages({"layer.0.q", "layer.1.q", "mlm.logits"}, {"layer.0.q", "mlm.logits"}, -1, 0) ==
          std::vector<std::string>{"layer.0.q", "layer.1.q", "mlm.logits"});
    CHECK(common_stages({"mlm.logits", "layer.0.q"}, {"layer.0.q"}, -1, -1) == std::vector<std::string>{"layer.0.q"});
}

TEST_CASE("compare: dumps, their tokens, and one sentence where they do not fit", "[viewer][compare]") {
    const TemporaryFolder folder;
    const auto dump = [&](const char* name, const Shape& shape) {
        Trace trace;
        Tensor<double> values(shape);
        for (Index n = 0; n < values.size(); ++n) values[n] = static_cast<double>(n);
        trace.add("layer.0.probs", std::move(values));
        write_trace(folder / name, trace, {{"tokens", "[[7,8],[9,10]]"}});
        return (folder / name).string();
    };
    CompareState state;
    state.a = {dump("a.safetensors", {2, 1, 2, 2})};
    state.b = {dump("b.safetensors", {2, 1, 2, 2})};
    CompareAnswer answer = compared(state);
    CHECK(answer.error.empty());
    CHECK(answer.stage == "layer.0.probs");  // the only one
    CHECK(answer.tokens == std::vector<std::vector<std::string>>{{"7", "8"}, {"9", "10"}});
    CHECK(answer.stages == std::vector<std::string>{"layer.0.probs"});

    // Another shape under the same name, a second later: it is read again.
    const fs::file_time_type before = fs::last_write_time(state.b.file);
    fs::last_write_time(dump("b.safetensors", {1, 2, 2, 2}), before + std::chrono::seconds(1));
    answer = compared(state);
    CHECK(answer.error.find("[2, 1, 2, 2]") != std::string::npos);
    CHECK(answer.error.find("[1, 2, 2, 2]") != std::string::npos);
    fs::last_write_time(dump("b.safetensors", {1, 1, 2, 2}), before + std::chrono::seconds(2));
    answer = compared(state);
    CHECK(answer.error.find("[2, 1, 2, 2]") != std::string::npos);
    CHECK(answer.error.find("b.safetensors") != std::string::npos);
    // What a report judged is shown or refused, never something else in its place.
    Request exactly;
    exactly.text = State().text;
    exactly.compare = CompareRequest{state.a, state.a, "layer.3.probs", true};
    const auto refused = DebertaSession("tiny-v3").answer(exactly);
    CHECK_THAT(refused->compare.error, Catch::Contains("layer.3.probs") && Catch::Contains("the report"));
    state.b = {(folder / "gone.safetensors").string()};
    answer = compared(state);
    CHECK(answer.error.find("gone.safetensors: no such file") != std::string::npos);
    CHECK(answer.fault == Fault::unreadable);
    CHECK_THROWS_WITH(open_dump(folder.path()), Catch::Contains("is a folder"));
    CHECK_THROWS_WITH(require_stage(open_dump(folder / "a.safetensors"), "layer.7.q", "the report r.json"),
                      Catch::Contains("layer.7.q") && Catch::Contains("r.json") && Catch::Contains("a.safetensors"));
}

TEST_CASE("compare: a jump starts at the worst cell, goes on from where it left us, and starts anew elsewhere",
          "[viewer][compare]") {
    Matrix<double> a = Matrix<double>::Zero(2, 2), b = a;
    a(0, 1) = 3;
    a(1, 0) = 2;
    CompareState state;
    CHECK(state.jump(a, b, {1, 1}) == Cell{0, 1});
    CHECK(state.jump(a, b, {0, 1}) == Cell{1, 0});
    CHECK(state.jump(a, b, {1, 0}) == Cell{0, 1});
    CHECK(state.jump(a, b, {0, 0}) == Cell{0, 1});
    CHECK_FALSE(state.jump(b, b, {0, 0}));
    state.jump(a, b, {1, 1});
    state.open_stage("layer.1.q");
    CHECK(state.jump(a, b, {0, 1}) == Cell{0, 1});  // another stage: from its worst cell on
}

TEST_CASE("compare: stages and layers step inside their lists", "[viewer][compare]") {
    CompareState state;
    const std::vector<std::string> stages = {"layer.2.c2p", "layer.2.p2c", "layer.2.scores"};
    state.stage = "layer.2.p2c";
    state.view = {1, 1, 4};
    state.step_stage(stages, 1);
    CHECK(state.stage == "layer.2.scores");
    CHECK(state.view.fits_all());
    state.step_stage(stages, 1);
    CHECK(state.stage == "layer.2.scores");
    state.step_stage(stages, -5);
    CHECK(state.stage == "layer.2.c2p");
    state.step_layer(-9, 4);
    CHECK(state.stage == "layer.0.c2p");
    state.step_layer(9, 4);
    CHECK(state.stage == "layer.3.c2p");
}

}  // namespace locus::test::test_compare
