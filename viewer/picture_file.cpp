#include "viewer/picture_file.h"

#include "core/io/whole_file.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace locus {

void write_picture(const std::filesystem::path& file, const Pixels& picture) {
    write_whole_file(file, [&](const ByteSink& sink) {
        const auto forward = [](void* context, void* bytes, int count) {
            (*static_cast<const ByteSink*>(context))(bytes, static_cast<std::size_t>(count));
        };
        if (!stbi_write_png_to_func(forward, const_cast<ByteSink*>(&sink), picture.width, picture.height, 4,
                                    picture.rgba.data(), picture.width * 4))
            throw Error(Fault::unreadable, file.string() + ": the picture could not be packed as PNG");
    });
}

}  // namespace locus
