#include "core/tensor.h"

#include <algorithm>
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace locus {

std::string to_string(const Shape& shape) {
    std::string text = "[";
    constexpr std::size_t kMost = 32;  // a file may hold a shape of any length, and a sentence names it
    for (std::size_t axis = 0; axis < std::min(shape.size(), kMost); ++axis)
        text += (axis ? ", " : "") + std::to_string(shape[axis]);
    if (shape.size() > kMost) text += ", ... " + std::to_string(shape.size()) + " sizes";
    return text + "]";
}

Index element_count(const Shape& shape) {
    for (const Index extent : shape) LOCUS_CHECK(extent >= 0, "shape " + to_string(shape) + " has a negative extent");
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    Index count = 1;
    for (const Index extent : shape) {
        LOCUS_CHECK(count <= std::numeric_limits<Index>::max() / extent,
                    "shape " + to_string(shape) + " has more numbers than can be counted");
        count *= extent;
    }
    return count;
}

void keep_freed_memory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace locus
