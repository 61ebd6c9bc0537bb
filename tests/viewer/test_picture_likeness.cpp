// What the comparison of screenshots sees and what it forgives.
#include <catch2/catch.hpp>

#include "tests/viewer/picture_likeness.h"

namespace locus::test::test_picture_likeness {

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

}  // namespace locus::test::test_picture_likeness
