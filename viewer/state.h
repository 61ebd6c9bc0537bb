#pragma once
// Everything the viewer remembers between frames; the defaults are what a newcomer should see.
#include <string>

#include "core/models/dialect.h"
#include "core/positions/relative_buckets.h"
#include "viewer/plots/heatmap.h"

namespace locus::view {

enum class Page { positions, attention, decoder };

/// The Positions page draws its own table, free of any model; big enough to show the line, the log part and the clamp.
struct PositionSettings {
    int tokens = 40;
    bool logarithmic = true;
    int span = 8;      // clamped offsets
    int buckets = 16;  // log buckets
    int max_position = 32;
    OffsetClamp clamp = OffsetClamp::official;
    Cell cell{30, 6};
    HeatmapView view;
};

struct State {
    Page page = Page::attention;
    bool dark = true;
    float zoom = 1;  // of the whole interface
    std::string model = "tiny-v3";
    std::string text = "a new [MASK] opened beside the new [MASK].";
    std::string tokens;  // ids instead of text, for folders without a tokenizer
    Dialect dialect = Dialect::official;
    double absolute_strength = 1;
    int layer = 2, head = 3;
    Cell cell{3, 5};  // the locked cell: query, key
    bool locked = true;
    Cell pointed;          // hovered in any matrix
    HeatmapView view;      // shared by the matrices of a page
    bool editing = false;  // the text box is open
    bool show_keys = false;
    PositionSettings positions;
};

}  // namespace locus::view
