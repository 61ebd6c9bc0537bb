// Export as a program: what is on screen leaves it whole, says how it was made, and is made again by that.
#include <catch2/catch.hpp>

#include <pugixml.hpp>

#include "tests/viewer/run_view.h"
#include "viewer/export/export_request.h"
#include "viewer/export/picture_file.h"
#include "viewer/state/command_line.h"
#include "viewer/state/state.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

namespace locus::test::test_export {

#pragma GCC diagnostic pop

namespace {

/// What a PNG file says of itself under a keyword.
std::string note_of(const std::string& png, const std::string& keyword) {
    for (std::size_t at = 8; at + 12 <= png.size();) {
        std::uint32_t length = 0;
        for (std::size_t n = 0; n < 4; ++n) length = length << 8 | static_cast<unsigned char>(png[at + n]);
        const std::string body = png.substr(at + 8, length);
        if (png.compare(at + 4, 4, "iTXt") == 0 && body.starts_with(keyword + std::string(5, '\0')))
            return body.substr(keyword.size() + 5);
        at += length + 12;
    }
    return {};
}

/// CRC-32 bit by bit, as ISO 3309 divides.
std::uint32_t crc_32(std::string_view bytes) {
    std::uint32_t sum = ~0u;
    for (const char byte : bytes) {
        sum ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit) sum = (sum & 1) != 0 ? sum >> 1 ^ 0xedb88320u : sum >> 1;
    }
    return ~sum;
}

/// The names of a PNG file's chunks; "wrong sum" in the place of one whose sum is another.
std::vector<std::string> chunks_of(const std::string& png) {
    const auto number = [&](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t n = 0; n < 4; ++n) value = value << 8 | static_cast<unsigned char>(png.at(at + n));
        return value;
    };
    std::vector<std::string> names;
    for (std::size_t at = 8; at + 12 <= png.size(); at += number(at) + 12)
        names.push_back(crc_32(std::string_view(png).substr(at + 4, number(at) + 4)) == number(at + 8 + number(at))
                            ? png.substr(at + 4, 4)
                            : "wrong sum");
    return names;
}

Pixels pixels_of(const std::string& png) {
    int width = 0, height = 0, channels = 0;
    stbi_uc* read = stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(png.data()), static_cast<int>(png.size()),
                                          &width, &height, &channels, 4);
    Pixels pixels{width, height, {}};
    if (read) pixels.rgba.assign(read, read + static_cast<std::ptrdiff_t>(width) * height * 4);
    stbi_image_free(read);
    return pixels;
}

}  // namespace

TEST_CASE("png: notes are chunks with right sums, and the pixels are those that were given", "[view][export]") {
    Pixels picture{3, 2, {}};
    for (int n = 0; n < 24; ++n) picture.rgba.push_back(static_cast<std::uint8_t>(n * 10));
    const std::string png = png_bytes(picture, {{"Software", "Locus"}, {"Source", "locus view --text '발 없는'"}});
    CHECK(note_of(png, "Source") == "locus view --text '발 없는'");
    CHECK(note_of(png, "Software") == "Locus");
    CHECK(pixels_of(png).rgba == picture.rgba);
    CHECK(crc_32("123456789") == 0xcbf43926u);  // the check value of CRC-32
    CHECK(chunks_of(png) == std::vector<std::string>{"IHDR", "iTXt", "iTXt", "IDAT", "IEND"});
    make_opaque(picture);
    const Pixels solid = pixels_of(png_bytes(picture));
    CHECK(solid.rgba == picture.rgba);
    CHECK(cropped(picture, 1, 0, 1, 1).rgba == std::vector<std::uint8_t>{40, 50, 60, 255});
    CHECK(cropped(picture, 1, 1, 1, 1).rgba == std::vector<std::uint8_t>{160, 170, 180, 255});
    CHECK(cropped(picture, 2, 0, 1, 2).rgba == std::vector<std::uint8_t>{80, 90, 100, 255, 200, 210, 220, 255});
    CHECK(cropped(picture, 1, 1, 5, 5).rgba ==
          std::vector<std::uint8_t>(picture.rgba.begin() + 16, picture.rgba.end()));
}

TEST_CASE("png: what was drawn onto nothing gets its own colours back", "[view][export]") {
    // Drawn over a clear ground, every part is multiplied by its opacity.
    Pixels picture{4, 1, {50, 0, 100, 100, 9, 9, 9, 0, 10, 20, 30, 255, 64, 65, 66, 64}};
    divide_by_opacity(picture);
    CHECK(picture.rgba == std::vector<std::uint8_t>{128, 0, 255, 100, 9, 9, 9, 0, 10, 20, 30, 255, 255, 255, 255, 64});
}

TEST_CASE("export: a name that is taken is counted on", "[view][export]") {
    const TemporaryFolder folder;
    CHECK(free_name(folder / "a.png") == folder / "a.png");
    write_file(folder / "a.png", "");
    CHECK(free_name(folder / "a.png") == folder / "a-2.png");
    write_file(folder / "a-2.png", "");
    CHECK(free_name(folder / "a.png") == folder / "a-3.png");
    fs::create_symlink(folder / "gone", folder / "b.svg");  // writing there would make "gone"
    CHECK(free_name(folder / "b.svg") == folder / "b-2.svg");
}

TEST_CASE("export: a wish says itself in words, and is refused where no file can hold it", "[view][export]") {
    using Words = std::vector<std::string>;
    ExportRequest request{"/elsewhere/a.png"};
    CHECK(request.words() == Words{"--export", "a.png"});
    request.region = "probs";
    request.pixels = 4;
    request.transparent = true;
    request.file = "-a.png";  // which would be an option
    CHECK(request.words() == Words{"--export", "./-a.png", "--region", "probs", "--pixels", "4", "--transparent"});
    const auto refused = [](const char* file, const std::string& region, int pixels, bool transparent) {
        ExportRequest wish{file};
        wish.region = region;
        wish.pixels = pixels;
        wish.transparent = transparent;
        try {
            check(wish);
        } catch (const Error& error) {
            return error.exit_status() == 2;
        }
        return false;
    };
    for (const int pixels : {1, 2, 4}) CHECK_FALSE(refused("a.png", "page", pixels, true));
    for (const int pixels : {-1, 0, 3, 5, 8}) CHECK(refused("a.png", "page", pixels, false));
    CHECK_FALSE(refused("a.svg", "page", 1, true));
    CHECK(refused("a.svg", "page", 2, false));
    for (const char* numbers : {"a.csv", "a.npy", "a.safetensors"}) {
        CHECK_FALSE(refused(numbers, "probs", 1, false));
        CHECK(refused(numbers, "probs", 1, true));
        CHECK(refused(numbers, "probs", 2, false));
    }
    CHECK(refused("a.png", "", 1, false));
    CHECK(refused("a.gif", "page", 1, false));
}

TEST_CASE("export: wrong wishes are refused before a window opens", "[view][export][cli]") {
    const auto refusal = [](const std::vector<std::string>& arguments, const std::string& named) {
        const Outcome outcome = run("locus-view", arguments, "unset DISPLAY WAYLAND_DISPLAY; ");
        INFO(outcome.err);
        CHECK(outcome.status == 2);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(named) != std::string::npos);
    };
    refusal({"--export", "a.gif"}, "a.gif");
    refusal({"--export", "a.png", "--pixels", "3"}, "--pixels is 3");
    refusal({"--export", "a.svg", "--pixels", "2"}, "--pixels");
    refusal({"--export", "a.csv", "--transparent"}, "--transparent");
    refusal({"--region", "page"}, "--export");
    refusal({"--export", "a.png", "--export", "b.png", "--export", "c.png", "--region", "page", "--region", "screen"},
            "--region is given 2 times");
    refusal({"--export", "a.csv", "--export", "b.svg", "--pixels", "2"}, "--pixels goes with .png alone");
    refusal({"--export", "a.csv", "--export", "b.npy", "--transparent"}, "--transparent goes with .png and .svg");
    refusal({"--export", "a.png", "--region", ""}, "--region is empty");
    refusal({"--transparent"}, "--export");
    refusal({"--set", "layer=17"}, "layer is 17");
    refusal({"--set", "head=17"}, "head is 17");
    refusal({"--set", "cell=3,99"}, "cell is \"3,99\"");
}

TEST_CASE("export: every page is a figure that parses, with the words and numbers of the screen",
          "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    std::string list = run("locus-view", {"--list-pages"}).out;
    std::istringstream pages(list);
    for (std::string page; std::getline(pages, page);) {
        const fs::path svg = folder / (page + ".svg");
        const Outcome outcome = view({"--page", page, "--export", svg.string(), "--region", "screen"});
        INFO(page << ": " << outcome.err);
        REQUIRE(outcome.status == 0);
        pugi::xml_document document;
        REQUIRE(document.load_file(svg.c_str()));
        std::string words;
        for (const auto& text : document.select_nodes("//text")) words += std::string(text.node().child_value()) + "\n";
        CHECK(words.find("Locus\n") != std::string::npos);
        for (const char* title : {"Positions\n", "Attention\n", "RoPE\n", "Permutation\n"})
            CHECK(words.find(title) != std::string::npos);
        CHECK(document.select_nodes("//line | //rect | //path | //image").size() > 50);
        CHECK(std::string(document.select_node("//metadata/*[2]").node().child_value()).starts_with("locus view "));
        CHECK(fs::file_size(svg) < 3'000'000);
    }
}

TEST_CASE("export: the command in a picture draws it again, byte by byte, at every density",
          "[view][export][cli][law]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const std::vector<std::vector<std::string>> screens = {
        {"--text", "it's \"a\" new [MASK].", "--layer", "1", "--head", "2", "--cell", "2,4", "--theme", "light",
         "--region", "screen", "--set", "view=1.5,0.5,4", "--pixels", "2"},
        {"--page", "decoder", "--set", "decoder.head=1", "--set", "decoder.view=0.5,1,6", "--transparent"},
        {"--page", "positions", "--set", "positions.kind=clamp", "--set", "positions.cell=3,9", "--set",
         "positions.view=2,1,10", "--size", "1024x700", "--pixels", "4"},
        {"--page", "rope", "--set", "rope.m=9", "--set", "rope.layout=half-split", "--scale", "1.15", "--size",
         "1920x1200"},
        {"--page", "compare", "--set", "compare.stage=layer.1.c2p", "--set", "compare.head=2", "--region", "B-A"},
        {"--region", "probs", "--pixels", "2", "--transparent"}};
    for (const std::vector<std::string>& screen : screens) {
        const TemporaryFolder first, second;
        std::vector<std::string> arguments = screen;
        arguments.insert(arguments.end(), {"--export", (first / "it's.png").string()});
        const Outcome drawn = view(arguments);
        INFO(drawn.err);
        REQUIRE(drawn.status == 0);
        const std::string png = read_file(first / "it's.png"), line = note_of(png, "Source");
        CHECK(line.starts_with("locus view"));
        const Outcome again = view_line(line, second.path());
        INFO(line << "\n" << again.err);
        CHECK(again.status == 0);
        CHECK(read_file(second / "it's.png") == png);
        CHECK(pixels_of(png).width > 100);
    }
}

TEST_CASE("export: a transparent picture has no background, and the same strokes", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    REQUIRE(view({"--export", (folder / "solid.png").string(), "--region", "screen"}).status == 0);
    REQUIRE(view({"--export", (folder / "clear.png").string(), "--region", "screen", "--transparent", "--screenshot",
                  (folder / "shot.png").string()})
                .status == 0);
    const Pixels solid = pixels_of(read_file(folder / "solid.png")), clear = pixels_of(read_file(folder / "clear.png"));
    CHECK(solid.rgba == pixels_of(read_file(folder / "shot.png")).rgba);
    REQUIRE(clear.rgba.size() == solid.rgba.size());
    const auto pixel = [](const Pixels& pixels, int x, int y) {
        return &pixels.rgba[static_cast<std::size_t>(y * pixels.width + x) * 4];
    };
    CHECK(pixel(clear, 160, 110)[3] == 0);  // the page
    CHECK(pixel(clear, 20, 780)[3] == 0);   // the rail, a panel
    CHECK(pixel(solid, 160, 110)[3] == 255);
    // Laid over the background again it is the solid picture, but for rounding.
    std::size_t seen = 0, wrong = 0;
    for (int y = 97; y < 750; ++y)
        for (int x = 149; x < 980; ++x) {
            const std::uint8_t* over = pixel(clear, x, y);
            seen += over[3] == 255;
            for (int n = 0; n < 3; ++n) {
                const int background = pixel(solid, 160, 110)[n];
                const double mixed = (over[n] * over[3] + background * (255 - over[3])) / 255.0;
                wrong += std::abs(mixed - pixel(solid, x, y)[n]) > 4;
            }
        }
    CHECK(seen > 100'000);
    CHECK(wrong == 0);
}

TEST_CASE("export: where it cannot be written it says so once and leaves nothing", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    for (const std::string name : {"a.png", "a.svg", "a.csv", "a.safetensors"}) {
        const TemporaryFolder folder;
        write_file(folder / "file", "no folder");
        const Outcome outcome = view({"--region", "probs", "--export", (folder / "file" / name).string()});
        INFO(outcome.err);
        CHECK(outcome.status == 3);
        CHECK(outcome.sentences() == 1);
        CHECK(outcome.err.find(name) != std::string::npos);
        CHECK(listing(folder.path()) == std::vector<std::string>{"file"});
    }
    const TemporaryFolder folder;
    const Outcome outcome = view({"--region", "paintings", "--export", (folder / "a.svg").string()});
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find("paintings") != std::string::npos);
    CHECK(outcome.err.find("probs") != std::string::npos);
    CHECK(listing(folder.path()).empty());
}

TEST_CASE("view: --set that the page cannot keep is refused, not bent", "[view][export][cli]") {
    if (!has_virtual_display()) {
        WARN("skipped: xvfb-run is missing, so no picture can be drawn");
        return;
    }
    const TemporaryFolder folder;
    const Outcome outcome =
        view({"--page", "positions", "--set", "positions.cell=3,60", "--screenshot", (folder / "a.png").string()});
    CHECK(outcome.status == 2);
    CHECK(outcome.err.find("positions.cell is \"3,60\"") != std::string::npos);
    CHECK(listing(folder.path()).empty());
}

}  // namespace locus::test::test_export
