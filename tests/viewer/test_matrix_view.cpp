#include <catch2/catch.hpp>
#include <numeric>

#include "viewer/plots/matrix_view.h"
#include "viewer/plots/stage_slice.h"

namespace locus::test::test_matrix_view {

TEST_CASE("matrix_view: zooming keeps the cell under the pointer", "[viewer]") {
    MatrixView view;
    const double x = 0.25, y = 0.7;
    const double before_j = view.first_j + x * view.shown(100), before_i = view.first_i + y * view.shown(100);
    view.zoom(4, x, y, 100);
    CHECK(view.shown(100) == 25);
    CHECK(view.first_j + x * view.shown(100) == Approx(before_j));
    CHECK(view.first_i + y * view.shown(100) == Approx(before_i));
}

TEST_CASE("matrix_view: never outside the matrix, never fewer than two cells, never more than all", "[viewer]") {
    MatrixView view;
    view.zoom(1000, 0.5, 0.5, 100);
    CHECK(view.shown(100) == 2);
    view.pan(-1000, 1000, 100);
    CHECK(view.first_j == 98);
    CHECK(view.first_i == 0);
    view = {10, 20, 50};
    view.pan(-0.2, 0.1, 100);  // shares of what is shown
    CHECK(view.first_j == 30);
    CHECK(view.first_i == 5);
    view.zoom(0.001, 0.5, 0.5, 100);
    CHECK(view.fits_all());
    CHECK(view.first_j == 0);
}

TEST_CASE("matrix_view: one token has nothing to zoom into", "[viewer]") {
    MatrixView view;
    view.zoom(3, 0.5, 0.5, 1);
    CHECK(view.shown(1) == 1);
    CHECK(view.first_i == 0);
}

TEST_CASE("matrix_view: a shorter text brings the window back inside", "[viewer]") {
    CHECK(MatrixView{0, 0, 80}.shown(50) == 50);
    MatrixView far{90, 90, 20};
    far.reveal(45, 45, 50);
    CHECK(far.first_i == 30);
    CHECK(far.first_j == 30);
    MatrixView view{80, 80, 10};
    view.clamp(50);
    CHECK(view.first_i == 40);
    CHECK(view.first_j == 40);
    view.clamp(8);
    CHECK(view.fits_all());
}

TEST_CASE("matrix_view: a cell outside is brought to the nearest edge", "[viewer]") {
    MatrixView view{10, 10, 5};
    view.reveal(20, 2, 100);
    CHECK(view.first_i == 16);
    CHECK(view.first_j == 2);
    view.reveal(18, 4, 100);  // inside already
    CHECK(view.first_i == 16);
    CHECK(view.first_j == 2);
}

TEST_CASE("matrix_view: a matrix of any shape is revealed cell by cell", "[viewer]") {
    MatrixView view{0, 0, 8};  // of 4 x 32
    view.reveal(Cell{3, 30}, 4, 32);
    // Row 3 covers places 24 to 31, column 30 is place 30.
    CHECK(view.first_i == 24);
    CHECK(view.first_j == 23);
    view.reveal(Cell{0, 30}, 4, 32);
    CHECK(view.first_i == 0);
    CHECK(view.first_j == 23);
    MatrixView wide{0, 0, 12};  // of 32 x 4: column 3 covers places 24 to 31, all of which fit
    wide.reveal(Cell{30, 3}, 32, 4);
    CHECK(wide.first_i == 19);
    CHECK(wide.first_j == 20);
}

// The matrices inside stages of every rank.

namespace {

Stage stage_of(const std::string& name, const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
    std::iota(values.begin(), values.end(), 0.0);
    const auto known = describe_stage(name);
    return {name, known ? known->axes : std::vector<std::string>(), "", "", Tensor<double>(shape, values)};
}

}  // namespace

TEST_CASE("matrices of a stage: ranks 0 to 4, by the axes that the stage names", "[viewer][compare]") {
    CHECK(matrices_of(stage_of("layer.0.p2c", {2, 3, 5, 7})) == StageMatrices{2, 3, 5, 7, "Tq", "Tk"});
    CHECK(matrices_of(stage_of("layer.0.q", {2, 3, 5, 8})) == StageMatrices{2, 3, 5, 8, "T", "d"});
    CHECK(matrices_of(stage_of("layer.0.output", {2, 5, 24})) == StageMatrices{2, 1, 5, 24, "T", "D"});
    CHECK(matrices_of(stage_of("layer.0.k_r", {3, 16, 8})) == StageMatrices{1, 3, 16, 8, "2k", "d"});
    CHECK(matrices_of(stage_of("relative.index", {5, 7})) == StageMatrices{1, 1, 5, 7, "Tq", "Tk"});
    CHECK(matrices_of(stage_of("mlm.loss", {4})) == StageMatrices{1, 1, 1, 4, "", "N"});
    CHECK(matrices_of(stage_of("somebody.else", {2, 3, 4, 5})) == StageMatrices{2, 3, 4, 5, "row", "column"});
    CHECK(matrices_of(stage_of("somebody.else", {})) == StageMatrices{1, 1, 1, 1, "", ""});
}

TEST_CASE("matrices of a stage: the place of an index holds the value of that index", "[viewer][compare][law]") {
    for (const auto& [name, shape] : std::vector<std::pair<std::string, Shape>>{{"layer.0.p2c", {2, 3, 4, 5}},
                                                                                {"layer.0.output", {2, 3, 4}},
                                                                                {"layer.0.k_r", {3, 4, 5}},
                                                                                {"relative.index", {4, 5}},
                                                                                {"mlm.loss", {6}}}) {
        INFO(name);
        const Stage stage = stage_of(name, shape);
        for (Index flat = 0; flat < stage.size(); ++flat) {
            std::vector<Index> index(shape.size());
            Index rest = flat;
            for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
            const auto place = place_of(stage, index);
            REQUIRE(place);
            CHECK(matrix_of(stage, place->sample, place->head)(place->cell.i, place->cell.j) == stage.at(flat));
        }
    }
}

TEST_CASE("matrices of a stage: an index that does not lie in the stage has no place", "[viewer][compare]") {
    const Stage stage = stage_of("layer.0.p2c", {2, 3, 4, 5});
    CHECK_FALSE(place_of(stage, {}));
    CHECK_FALSE(place_of(stage, {0, 0, 0}));
    CHECK_FALSE(place_of(stage, {0, 3, 0, 0}));
    CHECK_FALSE(place_of(stage, {0, 0, -1, 0}));
    CHECK_THROWS_AS(matrix_of(stage, 2, 0), Error);
    CHECK_THROWS_AS(matrix_of(stage, 0, 3), Error);
    CHECK_THROWS_AS(matrix_of(stage, -1, 0), Error);
    CHECK_THROWS_AS(matrix_of(stage, 0, -1), Error);
    CHECK_FALSE(place_of(stage, {0, 0, 0, 5}));
}

TEST_CASE("matrices of a stage: axes in words", "[viewer][compare]") {
    CHECK(axis_in_words("Tq") == "query");
    CHECK(axis_in_words("Tk") == "key");
    CHECK(axis_in_words("2k") == "table row");
    CHECK(axis_in_words("") == "value");
    CHECK(axis_in_words("row") == "row");
    for (const char* axis : {"T", "Tq", "Tk"}) CHECK(counts_tokens(axis));
    for (const char* axis : {"H", "d", "2k", "N", ""}) CHECK_FALSE(counts_tokens(axis));
}

TEST_CASE("matrices of a stage: names of stages in other layers", "[viewer][compare]") {
    CHECK(at_layer("layer.2.p2c", 11) == "layer.11.p2c");
    CHECK(at_layer("layer.12.q", 0) == "layer.0.q");
    CHECK(at_layer("embeddings.output", 3) == "embeddings.output");
    CHECK(at_layer("layer.2.p2c", -1) == "layer.2.p2c");
    CHECK(layer_of("layer.12.q") == 12);
    CHECK(layer_of("emd.1.q") == -1);
}

}  // namespace locus::test::test_matrix_view
