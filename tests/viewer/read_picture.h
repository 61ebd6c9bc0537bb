#pragma once
// PNG files as tests look at them.
#include <cstdint>
#include <filesystem>
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

}  // namespace locus::test
