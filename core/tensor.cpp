#include "core/tensor.h"

namespace locus {

std::string to_string(const Shape& shape) {
    std::string text = "[";
    for (std::size_t axis = 0; axis < shape.size(); ++axis) text += (axis ? ", " : "") + std::to_string(shape[axis]);
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
