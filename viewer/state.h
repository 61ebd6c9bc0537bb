#pragma once
// Everything the screen remembers, in one place; the defaults are what a newcomer should see.
#include <string>

#include "core/models/dialect.h"
#include "core/tensor.h"
#include "viewer/compare_state.h"
#include "viewer/exhibit_choice.h"
#include "viewer/plots/colour_map.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/text_page_state.h"

namespace locus {

/// The Positions page: a tape short enough to see every cell, and small enough a table to see every part of the line.
struct PositionsState {
    double length = 24;    // T
    double span = 16;      // k: clamp distance, or number of buckets
    double farthest = 20;  // max position: where the logarithm ends
    std::size_t kind = 1;  // 0 clamp, 1 log buckets
    Cell cell{18, 5};
    bool locked = false;
};

/// The RoPE page: the head of tiny-roformer that looks one token back, at a pair where it does.
struct RopeState {
    Index m = 5, n = 4;        // positions of query and key
    double shift = 0;          // t, added to both
    Index query = 5, key = 4;  // tokens whose vectors are shown
    Index layer = 1, head = 2;
    std::size_t layout = 0;  // 0 interleaved, 1 half-split
    Index base = 2;          // of kRopeBases
    Index scaling = 0;       // as RopeScaling
    Index factor = 4;        // s
};

/// The Transformer-XL page: a head that finds in memory what the segment does not hold.
struct MemoryState {
    Index memory = 24;  // M
    Index layer = 0, head = 0;
    Cell cell{10, 18};  // query of the segment, key of memory and segment
    bool locked = true;
    Index frame = 4;  // of the shift film: where cells have leaked
    bool playing = false;
};

/// The Permutation page: two targets of tiny-xlnet's sentence, in the order in which the second is easy.
struct PermutationState {
    std::size_t sentence = 0;  // 0 the model's, 1 the proverb, 2 four tokens
    Index layer = 3, head = 0;
    Index card = -1;  // the card that the keys move; -1: the last one
    Index row = -1;   // position whose row is explained; -1: the last one predicted
};

struct State {
    std::string model = "tiny-v3";  // what is open: a folder, or the name of a built-in one
    std::string wanted_model;       // what is to be opened next; nothing: this one stays
    std::string page = "attention";
    std::string text = "a new [MASK] opened beside the new [MASK].";
    std::string tokens, mask;  // given instead of a text
    Dialect dialect = Dialect::official;
    ThemeName theme = ThemeName::dark;
    float zoom = 1;              // of the whole screen
    bool reduce_motion = false;  // nothing moves by itself

    Index layer = 2, head = 3;
    Cell cell{3, 5};
    bool locked = true;  // the pointer does not move the cell
    MatrixView view;
    int shown_term = -1;  // whose channels the microscope draws: 0 c2c, 1 c2p, 2 p2c; -1 the strongest

    Index decoder_head = -1;  // -1: mean of heads
    double strength = 1;
    ExhibitChoices exhibits;
    PositionsState positions;
    RopeState rope;
    MemoryState memory;
    PermutationState permutation;
    TextPageState text_page;
    CompareState compare;

    bool editing = false;
    bool key_sheet = false;
    bool palette = false;
    /// True while something on screen moves by itself.
    bool film_runs() const { return page == "transformer-xl" && memory.playing; }
    double flash_until = 0;  // seconds since the start: until then changed cells glow
    std::string notice;      // one sentence for a while, e.g. where a screenshot went; the frame takes it and shows it
    std::string refusal;     // the same, where something was refused: it says why
};

}  // namespace locus
