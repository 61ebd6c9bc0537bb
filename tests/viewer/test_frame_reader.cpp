// What `no_text_clipped` calls a fault, and what a script takes for one line: frames written down by hand.
#include "viewer/automation/frame_reader.h"

#include <catch2/catch.hpp>

namespace locus::test::test_frame_reader {

namespace {

const ImVec2 kWindow{400, 300};
const Corners kEverywhere{{0, 0}, kWindow};

/// A line 20 high on a baseline 15 below its top: its ink is from 4 to 15 below it.
Mark line(const std::string& text, float x, float y, float width, Corners clip = kEverywhere) {
    return {TextMark{text, {{x, y}, {x + width, y + 20}}, {x, y + 15}, 20, Face::label, false}, 0, clip};
}

std::vector<std::string> faults(const std::vector<Mark>& marks, const std::vector<Item>& items = {}) {
    DrawRecorder log;
    log.marks = marks;
    log.items = items;
    return layout_faults(log, kWindow);
}

std::string only_fault(const std::vector<Mark>& marks, const std::vector<Item>& items = {}) {
    const std::vector<std::string> found = faults(marks, items);
    REQUIRE(found.size() == 1);
    return found[0];
}

}  // namespace

TEST_CASE("layout check: a text that its box or the window cuts is a fault on every side", "[viewer][script]") {
    const Corners box{{100, 100}, {200, 200}};
    CHECK(faults({line("fits", 100, 100, 100, box), line("too", 100, 180, 100, box)}).empty());
    CHECK(only_fault({line("wide", 140, 120, 70, box)}) ==
          "\"wide\" at 140,124 … 210,135 is cut off by its box 100,100 … 200,200");
    for (const auto& [x, y] : {std::pair<float, float>{97, 120}, {103, 120}, {100, 94}, {100, 187}}) {
        INFO(x << " " << y);
        CHECK_THAT(only_fault({line("out", x, y, 100, box)}), Catch::Contains("\"out\"") && Catch::Contains("cut off"));
    }
    // Its box reaches out of the window: what the window shows of it counts.
    CHECK_THAT(only_fault({line("beyond", 350, 10, 60, {{300, 0}, {500, 300}})}),
               Catch::Contains("its box 300,0 … 400,300"));
    // Positions are rounded to whole units: one and a half may be missing.
    CHECK(faults({line("rounded", 101, 120, 100, box)}).empty());
    // Letters that are all cut off are as wrong as half of one, blanks are nothing.
    CHECK_THAT(only_fault({line("gone", 300, 120, 50, box)}), Catch::Contains("\"gone\""));
    CHECK(faults({line("  ", 300, 120, 50, box)}).empty());
}

TEST_CASE("layout check: what a wheel scrolls may be cut off, but not lie over another", "[viewer][script]") {
    Mark below = line("below", 10, 290, 50), other = line("other", 30, 290, 50);
    below.scrolled = other.scrolled = true;
    CHECK(faults({below}).empty());
    CHECK_THAT(only_fault({below, other}), Catch::Contains("\"below\" and \"other\" lie over each other"));
}

TEST_CASE("layout check: two texts whose letters are over each other, as far as both are seen", "[viewer][script]") {
    CHECK(only_fault({line("a", 10, 10, 50), line("b", 50, 14, 50)}) ==
          "\"a\" and \"b\" lie over each other at 50,18 … 60,25");
    CHECK(faults({line("a", 10, 10, 50), line("b", 60, 10, 50)}).empty());  // side by side
    CHECK(faults({line("a", 10, 10, 50), line("b", 10, 21, 50)}).empty());  // the descender's box is shared
    CHECK_FALSE(faults({line("a", 10, 10, 50), line("b", 10, 19, 50)}).empty());
    // Not where one of them is out of sight.
    Mark hidden = line("b", 30, 10, 50, {{10, 100}, {200, 200}});
    hidden.scrolled = true;
    CHECK(faults({line("a", 10, 10, 50), hidden}).empty());
    // Upwards the letters lie left of the baseline: 11 of 20.
    const Mark upwards{TextMark{"up", {{100, 50}, {120, 150}}, {115, 150}, 20, Face::label, true}, 0, kEverywhere};
    CHECK(faults({upwards, line("beside", 116, 100, 50)}).empty());
    CHECK(faults({upwards, line("beside", 53, 100, 50)}).empty());
    CHECK_FALSE(faults({upwards, line("over", 100, 100, 50)}).empty());
}

TEST_CASE("layout check: an overlay may cover the page, but its own texts are held to the same", "[viewer][script]") {
    Mark sheet = line("sheet", 50, 14, 50);
    sheet.above = true;
    CHECK(faults({line("page", 10, 10, 50), sheet}).empty());
    Mark other = line("other", 60, 14, 50);
    other.above = true;
    CHECK_THAT(only_fault({line("page", 10, 10, 50), sheet, other}),
               Catch::Contains("\"sheet\" and \"other\" lie over each other"));
    sheet.clip = {{0, 0}, {80, 300}};
    CHECK_THAT(only_fault({sheet}), Catch::Contains("\"sheet\"") && Catch::Contains("cut off"));
}

TEST_CASE("layout check: a place for the mouse outside the window is a fault, unless it scrolls", "[viewer][script]") {
    const Item inside{"in", {{350, 250}, {401, 301}}, kEverywhere};
    CHECK(faults({}, {inside}).empty());
    for (const Corners& box :
         {Corners{{-5, 10}, {20, 20}}, {{10, -5}, {20, 20}}, {{390, 10}, {405, 20}}, {{10, 290}, {20, 305}}}) {
        Item out{"layer/more", box, kEverywhere};
        CHECK_THAT(only_fault({}, {out}), Catch::Contains("\"layer/more\"") && Catch::Contains("out of the window"));
        out.scrolled = true;
        CHECK(faults({}, {out}).empty());
    }
}

TEST_CASE("layout check: two places of one name are a fault", "[viewer][script]") {
    const Item rail{"attention", {{0, 0}, {20, 20}}, kEverywhere}, card{"attention", {{50, 0}, {90, 20}}, kEverywhere};
    CHECK(only_fault({}, {rail, card}) == "two places are named \"attention\"");
    CHECK(faults({}, {rail, {"cards/attention", card.box, kEverywhere}}).empty());
}

TEST_CASE("seen lines: pieces side by side are one line, what is cut away is none", "[viewer][script]") {
    DrawRecorder log;
    log.marks = {line("c", 10, 10, 20),
                 line("2", 30, 6, 8),
                 line("p", 38, 10, 20),
                 line("far", 90, 10, 20),
                 line("below", 110, 40, 20),
                 line("hidden", 300, 10, 50, {{0, 0}, {200, 300}}),
                 line("cut", 180, 80, 60, {{0, 0}, {200, 300}})};
    const std::vector<SeenLine> lines = seen_lines(log);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0].text == "c2p");
    CHECK(lines[0].box.max.x == 58);
    CHECK(lines[1].text == "far");
    CHECK(lines[3].text == "cut");
    CHECK(lines[3].box.max.x == 200);  // where it can be clicked
    // The line that is the words wins over an earlier one that holds them.
    CHECK(find_line({{"all heads", {}}, {"heads", {{1, 1}, {2, 2}}}}, "heads")->box.min.x == 1);
    CHECK(find_line({{"all heads", {}}}, "head")->text == "all heads");
    CHECK(find_line({{"all heads", {}}}, "Heads") == nullptr);
}

TEST_CASE("frame log: the middle of a cell, and names inside their groups", "[viewer][script]") {
    const MatrixItem matrix{"c2p", {{100, 50}, {200, 150}}, 2, 0.5, 20, 10, 12, 12};
    CHECK(matrix.centre_of(2, 3).x == 130);  // (3 + 0.5 - 0.5) columns of 10
    CHECK(matrix.centre_of(2, 3).y == 60);   // (2 + 0.5 - 2) rows of 20
    DrawRecorder log;
    log.groups = {"compare", "layer"};
    CHECK(log.full_id("more") == "compare/layer/more");
    log.values = {{"a", 1}, {"b", 2}};
    log.items = {{"a", {}, {}}};
    log.matrices = {matrix};
    CHECK(log.value("b")->value == 2);
    CHECK(log.value("c") == nullptr);
    log.scrolled = 1;
    log.above = true;
    log.clear();
    CHECK((log.values.empty() && log.items.empty() && log.matrices.empty() && log.groups.empty()));
    CHECK(log.scrolled == 0);
    CHECK_FALSE(log.above);
    CHECK(log.full_id("more") == "more");
}

}  // namespace locus::test::test_frame_reader
