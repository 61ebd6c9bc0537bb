#include "viewer/export/export_request.h"

#include <array>

namespace locus {

namespace {

constexpr std::array<const char*, 5> kFormats = {"png", "svg", "csv", "npy", "safetensors"};

}  // namespace

const char* to_string(ExportFormat format) { return kFormats.at(static_cast<std::size_t>(format)); }

ExportFormat format_of(const std::filesystem::path& file) {
    for (std::size_t n = 0; n < kFormats.size(); ++n)
        if (file.extension() == std::string(".") + kFormats[n]) return static_cast<ExportFormat>(n);
    throw Error(Fault::usage, "--export is \"" + file.string() +
                                  "\", expected a name that ends in .png, .svg, .csv, .npy or .safetensors");
}

std::vector<std::string> ExportRequest::words() const {
    const ExportRequest defaults;
    const std::string name = file.filename().string();
    std::vector<std::string> words = {"--export", name.starts_with('-') ? "./" + name : name};
    if (region != defaults.region) words.insert(words.end(), {"--region", region});
    if (pixels != defaults.pixels) words.insert(words.end(), {"--pixels", std::to_string(pixels)});
    if (transparent) words.emplace_back("--transparent");
    return words;
}

void check(const ExportRequest& request) {
    const ExportFormat format = request.format();
    LOCUS_CHECK(request.pixels == 1 || request.pixels == 2 || request.pixels == 4,
                "--pixels is " + std::to_string(request.pixels) + ", expected 1, 2 or 4");
    LOCUS_CHECK(request.pixels == 1 || format == ExportFormat::png,
                "--pixels goes with .png alone, found " + request.file.string());
    LOCUS_CHECK(!request.transparent || is_picture(format),
                "--transparent goes with .png and .svg, found " + request.file.string());
    LOCUS_CHECK(!request.region.empty(), "--region is empty, expected page, screen or the name of a matrix");
}

std::filesystem::path free_name(const std::filesystem::path& file) {
    std::filesystem::path name = file;
    std::error_code ignored;
    for (int n = 2; std::filesystem::exists(std::filesystem::symlink_status(name, ignored)); ++n)
        name = file.parent_path() / (file.stem().string() + "-" + std::to_string(n) + file.extension().string());
    return name;
}

}  // namespace locus
