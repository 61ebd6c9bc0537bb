#pragma once
// What leaves the program as a file: a figure, or its numbers.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/check.h"

namespace locus {

enum class ExportFormat { png, svg, csv, npy, safetensors };

/// "png"
const char* to_string(ExportFormat format);
/// By the ending of the name.  Throws Error(usage) for any other.
ExportFormat format_of(const std::filesystem::path& file);
inline bool is_picture(ExportFormat format) { return format == ExportFormat::png || format == ExportFormat::svg; }

struct ExportRequest {
    std::filesystem::path file;
    std::string region = "page";  // or "screen", "layer" (numbers only), or the name of a matrix on the page
    int pixels = 1;               // of a PNG, per design pixel: 1, 2 or 4
    bool transparent = false;     // no background
    bool replaces = true;         // a file of that name; else the name is counted on

    ExportFormat format() const { return format_of(file); }
    /// Its part of a command line: --export NAME --region ...
    std::vector<std::string> words() const;
};

/// Throws Error(usage) that names the value and what was expected.
void check(const ExportRequest& request);

/// The same name, or "name-2.png" where that is taken, and so on.
std::filesystem::path free_name(const std::filesystem::path& file);

/// What the overlay of Ctrl+E remembers; it is no part of a picture.
struct ExportChoice {
    bool open = false;
    bool copies = false;                  // the command is copied after this frame
    std::optional<ExportRequest> wanted;  // written as soon as what was asked for is on screen
    std::size_t row = 0;                  // that the keys change
    std::size_t region = 0;               // of what the page offers
    std::size_t format = 0;               // as ExportFormat
    std::size_t pixels = 1;               // 0, 1, 2: once, twice, four times
    bool transparent = false;
    std::string folder;  // empty: the current one
    std::string name;    // empty: one that says what it is
};

}  // namespace locus
