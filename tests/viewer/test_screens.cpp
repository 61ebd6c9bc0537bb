// What the comparison of screenshots sees and what it forgives.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/viewer/picture_likeness.h"
#include "tests/viewer/run_view.h"

namespace locus::test::test_screens {

namespace {

using Colour = std::array<std::uint8_t, 3>;

constexpr Colour kBackground = {15, 18, 24}, kPanel = {21, 25, 34}, kText = {231, 234, 241}, kAccent = {79, 143, 247};

/// A drawing in places of any fineness: every edge is as soft as the part of a pixel that it covers.
struct Drawing {
    static constexpr int kFine = 8;  // of a pixel
    int width = 320, height = 200;
    std::vector<Colour> fine =
        std::vector<Colour>(static_cast<std::size_t>(width * height) * kFine * kFine, kBackground);

    void fill(double x0, double y0, double x1, double y1, Colour colour) {
        for (int y = static_cast<int>(y0 * kFine); y < static_cast<int>(y1 * kFine); ++y)
            for (int x = static_cast<int>(x0 * kFine); x < static_cast<int>(x1 * kFine); ++x)
                fine[static_cast<std::size_t>(y * width * kFine + x)] = colour;
    }
    /// Strokes as thin and as dense as those of letters.
    void text(double x, double y, int letters, Colour colour = kText) {
        for (int n = 0; n < letters; ++n) {
            const double left = x + 4.5 * n;
            fill(left, y, left + 0.75, y + 5, colour);
            fill(left, y + (n % 3) * 2, left + 3, y + (n % 3) * 2 + 0.75, colour);
        }
    }
    Picture drawn() const {
        Picture all{width * kFine, height * kFine, {}};
        for (const Colour& pixel : fine) all.rgb.insert(all.rgb.end(), pixel.begin(), pixel.end());
        return shrunk(all, kFine);
    }
};

/// A page: a panel with a heading, rows of text and two coloured matrices; everything `dx` to the right.
Drawing page(double dx = 0, bool with_row = true, Colour accent = kAccent) {
    Drawing drawing;
    drawing.fill(240 + dx, 10, 316, 190, kPanel);
    drawing.text(246 + dx, 20, 12);
    for (int row = 0; row < 6; ++row)
        if (row != 3 || with_row) drawing.text(246 + dx, 40 + 14.0 * row, 9);
    drawing.fill(20, 40, 100, 120, accent);
    drawing.fill(120, 40, 200, 120, {242, 166, 74});
    return drawing;
}

/// What another rasteriser makes of it: edges a quarter of a pixel elsewhere, letters a little bolder.
Picture otherwise_antialiased(const Picture& picture) {
    Picture other = picture;
    for (int y = 0; y < picture.height; ++y)
        for (int x = 1; x < picture.width; ++x)
            for (int c = 0; c < 3; ++c) {
                const double moved = 0.75 * picture.at(x, y)[c] + 0.25 * picture.at(x - 1, y)[c];
                other.at(x, y)[c] = static_cast<std::uint8_t>(std::lround(255 * std::pow(moved / 255, 0.95)));
            }
    return other;
}

}  // namespace

TEST_CASE("likeness: a picture is like itself, and like what another rasteriser draws", "[viewer][likeness]") {
    const Picture drawn = page().drawn();
    CHECK(likeness(drawn, drawn).colour == 0);
    CHECK(likeness(drawn, drawn).shape == Approx(1));
    const Likeness other = likeness(drawn, otherwise_antialiased(drawn));
    INFO(other.words());
    CHECK(other.colour > 0);
    CHECK(other.alike());
}

TEST_CASE("likeness: a shifted panel, a missing line, another colour are seen", "[viewer][likeness]") {
    const Picture drawn = page().drawn();
    for (const auto& [what, other] : {std::pair<std::string, Picture>{"shifted by 2 pixels", page(2).drawn()},
                                      {"without a row", page(0, false).drawn()},
                                      {"with another accent", page(0, true, {95, 168, 245}).drawn()}}) {
        const Likeness found = likeness(drawn, other);
        INFO(what << ": " << found.words());
        CHECK_FALSE(found.alike());
    }
}

TEST_CASE("likeness: small faults of a real page are seen", "[viewer][likeness]") {
    const auto golden = [](const char* name) {
        return read_picture(std::filesystem::path(LOCUS_SOURCE_DIR) / "tests/viewer/golden" / name);
    };
    const auto part = [](const Picture& of, int left, int top, int right, int bottom, auto paint) {
        Picture other = of;
        for (int y = top; y < bottom; ++y)
            for (int x = left; x < right; ++x) paint(other, x, y);
        return other;
    };
    // In pixels of the golden pictures, which are two of the screen's.
    const Picture positions = golden("positions_dark_1280.png"), attention = golden("attention_light_1280.png");
    REQUIRE(positions.width == 640);
    REQUIRE(attention.width == 640);
    const auto erased = [&](const Picture& of, int left, int top, int right, int bottom) {
        return part(of, left, top, right, bottom,
                    [&](Picture& other, int x, int y) { std::copy_n(of.at(left, top), 3, other.at(x, y)); });
    };
    const auto moved = [&](const Picture& of, int left, int top, int right, int bottom, int by) {
        return part(erased(of, left, top, right, bottom), left, top, right, bottom,
                    [&](Picture& other, int x, int y) { std::copy_n(of.at(x, y), 3, other.at(x + by, y)); });
    };
    const auto exchanged = [&](const Picture& of, int left, int top, int right, int bottom) {
        return part(of, left, top, right, bottom,
                    [](Picture& other, int x, int y) { std::swap(other.at(x, y)[0], other.at(x, y)[2]); });
    };
    CHECK_FALSE(likeness(positions, moved(positions, 146, 273, 275, 281, 1)).alike());   // the legend, 2 of the screen
    CHECK_FALSE(likeness(positions, moved(positions, 146, 273, 275, 281, 3)).alike());   // and 6
    CHECK_FALSE(likeness(positions, erased(positions, 440, 274, 484, 281)).alike());     // what the axes mean
    CHECK_FALSE(likeness(positions, erased(positions, 117, 361, 130, 369)).alike());     // one tick
    CHECK_FALSE(likeness(attention, erased(attention, 381, 364, 484, 371)).alike());     // an axis title
    CHECK_FALSE(likeness(attention, exchanged(attention, 380, 241, 483, 349)).alike());  // blue and orange curves
    CHECK_FALSE(likeness(attention, moved(attention, 603, 69, 633, 76, -1)).alike());    // one number of the column
    CHECK_FALSE(likeness(attention, erased(attention, 594, 97, 597, 104)).alike());      // a bar that ends early
}

TEST_CASE("likeness: shrinking keeps the mean and drops what is left over", "[viewer][likeness]") {
    Picture picture{5, 2, {}};
    for (int n = 0; n < 10; ++n) picture.rgb.insert(picture.rgb.end(), {std::uint8_t(n * 10), 100, 255});
    const Picture small = shrunk(picture, 2);
    REQUIRE(small.width == 2);
    REQUIRE(small.height == 1);
    CHECK(int(small.at(0, 0)[0]) == 30);  // of 0, 10, 50, 60
    CHECK(int(small.at(1, 0)[0]) == 50);
    CHECK(int(small.at(1, 0)[1]) == 100);
    CHECK(int(small.at(1, 0)[2]) == 255);
}

}  // namespace locus::test::test_screens

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

namespace locus::test::test_screens {

// Every page as it looks: nothing cut off at any size, and the same picture as last time.
//
// The golden pictures are halves or thirds of screenshots.  After a page has changed on purpose, look at it and renew
// them all with
//   build/release/bin/locus-tests "[renew-screens]"

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
constexpr Screen kFitting[] = {{1024, 700, 1, 1},  {1280, 800, 1, 1},  {1280, 800, 2, 1},
                               {1920, 1200, 2, 1}, {2560, 1600, 2, 1}, {1080, 1920, 1, 1}};

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

using Box = std::array<double, 4>;  // x0, y0, x1, y1 in pixels

/// What a line of {"print": "items"} holds.
std::map<std::string, Box> boxes_in(std::istream& lines) {
    std::string line;
    REQUIRE(static_cast<bool>(std::getline(lines, line)));
    return Json::parse(line).at("items").get<std::map<std::string, Box>>();
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
    CHECK(looks.size() >= 42);
}

TEST_CASE("screens: the list of keys, the palette and the export overlay fit, on every page and at any size",
          "[viewer][screens][layout]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    std::vector<std::string> looks;
    // What they hold depends on the page, where it has its place on the size: every page where there is least room, and
    // one page at every size.
    const std::string small = name_of(kFitting[2]);
    const Json actions = at_every_size([&](Json& here, const std::string& look) {
        if (!look.starts_with("attention, ") && !look.ends_with(small)) return;
        for (const char* key : {"?", "Ctrl+P", "Ctrl+E"}) {
            looks.push_back(look + ", after " + key);
            append(here, Json::array({{{"key", key}}, {{"print", "faults"}}, {{"key", "Escape"}}}));
        }
    });
    CHECK(looks.size() == 3 * (pages().size() + std::size(kFitting) - 1));
    check_no_faults(play(folder, actions), looks);
}

TEST_CASE("screens: an overlay dims all of the page, to the edges of the window", "[viewer][screens]") {
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

TEST_CASE("screens: a window that is higher than wide is filled to its foot", "[viewer][screens][layout]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    const std::vector<std::string> names = {"attention", "compare", "permutation", "rope", "transformer-xl"};
    Json actions = Json::array();
    for (const std::pair<int, int>& size : {std::pair{1280, 800}, std::pair{1080, 1920}}) {
        actions.push_back({{"size", {size.first, size.second}}});
        for (const std::string& page : names) append(actions, Json::array({{{"page", page}}, {{"print", "items"}}}));
    }
    std::istringstream lines(play(folder, actions));
    std::map<std::string, std::map<std::string, Box>> wide, tall;
    for (auto* look : {&wide, &tall})
        for (const std::string& page : names) (*look)[page] = boxes_in(lines);
    const auto width = [](const Box& box) { return box[2] - box[0]; };

    // Attention: the probabilities take both columns, the curves are below them.
    CHECK(width(wide["attention"].at("probs")) == width(wide["attention"].at("c2c")));
    CHECK(width(tall["attention"].at("probs")) > 1.9 * width(tall["attention"].at("c2c")));
    CHECK(tall["attention"].at("strength")[1] > tall["attention"].at("probs")[3]);
    CHECK(tall["attention"].at("strength")[3] > 1800);
    // Compare: so does the difference.
    CHECK(width(wide["compare"].at("B-A")) == width(wide["compare"].at("A")));
    CHECK(width(tall["compare"].at("B-A")) > 1.9 * width(tall["compare"].at("A")));
    CHECK(tall["compare"].at("B-A")[1] > tall["compare"].at("A")[3]);
    // Permutation: the masks are above each other, RoPE: the dials beside each other.
    CHECK(wide["permutation"].at("g")[1] == wide["permutation"].at("h")[1]);
    CHECK(tall["permutation"].at("g")[1] > tall["permutation"].at("h")[3]);
    CHECK(wide["rope"].at("k0")[1] > wide["rope"].at("q0")[3]);
    CHECK(tall["rope"].at("k0")[1] == tall["rope"].at("q0")[1]);
    // Transformer-XL: no more room is left under the steps of the shift than they take.
    CHECK(tall["transformer-xl"].at("scores")[3] > 1500);
}

TEST_CASE("screens: numbers that would touch are not written", "[viewer][screens][layout]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    // Letters shrink less than the rest of a small page, so four of them fill a whole cell there.
    play(folder, Json::array({{{"page", "attention"}},
                              {{"size", {800, 1280}}},
                              {{"assert", {{"no_text", "\u22129.7"}}}},
                              {{"size", {2560, 1600}}},
                              {{"assert", {{"text", "\u22129.7"}}}}}));
}

TEST_CASE("screens: a word that the vocabulary lacks is read, and what the model reads for it where there is room",
          "[viewer][screens]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    play(folder, Json::array({{{"page", "transformer-xl"}},
                              {{"set", "memory.text=the dragon went to the castle ."}},
                              {{"assert", {{"text", "castle <unk> . \u2026"}}}},  // in the column
                              {{"assert", {{"no_text", "castle <\u2026"}}}},      // on the tape is no room for it
                              {{"assert", {{"no_text", "castle \u2026"}}}},
                              {{"page", "rope"}},
                              {{"set", "rope.text=\u6f22 opened beside the [MASK]."}},
                              {{"set", "rope.query=1"}},
                              {{"assert", {{"text", "\u6f22 [UNK]"}}}}}));
}

TEST_CASE("screens: a steep curve is drawn whole, to its tip and back", "[viewer][screens]") {
    if (skipped()) return;
    const TemporaryFolder folder;
    // Between the dialects official and paper the largest difference rises from 0 to 31 and falls again within one step
    // of the distance; in a window that is higher than wide these lines are nearly upright.
    play(folder, Json::array({{{"size", {800, 2000}}}, {{"page", "compare"}}, {{"screenshot", "compare.png"}}}));
    const Picture page = read_picture(folder / "compare.png");
    REQUIRE(page.height == 2000);
    int without = 0, rows = 0;
    for (int y = 1060; y < 1920; ++y, ++rows) {
        bool left = false, right = false;  // of the middle, where the distance is 0
        for (int x = 322; x < 400; ++x) {
            const std::uint8_t* pixel = page.at(x, y);
            if (pixel[2] > 120 && pixel[2] > 2 * pixel[0]) (x < 361 ? left : right) = true;
        }
        without += !left + !right;
    }
    INFO(rows << " rows");
    CHECK(without == 0);
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
            view({"--monkey", "7", "--actions", "400", "--monkey-pages", set, "--size", "1000x700"}, folder.path());
        INFO(set << ": " << outcome.err << outcome.out);
        CHECK(outcome.status == 0);
        CHECK(outcome.err.empty());
        const Json visited = Json::parse(outcome.out).at("pages");  // a click on the rail may lead to others as well
        for (std::size_t n = first; n < (first == 0 ? all.size() / 2 : all.size()); ++n)
            CHECK(visited.contains(all[n]));
    }
}

}  // namespace locus::test::test_screens
