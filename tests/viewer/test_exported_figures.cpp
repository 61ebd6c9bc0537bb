// Figures as they leave the program: the cells in them are the numbers beside them, the page is not the screen.
#include <catch2/catch.hpp>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "core/io/safetensors.h"
#include "tests/temporary_folder.h"
#include "tests/viewer/run_view.h"

namespace locus::test::test_exported_figures {

namespace {

bool skipped() {
    if (has_virtual_display()) return false;
    WARN("skipped: xvfb-run is missing, so no picture can be drawn");
    return true;
}

/// The numbers of a table with a row of names above and a column of names in front.
std::vector<std::vector<double>> numbers_of(const std::string& csv) {
    std::vector<std::vector<double>> rows;
    std::istringstream lines(csv);
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
        std::istringstream cells(line);
        std::string cell;
        std::vector<double> row;
        for (std::getline(cells, cell, ','); std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
        rows.push_back(row);
    }
    return rows;
}

/// "#rrggbb" as how bright it is.
double brightness(const std::string& colour) {
    const auto channel = [&](std::size_t at) {
        return static_cast<double>(std::stoi(colour.substr(at, 2), nullptr, 16));
    };
    return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

pugi::xml_document parsed(const fs::path& file) {
    pugi::xml_document document;
    REQUIRE(document.load_file(file.c_str()));
    return document;
}

}  // namespace

TEST_CASE("export: the cells of a figure are the numbers of its table, brighter where they are larger",
          "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const Outcome outcome = view({"--page", "attention", "--export", (folder / "a.svg").string(), "--region", "probs",
                                  "--export", (folder / "a.csv").string(), "--region", "probs"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const auto numbers = numbers_of(read_file(folder / "a.csv"));
    const pugi::xml_document document = parsed(folder / "a.svg");
    CHECK(std::string(document.select_node("//title").node().child_value()) == "probabilities");
    const auto rects = document.select_nodes("//g[@class='cells']/rect");
    REQUIRE(numbers.size() == 12);
    REQUIRE(rects.size() == 144);
    std::vector<std::pair<double, double>> seen;  // value, brightness
    std::size_t n = 0;
    for (const auto& rect : rects) {
        // Cells come row by row: x and y rise with the column and the row.
        const double side = rect.node().attribute("width").as_double();
        CHECK(rect.node().attribute("x").as_double() ==
              rects.first().node().attribute("x").as_double() + side * static_cast<double>(n % 12));
        CHECK(rect.node().attribute("y").as_double() ==
              rects.first().node().attribute("y").as_double() + side * static_cast<double>(n / 12));
        seen.push_back({numbers.at(n / 12).at(n % 12), brightness(rect.node().attribute("fill").value())});
        ++n;
    }
    std::sort(seen.begin(), seen.end());
    // 256 colours: neighbours in value may share one or be off by its rounding, a tenth of the range never is.
    for (std::size_t small = 0; small < seen.size(); ++small)
        for (std::size_t large = small + 1; large < seen.size(); ++large) {
            CHECK(seen[large].second >= seen[small].second - 1);
            if (seen[large].first > seen[small].first + 0.1) CHECK(seen[large].second > seen[small].second + 3);
        }
}

TEST_CASE("export: the page is the part of the screen beside and below the bars, under its own title",
          "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const auto drawn = [&](const std::string& name, const std::string& window, const std::string& scale) {
        const Outcome outcome = view({"--page", "rope", "--size", window, "--scale", scale, "--export",
                                      (folder / (name + "_page.svg")).string(), "--region", "page", "--export",
                                      (folder / (name + "_screen.svg")).string(), "--region", "screen"});
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
    };
    drawn("plain", "1280x800", "1");
    drawn("large", "1920x1200", "1.5");
    const pugi::xml_document page = parsed(folder / "plain_page.svg"), screen = parsed(folder / "plain_screen.svg");
    const pugi::xml_document large = parsed(folder / "large_page.svg"), whole = parsed(folder / "large_screen.svg");
    const auto size = [](const pugi::xml_document& document, const char* side) {
        return document.document_element().attribute(side).as_double();
    };
    const auto largest_word = [](const pugi::xml_document& document) {
        double largest = 0;
        for (const auto& text : document.select_nodes("//text"))
            largest = std::max(largest, text.node().attribute("font-size").as_double());
        return largest;
    };
    CHECK(std::string(page.select_node("//title").node().child_value()) == "Locus, page RoPE");
    CHECK(size(screen, "width") == 1280);
    CHECK(size(screen, "height") == 800);
    CHECK(size(page, "width") < 1180);
    CHECK(size(page, "height") < 760);
    CHECK(largest_word(page) >= 13);
    CHECK(largest_word(page) <= 16);
    // Half as large again in every measure, words among them.
    CHECK(size(whole, "width") == 1920);
    CHECK(size(large, "width") == Approx(1.5 * size(page, "width")).margin(2));
    CHECK(size(large, "height") == Approx(1.5 * size(page, "height")).margin(2));
    CHECK(largest_word(large) == Approx(1.5 * largest_word(page)));
}

TEST_CASE("export: the trace of a layer holds the command that makes it again", "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const fs::path file = folder / "layer.safetensors";
    const Outcome outcome =
        view({"--page", "attention", "--layer", "1", "--export", file.string(), "--region", "layer"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    std::string command;
    for (const auto& [key, value] : open_safetensors(file).metadata)
        if (key == "command") command = value;
    INFO(command);
    CHECK(command.starts_with("locus view "));
    CHECK(command.find("--layer 1") != std::string::npos);
    CHECK(command.find("--region layer") != std::string::npos);
}

TEST_CASE("export: several files have a region and a picture's wishes each", "[view][export][cli]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const Outcome outcome = view({"--page", "attention", "--transparent", "--export", (folder / "a.svg").string(),
                                  "--region", "probs", "--export", (folder / "b.svg").string(), "--region", "c2p"});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const pugi::xml_document a = parsed(folder / "a.svg"), b = parsed(folder / "b.svg");
    CHECK(std::string(a.select_node("//title").node().child_value()) !=
          std::string(b.select_node("//title").node().child_value()));
    for (const pugi::xml_document* each : {&a, &b}) {
        // The first child behind title and metadata would be the background.
        const pugi::xml_node first = each->select_node("//metadata").node().next_sibling();
        CHECK_FALSE((std::string(first.name()) == "rect" && first.attribute("x").as_double() == 0));
    }
    const Outcome screen = view({"--page", "attention", "--export", (folder / "a.csv").string(), "--region", "screen"});
    CHECK(screen.status == 2);
    CHECK(screen.err.find("--region is \"screen\", which is a picture") != std::string::npos);
    CHECK_FALSE(fs::exists(folder / "a.csv"));
}

TEST_CASE("view: options that contradict each other or leave their range are refused by name", "[view][cli]") {
    const auto refusal = [](const std::vector<std::string>& arguments, const std::string& sentence) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(sentence) != std::string::npos);
    };
    refusal({"--scale", "4.5"}, "--scale is 4.5");
    refusal({"--scale", "0.4"}, "--scale is 0.4");
    refusal({"--size", "1280x599"}, "--size is \"1280x599\"");
    refusal({"--size", "799x800"}, "--size is \"799x800\"");
    refusal({"--text", "a word", "--tokens", "1,5,2"}, "expected one of --text and --tokens, found both");
    refusal({"--mask", "1,1,0"}, "--mask goes with --tokens only");
    refusal({"--tokens", ""}, "--tokens is empty");
    refusal({"--report", "r.json", "--compare", "d.safetensors"}, "expected one of --report and --compare");
    refusal({"--compare", "a", "--compare", "b", "--compare", "c"}, "--compare is given 3 times");
    refusal({"--mistake", "7", "--dumps", "folder"}, "expected one of --dumps, --report, --mistake and --compare");
    refusal({"--window"}, "--window goes with --script only");
}

}  // namespace locus::test::test_exported_figures
