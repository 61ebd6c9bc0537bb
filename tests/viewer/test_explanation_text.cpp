// What "copy as text" copies: every number of the cell, written so that it reads back with the same bits.
#include "viewer/data/explanation_text.h"

#include <catch2/catch.hpp>
#include <charconv>
#include <sstream>

#include "core/attention/rotary.h"

namespace locus::test::test_explanation_text {

namespace {

/// The number behind "name = ".
float value_of(const std::string& text, const std::string& name) {
    const std::size_t at = text.find("\n" + name + " = ");
    REQUIRE(at != std::string::npos);
    float number = 0;
    const char* from = text.data() + at + name.size() + 4;
    REQUIRE(std::from_chars(from, text.data() + text.size(), number).ec == std::errc{});
    return number;
}

/// The cells of the line that follows `heading` by `below` lines.
std::vector<std::string> cells_below(const std::string& text, const std::string& heading, int below) {
    std::istringstream lines(text.substr(text.find(heading)));
    std::string line, cell;
    for (int n = 0; n <= below; ++n) std::getline(lines, line);
    std::istringstream row(line);
    std::vector<std::string> cells;
    while (std::getline(row, cell, '\t')) cells.push_back(cell);
    return cells;
}

RotaryHeadTensors<float> some_head() {
    const auto table = rotary_table<float>(inverse_frequencies(8), 0, 5);
    return {Matrix<float>::Random(5, 8), Matrix<float>::Random(5, 8), table, table, RotaryLayout::interleaved, {}};
}

const ExplainedPair kPair{"tiny-roformer, layer 1, head 2", "beside", "opened", 4, 1};

}  // namespace

TEST_CASE("copied text: a rotary cell has every step with its bits", "[viewer][rope][text]") {
    const auto cell = explain_rotary_cell<float>(some_head(), 4, 1);
    const std::string text = text_of(cell, kPair, inverse_frequencies(8), true);
    CHECK_THAT(text, Catch::StartsWith("tiny-roformer, layer 1, head 2\nquery \"beside\" at 4 looks at key "
                                       "\"opened\" at 1, m - n = 3\n"));
    CHECK(value_of(text, "sum") == cell.sum);
    CHECK(value_of(text, "square root of d") == cell.divisor);
    CHECK(value_of(text, "score") == cell.score);
    CHECK(value_of(text, "probability") == cell.softmax.probability);
    for (int c = 0; c < 8; ++c) {
        const auto row = cells_below(text, "channel\t", c + 1);
        REQUIRE(row.size() == 5);
        const auto at = static_cast<std::size_t>(c);
        CHECK(std::stof(row[1]) == cell.left[at]);
        CHECK(std::stof(row[2]) == cell.right[at]);
        CHECK(std::stof(row[3]) == cell.products[at]);
        CHECK(std::stof(row[4]) == cell.running[at]);
    }
    const auto two = [](const std::string& both, const std::string& between) {
        const std::size_t at = both.find(between);
        REQUIRE(at != std::string::npos);
        return std::pair(std::stof(both), std::stof(both.substr(at + between.size())));
    };
    for (std::size_t t = 0; t < 4; ++t) {
        const auto row = cells_below(text, "plane\t", static_cast<int>(t) + 1);
        REQUIRE(row.size() == 8);
        const RotatedPlane<float>& plane = cell.planes[t];
        CHECK(row[0] == std::to_string(t));
        CHECK(row[1] == std::to_string(2 * t) + ", " + std::to_string(2 * t + 1));
        CHECK(std::stod(row[2]) == inverse_frequencies(8)[t]);
        CHECK(std::stod(row[3]) == Approx(3 * inverse_frequencies(8)[t]));
        CHECK(two(row[4], ", ") == std::pair(plane.q_a_rot, plane.q_b_rot));
        CHECK(two(row[5], ", ") == std::pair(plane.k_a_rot, plane.k_b_rot));
        CHECK(two(row[6], " + ") == std::pair(plane.product_a, plane.product_b));
        CHECK(std::stof(row[7]) == plane.step);
    }
    const SoftmaxSteps<float>& steps = cell.softmax;
    CHECK(value_of(text, "row maximum (key " + std::to_string(steps.row_maximum_key) + ")") == steps.row_maximum);
    CHECK(value_of(text, "score - row maximum") == steps.shifted);
    CHECK(value_of(text, "exp") == steps.exponential);
    CHECK(value_of(text, "row sum of exp") == steps.denominator);
    CHECK_THAT(text_of(cell, kPair, inverse_frequencies(8), false), !Catch::Contains("probability"));
}

TEST_CASE("copied text: a hidden pair says so", "[viewer][rope][text]") {
    auto head = some_head();
    head.mask = Mask::Ones(5, 5);
    head.mask(4, 1) = 0;
    CHECK_THAT(text_of(explain_rotary_cell<float>(head, 4, 1), kPair, inverse_frequencies(8), true),
               Catch::Contains("the mask hides this pair"));
}

TEST_CASE("copied text: linear attention has both sums, key by key", "[viewer][linear][text]") {
    const auto head = some_head();
    const auto cell = explain_linear_cell<float>(head.q, head.k, head.q_table, RotaryLayout::interleaved,
                                                 LinearForm::paper, false, {}, 4, 1);
    const std::string text = text_of(cell, kPair, {"a", "b", "c", "d", "e"});
    for (std::size_t c = 0; c < 8; ++c) {
        const auto row = cells_below(text, "channel\t", static_cast<int>(c) + 1);
        REQUIRE(row.size() == 5);
        CHECK(std::stof(row[1]) == cell.left[c]);
        CHECK(std::stof(row[2]) == cell.right[c]);
    }
    CHECK(value_of(text, "denominator") == cell.denominator);
    CHECK(value_of(text, "weight") == cell.weight);
    for (int j = 0; j < 5; ++j) {
        const auto row = cells_below(text, "key\tnumerator", j + 1);
        REQUIRE(row.size() == 6);
        CHECK(row[0] == std::to_string(j) + " " + std::string(1, static_cast<char>('a' + j)));
        const LinearKey<float>& key = cell.keys[static_cast<std::size_t>(j)];
        CHECK(std::stof(row[1]) == key.numerator);
        CHECK(std::stof(row[2]) == key.running_numerator);
        CHECK(std::stof(row[3]) == key.positive);
        CHECK(std::stof(row[4]) == key.running_denominator);
        CHECK(std::stof(row[5]) == key.weight);
    }
}

}  // namespace locus::test::test_explanation_text
