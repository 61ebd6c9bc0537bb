#pragma once
// What the small pictures on the Start page show besides the answer: every family page as it opens.
#include <string>
#include <vector>

#include "core/tensor.h"
#include "viewer/pages/rope/phasors.h"

namespace locus {

/// A built-in model, for the list on the Start page.
struct BuiltInModel {
    const char* name;
    const char* family;
    const char* page;  // that shows it
};
const std::vector<BuiltInModel>& built_in_models();

/// Empty where a model cannot be opened: its card then has words only.
struct Previews {
    std::vector<Point> before, after;  // hands of a query of tiny-roformer, and the same rotated by its position
    Matrix<float> memory;              // attention of a segment to memory and itself, tiny-txl
    Matrix<float> permuted;            // attention under an order of prediction, tiny-xlnet
    Matrix<float> nearness;            // 1 - word mover's distance / 2 between the default documents
    std::vector<std::string> sizes;    // of the built-in models on disk, "7.8 MB"; empty: not there
};

/// Opens every model: some tenths of a second, meant for a thread of its own.  Never throws.
Previews make_previews();

}  // namespace locus
