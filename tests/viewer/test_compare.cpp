// Two matrices: figures, and the order of the worst cells.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "core/io/safetensors.h"
#include "tests/max_abs.h"
#include "tests/run_program.h"
#include "viewer/data/deberta_session.h"
#include "viewer/plots/difference.h"
#include "viewer/plots/stage_slice.h"
#include "viewer/state/state.h"

namespace locus::test::test_compare {

namespace {

Matrix<double> matrix(Index rows, Index cols, std::initializer_list<double> values) {
    Matrix<double> filled(rows, cols);
    std::copy(values.begin(), values.end(), filled.data());
    return filled;
}

Matrix<double> random_matrix(Index rows, Index cols, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Matrix<double> filled(rows, cols);
    for (Index n = 0; n < filled.size(); ++n) filled.data()[n] = normal(generator);
    return filled;
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("difference: a matrix and itself are equal, to the last bit", "[viewer][compare][law]") {
    const Matrix<double> a = random_matrix(5, 7, 1);
    const Difference none = difference_of(a, a, 0);
    CHECK(none.cells == 35);
    CHECK(none.outside == 0);
    CHECK(none.largest == 0);
    CHECK(none.mean == 0);
    CHECK(none.p99 == 0);
    CHECK(none.ulp == 0);
    CHECK(none.cosine == Approx(1));
    CHECK_FALSE(worst_cell(a, a));
    CHECK_FALSE(next_worst(a, a, {2, 3}));
    CHECK(where_outside(a, a, 0).empty());
}

TEST_CASE("difference: figures of four cells by hand", "[viewer][compare]") {
    const Matrix<double> a = matrix(2, 2, {1, 2, 3, 4}), b = matrix(2, 2, {1, 2.5, 1, 4.25});
    const Difference found = difference_of(a, b, 0.3);
    CHECK(found.largest == 2);
    CHECK(found.mean == Approx(2.75 / 4));
    CHECK(found.p99 == 2);
    CHECK(found.outside == 2);
    CHECK(found.ulp == 12582912);  // from 1 to 3: a doubling and a half, 2^23 steps each
    CHECK(found.cosine == Approx(26 / std::sqrt(30.0 * 26.3125)));
    // A cell exactly on the bound is inside.
    CHECK(difference_of(a, b, 0.5).outside == 1);
}

TEST_CASE("difference: p99 is the smallest gap that 99 of 100 cells do not exceed", "[viewer][compare][law]") {
    Matrix<double> gaps(10, 10);
    for (Index n = 0; n < 100; ++n) gaps.data()[n] = static_cast<double>((n * 37) % 100 + 1);
    const Difference found = difference_of(gaps, Matrix<double>::Zero(10, 10), 0);
    CHECK(found.p99 == 99);
    CHECK(found.largest == 100);
}

TEST_CASE("difference: no bad number passes, and none spoils the other figures", "[viewer][compare][law]") {
    const Matrix<double> a = matrix(2, 3, {1, kNaN, 3, kInfinity, 5, kNaN});
    const Matrix<double> b = matrix(2, 3, {1, 2, 3.5, kInfinity, kNaN, kNaN});
    const Difference found = difference_of(a, b, 1e9);
    CHECK(found.not_finite == 4);
    CHECK(found.outside == 4);
    CHECK(found.alike == 2);  // infinity for infinity, NaN for NaN
    CHECK(found.largest == 0.5);
    CHECK(found.mean == 0.25);
    CHECK(std::isfinite(found.cosine));
    CHECK(worst_cell(a, b) == Cell{0, 1});
    // Of nothing but such cells there is no largest gap, and 0 would read as "no difference".
    const Difference none = difference_of(a, Matrix<double>::Constant(2, 3, kNaN), 1e9);
    CHECK(none.outside == 6);
    CHECK(std::isnan(none.largest));
    CHECK(std::isnan(none.mean));
    CHECK(std::isnan(none.p99));
    CHECK(std::isnan(none.ulp));
    CHECK(none.alike == 2);
    // NaN for NaN is no number to pass, and no difference to be found either.
    CHECK(where_outside(a, a, 0).empty());
    CHECK_FALSE(worst_cell(a, a));
    const Matrix<double> nothing = Matrix<double>::Constant(2, 2, kNaN);
    CHECK(where_outside(nothing, nothing, 0).empty());
    CHECK(where_outside(nothing, Matrix<double>::Zero(2, 2), 0) == "every cell differs");
}

TEST_CASE("difference: steps of float32", "[viewer][compare][law]") {
    CHECK(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)) == 1);
    CHECK(ulp_distance(-1.0f, std::nextafter(-1.0f, 2.0f)) == 1);
    CHECK(ulp_distance(0.0f, -0.0f) == 0);
    const float tiny = std::numeric_limits<float>::denorm_min();
    CHECK(ulp_distance(-tiny, tiny) == 2);
    CHECK(ulp_distance(1.0f, 2.0f) == 8388608);
    CHECK(std::isnan(ulp_distance(1.0f, std::numeric_limits<float>::quiet_NaN())));
    CHECK(ulp_distance(3.0f, 7.0f) == ulp_distance(7.0f, 3.0f));
}

TEST_CASE("difference: jumping visits every cell that differs once, worst first, then starts again",
          "[viewer][compare][law]") {
    Matrix<double> a = random_matrix(6, 4, 2), b = random_matrix(6, 4, 3);
    b(0, 0) = a(0, 0);        // equal: never visited
    a(2, 1) = kNaN;           // the worst of all
    a(3, 3) = b(3, 3) + 0.5;  // two of one size: row by row
    a(5, 0) = b(5, 0) - 0.5;
    std::vector<Cell> visited = {*worst_cell(a, b)};
    CHECK(visited.front() == Cell{2, 1});
    for (int n = 0; n < 22; ++n) visited.push_back(*next_worst(a, b, visited.back()));
    std::set<std::pair<Index, Index>> once;
    double before = kInfinity;
    for (const Cell& cell : visited) {
        const double gap = std::abs(a(cell.i, cell.j) - b(cell.i, cell.j));
        if (std::isfinite(gap)) {
            CHECK(gap <= before);
            before = gap;
        }
        once.insert({cell.i, cell.j});
    }
    CHECK(once.size() == 23);
    CHECK(once.count({0, 0}) == 0);
    CHECK(next_worst(a, b, visited.back()) == visited.front());
    // From a cell that is equal there is nothing worse after it: the worst.
    CHECK(next_worst(a, b, {0, 0}) == visited.front());
}

TEST_CASE("difference: where the wrong cells are", "[viewer][compare]") {
    const Matrix<double> zero = Matrix<double>::Zero(4, 4);
    Matrix<double> off = Matrix<double>::Ones(4, 4), on = zero;
    off.diagonal().setZero();
    on.diagonal().setOnes();
    CHECK(where_outside(off, zero, 0.5) == "every cell off the diagonal differs and the diagonal agrees");
    CHECK(where_outside(on, zero, 0.5) == "only the diagonal differs");
    CHECK(where_outside(Matrix<double>::Ones(4, 4), zero, 0.5) == "every cell differs");
    off(0, 1) = 0;
    CHECK(where_outside(off, zero, 0.5) == "the diagonal agrees everywhere");
    Matrix<double> row = zero;
    row(2, 0) = row(2, 2) = 1;
    CHECK(where_outside(row, zero, 0.5) == "all of them in one row");
    row(1, 1) = 1;
    CHECK(where_outside(row, zero, 0.5).empty());
    CHECK_THROWS_AS(where_outside(zero, Matrix<double>::Zero(4, 3), 0), Error);
    // Only a square has a diagonal worth a word, and one row is no finding where there is no other.
    CHECK(where_outside(matrix(1, 3, {1, 0, 0}), matrix(1, 3, {0, 0, 0}), 0.5).empty());
    CHECK(where_outside(matrix(2, 3, {0, 1, 1, 1, 0, 1}), matrix(2, 3, {0, 0, 0, 0, 0, 0}), 0.5).empty());
    CHECK(where_outside(matrix(2, 3, {1, 0, 0, 0, 1, 0}), matrix(2, 3, {0, 0, 0, 0, 0, 0}), 0.5).empty());
}

// What the Compare page opens on really shows what it says, and its worker answers for every kind of side.

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
    // Labels that would cost the stack to print are none.
    Trace one;
    one.add("layer.0.probs", Tensor<double>({1, 1, 1, 1}));
    const std::string deep = "[[" + std::string(500'000, '[') + std::string(500'000, ']') + "]]";
    write_trace(folder / "deep.safetensors", one, {{"tokens", deep}});
    CHECK(open_dump(folder / "deep.safetensors").tokens.empty());
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

TEST_CASE("difference: steps of float32 are counted up to a million", "[viewer]") {
    CHECK(steps_text(0) == "0");
    CHECK(steps_text(12) == "12");
    CHECK(steps_text(1e6) != "over 1e6");
    CHECK(steps_text(1e6 + 1) == "over 1e6");
    CHECK(steps_text(2.1e9) == "over 1e6");
    CHECK(steps_text(std::numeric_limits<double>::quiet_NaN()) == "NaN");
}

}  // namespace locus::test::test_compare
