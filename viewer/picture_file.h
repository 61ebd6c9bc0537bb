#pragma once
// Pictures on disk.
#include <filesystem>

#include "viewer/plots/heatmap_image.h"

namespace locus {

/// Writes a PNG, as a whole or not at all.  Throws Error(unreadable) that names the file and the reason.
void write_picture(const std::filesystem::path& file, const Pixels& picture);

}  // namespace locus
