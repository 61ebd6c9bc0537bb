#include "viewer/export/picture_file.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/io/atomic_file.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace locus {

namespace {

constexpr std::size_t kFirstChunk = 8;                     // after the signature
constexpr std::size_t kHeaderEnd = kFirstChunk + 12 + 13;  // after IHDR

/// The sum that ends a chunk of a PNG file: CRC-32 of its name and data.
std::uint32_t check_sum(const std::string& bytes) {
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t n = 0; n < 256; ++n) {
            made[n] = n;
            for (int bit = 0; bit < 8; ++bit) made[n] = made[n] & 1 ? 0xedb88320u ^ made[n] >> 1 : made[n] >> 1;
        }
        return made;
    }();
    std::uint32_t sum = 0xffffffffu;
    for (const char byte : bytes) sum = table[(sum ^ static_cast<unsigned char>(byte)) & 0xff] ^ sum >> 8;
    return ~sum;
}

std::string big_endian(std::uint32_t number) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xff);
    return bytes;
}

/// iTXt, not compressed, of no language.
std::string text_chunk(const std::string& keyword, const std::string& text) {
    const std::string body = "iTXt" + keyword + std::string(5, '\0') + text;
    return big_endian(static_cast<std::uint32_t>(body.size() - 4)) + body + big_endian(check_sum(body));
}

bool opaque(const Pixels& picture) {
    for (std::size_t alpha = 3; alpha < picture.rgba.size(); alpha += 4)
        if (picture.rgba[alpha] != 255) return false;
    return true;
}

std::vector<std::uint8_t> without_alpha(const Pixels& picture) {
    std::vector<std::uint8_t> rgb;
    rgb.reserve(picture.rgba.size() / 4 * 3);
    for (std::size_t at = 0; at < picture.rgba.size(); at += 4)
        rgb.insert(rgb.end(), {picture.rgba[at], picture.rgba[at + 1], picture.rgba[at + 2]});
    return rgb;
}

}  // namespace

std::string png_bytes(const Pixels& picture, const PictureNotes& notes) {
    std::string bytes;
    const auto collect = [](void* context, void* more, int count) {
        static_cast<std::string*>(context)->append(static_cast<const char*>(more), static_cast<std::size_t>(count));
    };
    const bool solid = opaque(picture);
    const std::vector<std::uint8_t> rgb = solid ? without_alpha(picture) : std::vector<std::uint8_t>();
    const int channels = solid ? 3 : 4;
    if (!stbi_write_png_to_func(collect, &bytes, picture.width, picture.height, channels,
                                solid ? rgb.data() : picture.rgba.data(), picture.width * channels))
        throw Error(Fault::unreadable, "a picture of " + std::to_string(picture.width) + " x " +
                                           std::to_string(picture.height) + " pixels could not be packed as PNG");
    std::string chunks;
    for (const auto& [keyword, text] : notes) chunks += text_chunk(keyword, text);
    return bytes.insert(kHeaderEnd, chunks);
}

void write_picture(const std::filesystem::path& file, const Pixels& picture, const PictureNotes& notes) {
    const std::string bytes = png_bytes(picture, notes);
    write_atomic_file(file, bytes);
}

void divide_by_opacity(Pixels& picture) {
    for (std::size_t at = 0; at < picture.rgba.size(); at += 4) {
        const int alpha = picture.rgba[at + 3];
        for (std::size_t n = 0; n < 3 && alpha > 0 && alpha < 255; ++n)
            picture.rgba[at + n] =
                static_cast<std::uint8_t>(std::min(255, (picture.rgba[at + n] * 255 + alpha / 2) / alpha));
    }
}

void make_opaque(Pixels& picture) {
    for (std::size_t alpha = 3; alpha < picture.rgba.size(); alpha += 4) picture.rgba[alpha] = 255;
}

Pixels cropped(const Pixels& picture, int x, int y, int width, int height) {
    const int left = std::clamp(x, 0, picture.width), top = std::clamp(y, 0, picture.height);
    Pixels part{
        std::clamp(x + width, left, picture.width) - left, std::clamp(y + height, top, picture.height) - top, {}};
    for (int row = top; row < top + part.height; ++row) {
        const auto from = picture.rgba.begin() + (static_cast<std::ptrdiff_t>(row) * picture.width + left) * 4;
        part.rgba.insert(part.rgba.end(), from, from + static_cast<std::ptrdiff_t>(part.width) * 4);
    }
    return part;
}

}  // namespace locus
