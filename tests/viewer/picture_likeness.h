#pragma once
// PNG files as tests look at them, and whether two pictures show the same, whichever rasteriser drew the letters.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace locus::test {

/// Rows from the top, 3 bytes a pixel.
struct Picture {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgb;

    const std::uint8_t* at(int x, int y) const { return rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width + x); }
    std::uint8_t* at(int x, int y) { return rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width + x); }
};

/// Empty where the file is no picture.
inline Picture read_picture(const std::filesystem::path& file) {
    Picture picture;
    int channels = 0;
    unsigned char* pixels = stbi_load(file.c_str(), &picture.width, &picture.height, &channels, 3);
    if (!pixels) return {};
    picture.rgb.assign(pixels, pixels + std::ptrdiff_t{3} * picture.width * picture.height);
    stbi_image_free(pixels);
    return picture;
}

/// Means over squares of factor x factor pixels, `levels` steps per colour; what is left over at the right and below is
/// dropped.
inline Picture shrunk(const Picture& picture, int factor, int levels = 256) {
    Picture small{picture.width / factor, picture.height / factor, {}};
    small.rgb.resize(std::size_t{3} * static_cast<std::size_t>(small.width * small.height));
    for (int y = 0; y < small.height; ++y)
        for (int x = 0; x < small.width; ++x)
            for (int c = 0; c < 3; ++c) {
                int sum = 0;
                for (int dy = 0; dy < factor; ++dy)
                    for (int dx = 0; dx < factor; ++dx) sum += picture.at(x * factor + dx, y * factor + dy)[c];
                const double mean = static_cast<double>(sum) / (factor * factor) / 255;
                small.at(x, y)[c] =
                    static_cast<std::uint8_t>(std::lround(std::round(mean * (levels - 1)) / (levels - 1) * 255));
            }
    return small;
}

struct Likeness {
    double colour = 0;  // largest difference of the mean colour of a block, of 255
    double shape = 1;   // smallest structural similarity of a block in which there is something to see
    int colour_x = 0, colour_y = 0, shape_x = 0, shape_y = 0;

    bool alike() const { return colour <= 14 && shape >= 0.45; }
    std::string words() const {
        const auto at = [](int x, int y) { return " at " + std::to_string(x) + "," + std::to_string(y); };
        return "mean colour differs by " + std::to_string(colour) + at(colour_x, colour_y) + ", least likeness " +
               std::to_string(shape) + at(shape_x, shape_y);
    }
};

/// Both of one size.  Blocks of 8 x 8 pixels, every 4.  Shape is the structural similarity of Wang et al. 2004 on
/// luminance, of blocks of which neither is flat: an edge may come to lie on either side of a block's border, and
/// what is there in one picture alone has another mean colour.
inline Likeness likeness(const Picture& a, const Picture& b) {
    constexpr int kBlock = 8, kStep = 4;
    constexpr double kC1 = 6.5025, kC2 = 58.5225, kFlat = 60;  // (0.01 * 255)^2, (0.03 * 255)^2; a variance
    Likeness found;
    const auto luminance = [](const std::uint8_t* p) { return 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2]; };
    for (int top = 0; top + kBlock <= a.height; top += kStep)
        for (int left = 0; left + kBlock <= a.width; left += kStep) {
            std::array<double, 3> difference{};
            double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
            for (int y = top; y < top + kBlock; ++y)
                for (int x = left; x < left + kBlock; ++x) {
                    for (std::size_t c = 0; c < 3; ++c) difference[c] += a.at(x, y)[c] - b.at(x, y)[c];
                    const double p = luminance(a.at(x, y)), q = luminance(b.at(x, y));
                    sum_a += p;
                    sum_b += q;
                    aa += p * p;
                    bb += q * q;
                    ab += p * q;
                }
            constexpr double n = kBlock * kBlock;
            for (const double d : difference)
                if (std::abs(d) / n > found.colour) {
                    found.colour = std::abs(d) / n;
                    found.colour_x = left;
                    found.colour_y = top;
                }
            const double mean_a = sum_a / n, mean_b = sum_b / n;
            const double var_a = aa / n - mean_a * mean_a, var_b = bb / n - mean_b * mean_b;
            if (std::min(var_a, var_b) < kFlat) continue;
            const double shape = (2 * mean_a * mean_b + kC1) * (2 * (ab / n - mean_a * mean_b) + kC2) /
                                 ((mean_a * mean_a + mean_b * mean_b + kC1) * (var_a + var_b + kC2));
            if (shape < found.shape) {
                found.shape = shape;
                found.shape_x = left;
                found.shape_y = top;
            }
        }
    return found;
}

}  // namespace locus::test
