#pragma once
// What the Attention page remembers.
#include <string>

#include "core/attention/disentangled.h"
#include "viewer/plots/selection.h"

namespace locus {

enum class AttentionPicture { head, all_heads, stage };

/// The page opens on one head with every term in place.
struct AttentionState {
    AttentionPicture picture = AttentionPicture::head;
    std::size_t curve = 0;  // by distance: 0 strength of the terms, 1 share of each
    KeptTerms kept;         // of the shown head
    bool scale_follows = true;
    bool transposed = false;  // queries run across, keys down
    Selection selection;
    std::string stage = "layer.2.context";  // its layer is State::layer
    Cell stage_cell;
    bool table = false;   // the microscope lists the channels
    double scroll = 0;    // of the microscope, in design pixels
    bool copies = false;  // the microscope as text, as soon as it is drawn
};

}  // namespace locus
