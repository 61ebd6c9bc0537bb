// From --export, --region, --pixels and --transparent to what is written.
#include "core/check.h"
#include "viewer/options.h"

namespace locus {

std::vector<ExportRequest> export_requests(const Options& options) {
    const std::size_t count = options.exports.size(), regions = options.regions.size();
    LOCUS_CHECK(count > 0 || (regions == 0 && options.pixels == 1 && !options.transparent),
                "--region, --pixels and --transparent go with --export");
    LOCUS_CHECK(regions <= 1 || regions == count, "--region is given " + std::to_string(regions) +
                                                      " times, expected once, or once for each of the " +
                                                      std::to_string(count) + " files");
    std::vector<ExportRequest> requests;
    bool png = false, picture = false;
    for (std::size_t n = 0; n < count; ++n) {
        ExportRequest request{options.exports[n]};
        if (regions > 0) request.region = options.regions[regions == 1 ? 0 : n];
        const ExportFormat format = request.format();
        png |= format == ExportFormat::png;
        picture |= is_picture(format);
        // What is said for all of them holds for those that it can hold for.
        if (count == 1 || format == ExportFormat::png) request.pixels = options.pixels;
        if (count == 1 || is_picture(format)) request.transparent = options.transparent;
        check(request);
        requests.push_back(std::move(request));
    }
    LOCUS_CHECK(count == 0 || png || options.pixels == 1, "--pixels goes with .png alone, and no --export is one");
    LOCUS_CHECK(count == 0 || picture || !options.transparent,
                "--transparent goes with .png and .svg, and no --export is one");
    return requests;
}

}  // namespace locus
