#include "core/io/assets.h"

namespace locus {

std::filesystem::path asset_path(const std::filesystem::path& name) {
    return std::filesystem::path(LOCUS_ASSETS) / name;
}

}  // namespace locus
