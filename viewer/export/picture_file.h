#pragma once
// Pictures on disk.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "viewer/plots/colour_map.h"

namespace locus {

/// What a picture says of itself, by keywords such as "Software".
using PictureNotes = std::vector<std::pair<std::string, std::string>>;

/// A PNG with its notes in front of the pixels (chunks iTXt, UTF-8); without an alpha channel where nothing is
/// transparent.
std::string png_bytes(const Pixels& picture, const PictureNotes& notes = {});

/// Writes a PNG, as a whole or not at all.  Throws Error(unreadable) that names the file and the reason.
void write_picture(const std::filesystem::path& file, const Pixels& picture, const PictureNotes& notes = {});

/// Colours that came out multiplied with their opacity become what a PNG file holds.
void divide_by_opacity(Pixels& picture);
void make_opaque(Pixels& picture);

/// The part of a picture from (x, y) on; what is outside of it is left out.
Pixels cropped(const Pixels& picture, int x, int y, int width, int height);

}  // namespace locus
