// A frame as a vector figure: words stay words, cells keep their colours, nothing that is cut off is drawn.
#include <catch2/catch.hpp>

#include <pugixml.hpp>

#include "viewer/export/figure_svg.h"
#include "viewer/export/picture_file.h"

namespace locus::test::test_figure_svg {

namespace {

const Corners kScreen{{0, 0}, {400, 300}};

template <class Shape>
Mark mark(Shape shape, Corners clip = kScreen, ImU32 colour = IM_COL32(79, 143, 247, 255)) {
    return {std::move(shape), colour, clip};
}

TextMark text_mark(const std::string& text, float x, float y, bool upwards = false) {
    return {text, {{x, y - 13}, {x + 50, y + 4}}, {x, y}, 17, Face::label, upwards};
}

SvgSetup plain() {
    SvgSetup setup;
    setup.frame = kScreen;
    setup.background = IM_COL32(15, 18, 24, 255);
    setup.title = "a <title>";
    setup.command = "locus view --text 'a & b'";
    setup.software = "Locus";
    return setup;
}

/// Fails where it is no XML.
pugi::xml_document parsed(const std::string& svg) {
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_string(svg.c_str(), pugi::parse_full | pugi::parse_ws_pcdata_single);
    INFO(result.description());
    REQUIRE(result);
    return document;
}

std::vector<std::string> texts_of(const pugi::xml_document& document) {
    std::vector<std::string> texts;
    for (const auto& node : document.select_nodes("//text")) texts.emplace_back(node.node().child_value());
    return texts;
}

std::string colour_at(const Pixels& pixels, int x, int y) {
    const std::uint8_t* rgba = &pixels.rgba[static_cast<std::size_t>(y * pixels.width + x) * 4];
    char text[8];
    std::snprintf(text, sizeof text, "#%02x%02x%02x", rgba[0], rgba[1], rgba[2]);
    return text;
}

Pixels gradient(int width, int height) {
    Pixels pixels{width, height, {}};
    for (int n = 0; n < width * height; ++n)
        for (const int part : {n % 251, n / 3 % 256, n % 7 * 30, 255})
            pixels.rgba.push_back(static_cast<std::uint8_t>(part));
    return pixels;
}

}  // namespace

TEST_CASE("svg: the words are the words on screen, whatever they are made of", "[view][export]") {
    DrawRecorder log;
    const std::vector<std::string> words = {"a < b && \"c\" > 'd'",
                                            " two  blanks ",
                                            "\u2212"
                                            "12.08",
                                            "발 없는 말이",
                                            "[MASK]",
                                            "layer.2.c2p"};
    for (std::size_t n = 0; n < words.size(); ++n)
        log.marks.push_back(mark(text_mark(words[n], 20, 20 + 30 * static_cast<float>(n), n % 2 == 1)));
    const pugi::xml_document document = parsed(svg_of(log, plain()));
    CHECK(texts_of(document) == words);
    const pugi::xml_node first = document.select_node("//text").node();
    CHECK(first.attribute("x").as_double() == 20);
    CHECK(first.attribute("y").as_double() == 20);
    CHECK(first.attribute("font-size").as_double() == 12);
    CHECK(first.attribute("textLength").as_double() == 50);
    CHECK(std::string(first.attribute("font-family").value()).find("Inter") == 0);
    CHECK(std::string(document.select_node("//metadata/*[2]").node().child_value()) == "locus view --text 'a & b'");
    CHECK(std::string(document.child("svg").child_value("title")) == "a <title>");
}

TEST_CASE("svg: bytes that XML cannot hold become a sign for it", "[view][export]") {
    CHECK(xml_text("a\x01"
                   "b\xff"
                   "c") ==
          "a\xef\xbf\xbd"
          "b\xef\xbf\xbd"
          "c");
    CHECK(xml_text("\xc1\xa1") == "\xef\xbf\xbd\xef\xbf\xbd");                  // "a" in two bytes
    CHECK(xml_text("\xef\xbf\xbe") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // U+FFFE is no character
    CHECK(xml_text("\xf4\x90\x80\x80").size() == 12);                           // after U+10FFFF
    CHECK(xml_text("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(xml_text("\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9") == "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9");
}

TEST_CASE("svg: every cell is a rectangle of its colour where it lies", "[view][export]") {
    DrawRecorder log;
    log.marks.push_back(mark(ImageMark{{{100, 50}, {220, 80}}, {0, 0}, {1, 1}}));
    const Pixels cells = gradient(4, 2);
    SvgSetup setup = plain();
    setup.cells = [&](const ImageMark&) { return CellPicture{cells, 0, 0, 4, 2}; };
    const pugi::xml_document document = parsed(svg_of(log, setup));
    const auto rects = document.select_nodes("//g[@class='cells']/rect");
    REQUIRE(rects.size() == 8);
    int n = 0;
    for (const auto& rect : rects) {
        CHECK(rect.node().attribute("x").as_double() == 100 + 30 * (n % 4));
        CHECK(rect.node().attribute("y").as_double() == 50 + 15 * (n / 4));
        CHECK(rect.node().attribute("width").as_double() == 30);
        CHECK(rect.node().attribute("height").as_double() == 15);
        CHECK(rect.node().attribute("fill").value() == colour_at(cells, n % 4, n / 4));
        ++n;
    }
}

TEST_CASE("svg: a zoomed matrix begins in the middle of a cell and stays in its box", "[view][export]") {
    DrawRecorder log;
    log.marks.push_back(mark(ImageMark{{{100, 50}, {200, 150}}, {0.1f, 0.1f}, {0.6f, 0.6f}}));
    SvgSetup setup = plain();
    setup.cells = [&](const ImageMark&) { return CellPicture{gradient(3, 3), 0.5, 0.25, 2, 2}; };
    const auto picture = parsed(svg_of(log, setup));
    const auto rects = picture.select_nodes("//g[@class='cells']/rect");
    REQUIRE(rects.size() == 9);
    CHECK(rects[0].node().attribute("x").as_double() == 100);
    CHECK(rects[0].node().attribute("width").as_double() == 25);
    CHECK(rects[1].node().attribute("x").as_double() == 125);
    CHECK(rects[1].node().attribute("width").as_double() == 50);
    CHECK(rects[2].node().attribute("width").as_double() == 25);
    CHECK(rects[0].node().attribute("y").as_double() == 50);
    CHECK(rects[0].node().attribute("height").as_double() == 37.5);
    CHECK(rects[3].node().attribute("y").as_double() == 87.5);
    CHECK(rects[6].node().attribute("height").as_double() == 12.5);
}

TEST_CASE("svg: more cells than fit as shapes are one embedded picture with their colours", "[view][export]") {
    DrawRecorder log;
    log.marks.push_back(mark(ImageMark{{{0, 0}, {200, 200}}, {0, 0}, {1, 1}}));
    const Pixels cells = gradient(kMostVectorCells + 1, 10);
    SvgSetup setup = plain();
    setup.cells = [&](const ImageMark&) { return CellPicture{cells, 0, 0, kMostVectorCells + 1, 10}; };
    const pugi::xml_document document = parsed(svg_of(log, setup));
    const pugi::xml_node image = document.select_node("//image").node();
    CHECK(document.select_nodes("//rect").size() == 1);  // the background
    CHECK(std::string(image.attribute("style").value()) == "image-rendering:pixelated");
    // As many cells as fit are shapes still, whichever side is the longer.
    for (const auto& [wide, high] :
         {std::pair{kMostVectorCells, 1}, {1, kMostVectorCells}, {1, kMostVectorCells + 1}}) {
        setup.cells = [wide = wide, high = high](const ImageMark&) {
            return CellPicture{gradient(wide, high), 0, 0, double(wide), double(high)};
        };
        const bool shapes = parsed(svg_of(log, setup)).select_nodes("//image").empty();
        CHECK(shapes == (wide <= kMostVectorCells && high <= kMostVectorCells));
    }
    CHECK(image.attribute("xlink:href").value() == "data:image/png;base64," + base64(png_bytes(cells)));
}

TEST_CASE("svg: an embedded picture that is zoomed into lies where its cells lie, cut to its box", "[view][export]") {
    const Pixels cells = gradient(10, kMostVectorCells + 1);
    DrawRecorder log;
    log.marks.push_back(mark(ImageMark{{{40, 50}, {140, 250}}, {0, 0}, {1, 1}}));
    SvgSetup setup = plain();
    setup.cells = [&](const ImageMark&) { return CellPicture{cells, 0.5, 0.25, 5, 10}; };
    const pugi::xml_document document = parsed(svg_of(log, setup));
    const pugi::xml_node image = document.select_node("//g[@clip-path]/image").node();
    REQUIRE(image);
    // 20 units a column and 20 a row; half a column and a quarter of a row are cut off.
    CHECK(image.attribute("x").as_double() == 30);
    CHECK(image.attribute("y").as_double() == 45);
    CHECK(image.attribute("width").as_double() == 200);
    CHECK(image.attribute("height").as_double() == 20 * (kMostVectorCells + 1));
    const pugi::xml_node clip = document.select_node("//clipPath/rect").node();
    CHECK(clip.attribute("x").as_double() == 40);
    CHECK(clip.attribute("y").as_double() == 50);
    CHECK(clip.attribute("width").as_double() == 100);
    CHECK(clip.attribute("height").as_double() == 200);
}

TEST_CASE("svg: a figure of a part shows that part, its panels cut to it", "[view][export]") {
    DrawRecorder log;
    log.marks.push_back(mark(text_mark("outside", 300, 40)));
    log.marks.push_back(mark(text_mark("below", 120, 295)));
    log.marks.push_back(mark(text_mark("inside", 120, 80), kScreen, IM_COL32(0x12, 0x34, 0x56, 0)));
    log.marks.push_back(mark(text_mark("seen", 120, 80), kScreen, IM_COL32(0x12, 0x34, 0x56, 255)));
    SvgSetup setup = plain();
    setup.frame = {{100, 50}, {200, 250}};
    setup.panels.push_back({{{150, 0}, {400, 300}}, IM_COL32(21, 25, 34, 255)});
    const pugi::xml_document document = parsed(svg_of(log, setup));
    CHECK(document.child("svg").attribute("viewBox").value() == std::string("100 50 100 200"));
    CHECK(document.child("svg").attribute("width").as_double() == 100);
    CHECK(document.child("svg").attribute("height").as_double() == 200);
    CHECK(texts_of(document) == std::vector<std::string>{"seen"});
    CHECK(document.select_node("//text").node().attribute("fill").value() == std::string("#123456"));
    const pugi::xml_node background = document.select_node("/svg/rect[1]").node(),
                         panel = document.select_node("/svg/rect[2]").node();
    CHECK(background.attribute("fill").value() == std::string("#0f1218"));
    CHECK(panel.attribute("x").as_double() == 150);
    CHECK(panel.attribute("width").as_double() == 50);
    CHECK(panel.attribute("height").as_double() == 200);
}

TEST_CASE("svg: words stand upwards, in the face and at the size that they were drawn with", "[view][export]") {
    DrawRecorder log;
    log.marks.push_back(mark(TextMark{"up", {{20, 100}, {37, 160}}, {33, 160}, 17, Face::label, true}));
    log.marks.push_back(mark(TextMark{"12.5", {{20, 20}, {60, 40}}, {20, 35}, 17, Face::mono, false}));
    log.marks.push_back(mark(TextMark{"Title", {{20, 60}, {60, 80}}, {20, 75}, 17, Face::title, false}));
    SvgSetup setup = plain();
    setup.units = 2;
    const auto picture = parsed(svg_of(log, setup));
    const auto texts = picture.select_nodes("//text");
    REQUIRE(texts.size() == 3);
    CHECK(texts[0].node().attribute("transform").value() == std::string("rotate(-90 33 160)"));
    CHECK(texts[0].node().attribute("textLength").as_double() == 60);
    CHECK(texts[0].node().attribute("font-size").as_double() == 24);  // 12 at 2 units
    CHECK(std::string(texts[1].node().attribute("font-family").value()).starts_with("'JetBrains Mono'"));
    CHECK_FALSE(texts[1].node().attribute("transform"));
    CHECK_FALSE(texts[1].node().attribute("font-weight"));
    CHECK(texts[2].node().attribute("font-weight").as_int() == 600);
}

TEST_CASE("svg: base64 as RFC 4648 gives it", "[view][export]") {
    CHECK(base64("") == "");
    CHECK(base64("f") == "Zg==");
    CHECK(base64("fo") == "Zm8=");
    CHECK(base64("foo") == "Zm9v");
    CHECK(base64("foobar") == "Zm9vYmFy");
    CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("svg: what the clip hides is not drawn, what it cuts is cut", "[view][export]") {
    DrawRecorder log;
    const Corners clip{{50, 50}, {100, 100}};
    log.marks.push_back(mark(text_mark("hidden", 200, 200), clip));
    log.marks.push_back(mark(text_mark("half", 80, 80), clip));
    log.marks.push_back(mark(text_mark("also half", 85, 90), clip));
    log.marks.push_back(mark(RectMark{{{0, 0}, {60, 60}}, 0, 0, 0}, clip));
    log.marks.push_back(mark(LineMark{{{0, 75}, {300, 75}}, 1}, clip));
    const pugi::xml_document document = parsed(svg_of(log, plain()));
    CHECK(texts_of(document) == std::vector<std::string>{"half", "also half"});
    CHECK(document.select_nodes("//g[@clip-path]").size() == 1);
    CHECK(document.select_nodes("//clipPath").size() == 1);
    const pugi::xml_node rect = document.select_node("/svg/rect[2]").node();
    CHECK(rect.attribute("x").as_double() == 50);
    CHECK(rect.attribute("width").as_double() == 10);
    CHECK(document.select_node("//line").node().attribute("x1").as_double() == 50.5);
    CHECK(document.select_node("//line").node().attribute("x2").as_double() == 100.5);
}

TEST_CASE("svg: a shape that reaches out of its clip is cut, a line beside it is not drawn", "[view][export]") {
    const Corners clip{{50, 50}, {100, 100}};
    const auto clipped = [&](auto shape) {
        DrawRecorder log;
        log.marks.push_back(mark(std::move(shape), clip));
        const pugi::xml_document document = parsed(svg_of(log, plain()));
        return document.select_nodes("//g[@clip-path]/*").size() == 1;
    };
    CHECK(clipped(CircleMark{{95, 75}, 10, 0}));
    CHECK_FALSE(clipped(CircleMark{{85, 75}, 10, 0}));
    CHECK(clipped(SectorMark{{95, 75}, 10, 0, 1}));
    CHECK(clipped(LineMark{{{60, 60}, {80, 80}, {101, 60}}, 1}));
    CHECK_FALSE(clipped(LineMark{{{60, 60}, {80, 80}, {90, 60}}, 1}));
    CHECK(clipped(RectMark{{{40, 60}, {80, 80}}, 0, 5, 0}));  // its round corner must not move
    CHECK(clipped(CurveMark{{60, 60}, {70, 60}, {120, 70}, {80, 80}, 1}));
    const auto line = [&](ImVec2 from, ImVec2 to) {
        DrawRecorder log;
        log.marks.push_back(mark(LineMark{{from, to}, 1}, clip));
        const auto picture = parsed(svg_of(log, plain()));
        const pugi::xml_node drawn = picture.select_node("//line").node();
        std::string ends;
        for (const char* end : {"x1", "y1", "x2", "y2"})
            ends += (ends.empty() ? "" : " ") + std::string(drawn.attribute(end).value());
        return ends;
    };
    CHECK(line({40, 40}, {120, 120}) == "50.5 50.5 100.5 100.5");  // half a unit: the middle of a pixel
    CHECK(line({120, 60}, {40, 80}) == "100.5 65.5 50.5 78");
    CHECK(line({75, 20}, {75, 300}) == "75.5 50.5 75.5 100.5");
    CHECK(line({60, 60}, {80, 70}) == "60.5 60.5 80.5 70.5");
    CHECK(line({40, 58}, {58, 40}) == "40.5 58.5 58.5 40.5");  // passes the corner: hidden by a clip path, not bent
    DrawRecorder log;
    log.marks.push_back(mark(LineMark{{{20, 75}, {20, 75.5}}, 1}, clip));
    CHECK(parsed(svg_of(log, plain())).select_nodes("//line").empty());
}

TEST_CASE("svg: every kind of stroke is there, and opacity is kept", "[view][export]") {
    DrawRecorder log;
    log.marks = {mark(LineMark{{{0, 0}, {9, 9}, {20, 0}}, 2}),
                 mark(CurveMark{{0, 0}, {10, 0}, {20, 30}, {40, 40}, 1}),
                 mark(CircleMark{{50, 60}, 10, 0}),
                 mark(CircleMark{{50, 60}, 10, 2}),
                 mark(SectorMark{{90, 100}, 20, 0, 4}),
                 mark(PolygonMark{{{0, 0}, {5, 5}, {0, 9}}}),
                 mark(RectMark{{{1, 1}, {9, 9}}, 1, 3, 0}, kScreen, IM_COL32(255, 0, 0, 128))};
    const pugi::xml_document document = parsed(svg_of(log, plain()));
    const char* const kinds[] = {"polyline", "path", "circle", "polygon"};
    for (const char* kind : kinds) CHECK(document.select_node((std::string("//") + kind).c_str()));
    CHECK(document.select_nodes("//circle").size() == 2);
    const auto drawn = [&](const char* path, const char* attribute) {
        return std::string(document.select_node(path).node().attribute(attribute).value());
    };
    CHECK(drawn("//polyline", "points") == "0,0 9,9 20,0");
    CHECK(drawn("//polyline", "stroke-width") == "2");
    CHECK(drawn("(//path)[1]", "d") == "M0,0C10,0 20,30 40,40");
    CHECK(drawn("//polygon", "points") == "0,0 5,5 0,9");
    CHECK(drawn("(//circle)[1]", "cx") + "," + drawn("(//circle)[1]", "cy") == "50,60");
    CHECK(drawn("(//circle)[1]", "r") == "10");
    CHECK(drawn("(//circle)[1]", "fill") == "#4f8ff7");
    CHECK(drawn("(//circle)[2]", "r") == "9.5");  // an outline runs through the middles of pixels
    CHECK(drawn("(//circle)[2]", "fill") == "none");
    CHECK(drawn("(//circle)[2]", "stroke") == "#4f8ff7");
    // Clockwise on screen from the right through below (2 radians) to 4 radians, in two halves.
    CHECK(drawn("(//path)[2]", "d") == "M90,100L110,100A20 20 0 0 1 81.68,118.19A20 20 0 0 1 76.93,84.86Z");
    CHECK(drawn("(//path)[1]", "stroke-width") == "1");
    DrawRecorder backwards;
    backwards.marks.push_back(mark(SectorMark{{90, 100}, 20, 0, -4}));  // the mirror image
    CHECK(std::string(parsed(svg_of(backwards, plain())).select_node("//path").node().attribute("d").value()) ==
          "M90,100L110,100A20 20 0 0 0 81.68,81.81A20 20 0 0 0 76.93,115.14Z");
    const pugi::xml_node outline = document.select_node("/svg/rect[2]").node();
    CHECK(outline.attribute("width").as_double() == 7);
    CHECK(outline.attribute("height").as_double() == 7);
    CHECK(outline.attribute("fill").value() == std::string("none"));
    CHECK(outline.attribute("stroke-opacity").as_double() == Approx(0.5).margin(0.01));
    CHECK(outline.attribute("rx").as_double() == 3);
    CHECK(outline.attribute("x").as_double() == 1.5);
}

TEST_CASE("svg: a transparent figure has neither background nor panels", "[view][export]") {
    SvgSetup setup = plain();
    setup.panels.push_back({{{0, 0}, {100, 300}}, IM_COL32(21, 25, 34, 255)});
    CHECK(parsed(svg_of({}, setup)).select_nodes("/svg/rect").size() == 2);
    setup.transparent = true;
    CHECK(parsed(svg_of({}, setup)).select_nodes("/svg/rect").empty());
}

TEST_CASE("svg: numbers are short and exact to a hundredth", "[view][export]") {
    CHECK(svg_number(12.5) == "12.5");
    CHECK(svg_number(3) == "3");
    CHECK(svg_number(-0.001) == "0");
    CHECK(svg_number(1e6) == "1000000");
    CHECK(svg_number(0.126) == "0.13");
}

}  // namespace locus::test::test_figure_svg
