#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

#include "core/io/whole_file.h"
#include "viewer/window.h"

namespace locus::view {

void write_png(const std::string& file, const Picture& picture) {
    write_whole_file(file, [&](const ByteSink& sink) {
        const auto forward = [](void* context, void* data, int size) {
            (*static_cast<const ByteSink*>(context))(data, static_cast<std::size_t>(size));
        };
        stbi_write_png_to_func(forward, const_cast<ByteSink*>(&sink), picture.width, picture.height, 4,
                               picture.pixels.data(), picture.width * 4);
    });
}

}  // namespace locus::view
