// Every page as it looks: nothing cut off at any size, and the same picture as last time.
//
// The golden pictures are halves or thirds of screenshots.  After a page has changed on purpose, look at it and renew
// them all with
//   build/release/bin/locus-tests "[renew-screens]"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/viewer/picture_likeness.h"
#include "tests/viewer/run_view.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

namespace locus::test::test_screens {

#pragma GCC diagnostic pop

namespace {

using Json = nlohmann::ordered_json;

constexpr int kLevels = 32;  // per colour, in a golden picture: it is a third as large then

struct Screen {
    int width, height;
    double zoom;
    int factor;  // by which its golden picture is smaller
};

constexpr Screen kGolden[] = {{1280, 800, 1, 2}, {1920, 1200, 2, 3}};
constexpr Screen kFitting[] = {
    {1024, 700, 1, 1}, {1280, 800, 1, 1}, {1280, 800, 2, 1}, {1920, 1200, 2, 1}, {2560, 1600, 2, 1}};

std::string name_of(const Screen& screen) {
    return std::to_string(screen.width) + "x" + std::to_string(screen.height) +
           (screen.zoom == 1 ? "" : " at " + std::to_string(static_cast<int>(screen.zoom * 100)) + " %");
}

std::vector<std::string> pages() {
    std::istringstream list(run("locus-view", {"--list-pages"}).out);
    std::vector<std::string> names;
    for (std::string name; std::getline(list, name);) names.push_back(name);
    REQUIRE(names.size() >= 7);
    return names;
}

Json look_at(const Screen& screen) {
    return Json::array(
        {Json{{"size", {screen.width, screen.height}}}, Json{{"set", "zoom=" + std::to_string(screen.zoom)}}});
}

void append(Json& actions, const Json& more) { actions.insert(actions.end(), more.begin(), more.end()); }

/// Plays actions in a folder, which holds their pictures then; what was printed.
std::string play(const TemporaryFolder& folder, const Json& actions) {
    write_file(folder / "play.json", Json{{"actions", actions}}.dump());
    const Outcome outcome = view({"--script", "play.json"}, folder.path());
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome.out;
}

struct Shot {
    std::string name;  // of the file
    int factor;
};

std::vector<Shot> take_shots(const TemporaryFolder& folder) {
    std::vector<Shot> shots;
    Json actions = Json::array();
    for (const Screen& screen : kGolden) {
        append(actions, look_at(screen));
        for (const char* theme : {"dark", "light"}) {
            actions.push_back({{"set", std::string("theme=") + theme}});
            for (const std::string& page : pages()) {
                shots.push_back({page + "_" + theme + "_" + std::to_string(screen.width) + ".png", screen.factor});
                actions.push_back({{"page", page}});
                actions.push_back({{"screenshot", shots.back().name}});
            }
        }
    }
    play(folder, actions);
    return shots;
}

/// Turns to every page at every size that has to fit; f(actions, what that is called) adds what is done there.
template <class F>
Json at_every_size(F f) {
    Json actions = Json::array();
    for (const Screen& screen : kFitting) {
        append(actions, look_at(screen));
        for (const std::string& page : pages()) {
            actions.push_back({{"page", page}});
            f(actions, page + ", " + name_of(screen));
        }
    }
    return actions;
}

/// `printed`: a line of faults for each of the looks.
void check_no_faults(const std::string& printed, const std::vector<std::string>& looks) {
    std::istringstream lines(printed);
    for (const std::string& look : looks) {
        std::string line;
        REQUIRE(static_cast<bool>(std::getline(lines, line)));
        INFO(look);
        CHECK(Json::parse(line) == Json{{"faults", Json::array()}});
    }
}

fs::path golden_folder() { return fs::path(LOCUS_SOURCE_DIR) / "tests/viewer/golden"; }

/// The typefaces that the golden pictures are written in.
bool has_typefaces() {
    for (const char* file : {"/usr/share/fonts/opentype/inter/Inter-Regular.otf",
                             "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
                             "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"})
        if (!fs::exists(file)) return false;
    return true;
}

bool skipped() {
    if (has_virtual_display()) return false;
    WARN("skipped: xvfb-run is missing, so no page can be drawn");
    return true;
}

}  // namespace

TEST_CASE("screens: every page looks as it did", "[viewer][screens]") {
    if (skipped()) return;
    if (!has_typefaces()) {
        WARN("skipped: Inter, JetBrains Mono or Noto Sans CJK is missing, so letters have other shapes here");
        return;
    }
    const TemporaryFolder folder;
    for (const Shot& shot : take_shots(folder)) {
        const Picture golden = read_picture(golden_folder() / shot.name);
        INFO(shot.name << ": if it is meant to look so, build/release/bin/locus-tests \"[renew-screens]\" renews it");
        const Picture seen = shrunk(read_picture(folder / shot.name), shot.factor, kLevels);
        CHECK(seen.width > 0);
        CHECK(golden.width == seen.width);
        CHECK(golden.height == seen.height);
        if (golden.width != seen.width || golden.height != seen.height) continue;
        const Likeness found = likeness(golden, seen);
        INFO(found.words());
        CHECK(found.alike());
    }
}

TEST_CASE("screens: golden pictures are renewed", "[.][renew-screens]") {
    REQUIRE(has_virtual_display());
    REQUIRE(has_typefaces());
    const TemporaryFolder folder;
    const std::vector<Shot> shots = take_shots(folder);
    fs::create_directories(golden_folder());
    for (const std::string& old : listing(golden_folder())) fs::remove(golden_folder() / old);
    std::uintmax_t bytes = 0;
    stbi_write_png_compression_level = 9;
    for (const Shot& shot : shots) {
        const Picture small = shrunk(read_picture(folder / shot.name), shot.factor, kLevels);
        const fs::path file = golden_folder() / shot.name;
        REQUIRE(stbi_write_png(file.c_str(), small.width, small.height, 3, small.rgb.data(), small.width * 3));
        bytes += fs::file_size(file);
    }
    CHECK(bytes < 300'000 * pages().size());
}

TEST_CASE("screens: nothing is cut off and nothing overlaps, at any size", "[viewer][screens][layout]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    std::vector<std::string> looks;
    const Json actions = at_every_size([&](Json& here, const std::string& look) {
        looks.push_back(look);
        here.push_back({{"print", "faults"}});
    });
    check_no_faults(play(folder, actions), looks);
    CHECK(looks.size() >= 35);
}

TEST_CASE("screens: the key sheet, the palette and the export sheet fit, on every page and at any size",
          "[viewer][screens][layout]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    std::vector<std::string> looks;
    const Json actions = at_every_size([&](Json& here, const std::string& look) {
        for (const char* key : {"?", "Ctrl+P", "Ctrl+E"}) {
            looks.push_back(look + ", after " + key);
            append(here, Json::array({{{"key", key}}, {{"print", "faults"}}, {{"key", "Escape"}}}));
        }
    });
    check_no_faults(play(folder, actions), looks);
}

TEST_CASE("screens: a sheet dims all of the page, to the edges of the window", "[viewer][screens]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    Json actions = look_at(kFitting[1]);
    const std::vector<std::string> themes = {"dark", "light"}, keys = {"?", "Ctrl+P", "Ctrl+E"};
    for (const std::string& theme : themes) {
        append(actions,
               Json::array({{{"page", "attention"}}, {{"set", "theme=" + theme}}, {{"screenshot", theme + ".png"}}}));
        for (const std::string& key : keys)
            append(actions, Json::array({{{"key", key}}, {{"screenshot", theme + key + ".png"}}, {{"key", "Escape"}}}));
    }
    play(folder, actions);
    for (const std::string& theme : themes) {
        const Picture page = read_picture(folder / (theme + ".png"));
        REQUIRE(page.width == 1280);
        for (const std::string& key : keys) {
            INFO(theme << ", " << key);
            const Picture covered = read_picture(folder / (theme + key + ".png"));
            REQUIRE(covered.width == page.width);
            // The line below the top bar runs from edge to edge, above every sheet, in one colour.
            const std::uint8_t *before = page.at(640, 43), *after = covered.at(640, 43);
            CHECK_FALSE(std::equal(before, before + 3, after));
            int odd = 0;
            for (int x = 0; x < page.width; ++x) {
                REQUIRE(std::equal(before, before + 3, page.at(x, 43)));
                odd += !std::equal(after, after + 3, covered.at(x, 43));
            }
            CHECK(odd == 0);
        }
    }
}

TEST_CASE("screens: random input leaves the viewer whole", "[viewer][screens][monkey]") {
    if (skipped()) return;
    // Longer, under the address sanitizer: see the README of the tests of the viewer.
    const std::vector<std::string> all = pages();
    for (std::size_t first : {std::size_t{0}, all.size() / 2}) {
        std::string set;
        for (std::size_t n = first; n < (first == 0 ? all.size() / 2 : all.size()); ++n)
            set += (set.empty() ? "" : ",") + all[n];
        const TemporaryFolder folder;
        const Outcome outcome =
            view({"--monkey", "7", "--actions", "1000", "--monkey-pages", set, "--size", "1000x700"}, folder.path());
        INFO(set << ": " << outcome.err << outcome.out);
        CHECK(outcome.status == 0);
        CHECK(outcome.err.empty());
        const Json visited = Json::parse(outcome.out).at("pages");  // a click on the rail may lead to others as well
        for (std::size_t n = first; n < (first == 0 ? all.size() / 2 : all.size()); ++n)
            CHECK(visited.contains(all[n]));
    }
}

}  // namespace locus::test::test_screens
