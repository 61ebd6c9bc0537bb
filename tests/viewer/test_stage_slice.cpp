// The matrices inside stages of every rank.
#include "viewer/plots/stage_slice.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace locus::test::test_stage_slice {

namespace {

Stage stage_of(const std::string& name, const Shape& shape) {
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
    std::iota(values.begin(), values.end(), 0.0);
    const auto known = describe_stage(name);
    return {name, known ? known->axes : std::vector<std::string>(), "", "", Tensor<double>(shape, values)};
}

}  // namespace

TEST_CASE("sheets: ranks 0 to 4, by the axes that the stage names", "[viewer][compare]") {
    CHECK(sheets_of(stage_of("layer.0.p2c", {2, 3, 5, 7})) == StageSheets{2, 3, 5, 7, "Tq", "Tk"});
    CHECK(sheets_of(stage_of("layer.0.q", {2, 3, 5, 8})) == StageSheets{2, 3, 5, 8, "T", "d"});
    CHECK(sheets_of(stage_of("layer.0.output", {2, 5, 24})) == StageSheets{2, 1, 5, 24, "T", "D"});
    CHECK(sheets_of(stage_of("layer.0.k_r", {3, 16, 8})) == StageSheets{1, 3, 16, 8, "2k", "d"});
    CHECK(sheets_of(stage_of("relative.index", {5, 7})) == StageSheets{1, 1, 5, 7, "Tq", "Tk"});
    CHECK(sheets_of(stage_of("mlm.loss", {4})) == StageSheets{1, 1, 1, 4, "", "N"});
    CHECK(sheets_of(stage_of("somebody.else", {2, 3, 4, 5})) == StageSheets{2, 3, 4, 5, "row", "column"});
    CHECK(sheets_of(stage_of("somebody.else", {})) == StageSheets{1, 1, 1, 1, "", ""});
}

TEST_CASE("sheets: the place of an index holds the value of that index", "[viewer][compare][law]") {
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
            CHECK(sheet_of(stage, place->sample, place->head)(place->cell.i, place->cell.j) == stage.at(flat));
        }
    }
}

TEST_CASE("sheets: an index that does not lie in the stage has no place", "[viewer][compare]") {
    const Stage stage = stage_of("layer.0.p2c", {2, 3, 4, 5});
    CHECK_FALSE(place_of(stage, {}));
    CHECK_FALSE(place_of(stage, {0, 0, 0}));
    CHECK_FALSE(place_of(stage, {0, 3, 0, 0}));
    CHECK_FALSE(place_of(stage, {0, 0, -1, 0}));
    CHECK_THROWS_AS(sheet_of(stage, 2, 0), Error);
    CHECK_THROWS_AS(sheet_of(stage, 0, 3), Error);
    CHECK_THROWS_AS(sheet_of(stage, -1, 0), Error);
    CHECK_THROWS_AS(sheet_of(stage, 0, -1), Error);
    CHECK_FALSE(place_of(stage, {0, 0, 0, 5}));
}

TEST_CASE("sheets: axes in words", "[viewer][compare]") {
    CHECK(axis_in_words("Tq") == "query");
    CHECK(axis_in_words("Tk") == "key");
    CHECK(axis_in_words("2k") == "table row");
    CHECK(axis_in_words("") == "value");
    CHECK(axis_in_words("row") == "row");
    for (const char* axis : {"T", "Tq", "Tk"}) CHECK(counts_tokens(axis));
    for (const char* axis : {"H", "d", "2k", "N", ""}) CHECK_FALSE(counts_tokens(axis));
}

TEST_CASE("sheets: names of stages in other layers", "[viewer][compare]") {
    CHECK(at_layer("layer.2.p2c", 11) == "layer.11.p2c");
    CHECK(at_layer("layer.12.q", 0) == "layer.0.q");
    CHECK(at_layer("embeddings.output", 3) == "embeddings.output");
    CHECK(at_layer("layer.2.p2c", -1) == "layer.2.p2c");
    CHECK(layer_of("layer.12.q") == 12);
    CHECK(layer_of("emd.1.q") == -1);
}

}  // namespace locus::test::test_stage_slice
