#include "core/tensor.h"

#include <algorithm>

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
    Index count = 1;
    for (const Index extent : shape) {
        LOCUS_CHECK(extent >= 0, "shape " + to_string(shape) + " has a negative extent");
        count *= extent;
    }
    return count;
}

}  // namespace locus
