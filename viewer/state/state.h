#pragma once
// Everything the screen remembers, in one place; the defaults are what a newcomer should see.
#include <string>
#include <vector>

#include "core/models/dialect.h"
#include "core/tensor.h"
#include "viewer/export/export_request.h"
#include "viewer/plots/colour_map.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/plots/pyramid.h"
#include "viewer/state/attention_state.h"
#include "viewer/state/compare_state.h"
#include "viewer/state/conformance_state.h"
#include "viewer/state/memory_state.h"
#include "viewer/state/model_choice.h"
#include "viewer/state/permutation_state.h"
#include "viewer/state/recent.h"
#include "viewer/state/text_page_state.h"
#include "viewer/state/training_state.h"
#include "viewer/ui/animation.h"
#include "viewer/ui/tour.h"

namespace locus {

/// The Positions page: a tape short enough to see every cell, and small enough a table to see every part of the line.
struct PositionsState {
    double length = 24;    // T
    double span = 16;      // k: clamp distance, or number of buckets
    double farthest = 20;  // max position: where the logarithm ends
    std::size_t kind = 1;  // 0 clamp, 1 log buckets
    Cell cell{18, 5};
    bool locked = false;
    MatrixView view;
};

/// The RoPE page: the head of tiny-roformer that looks one token back, at a pair where it does.
struct RopeState {
    Index m = 5, n = 4;        // positions of query and key
    Film shift;                // t, added to both; it may run
    Index query = 5, key = 4;  // tokens whose vectors are shown
    Index layer = 1, head = 2;
    std::size_t layout = 0;  // 0 interleaved, 1 half-split
    Index base = 2;          // of kRopeBases
    Index scaling = 0;       // as RopeScaling
    Index factor = 4;        // s
    std::size_t shown = 0;   // 0 the walk, 1 scores, 2 probabilities, 3 weights of linear attention
    MatrixView view;
};

/// The mask decoder: what its column explains, and the film of its passes.
struct DecoderState {
    std::size_t side = 0;    // 0 the words, 1 a cell of pass 1, 2 of pass 2
    bool ten = false;        // words per mask: ten with their logits, or five
    bool at_input = false;   // also the words with I added to the input, as in BERT
    Film film{4, false, 1};  // 0 H, 1 H + I, 2 pass 1, 3 pass 2, 4 the head
};

struct State {
    std::string model = "tiny-v3";  // what is open: a folder, or the name of a built-in one
    std::string wanted_model;       // what is to be opened next; nothing: this one stays
    std::string page = "attention";
    std::string text = "a new [MASK] opened beside the new [MASK].";
    std::string tokens, mask;   // given instead of a text
    std::vector<Index> masked;  // tokens that [MASK] stands in for, without touching the text
    Dialect dialect = Dialect::official;
    ThemeName theme = ThemeName::dark;
    Pooling pooling = Pooling::largest;  // what a pixel shows of the cells it covers
    float zoom = 1;                      // of the whole screen
    bool reduce_motion = false;          // nothing moves by itself: films only step

    Index layer = 2, head = 3;
    Cell cell{3, 5};
    bool locked = true;  // the pointer does not move the cell
    MatrixView view;
    int shown_term = -1;  // whose channels the microscope draws: 0 c2c, 1 c2p, 2 p2c; -1 the strongest
    AttentionState attention;

    Index decoder_head = -1;  // -1: mean of heads
    double strength = 1;
    MatrixView decoder_view;
    DecoderState decoder;
    ModelChoices choices;
    PositionsState positions;
    RopeState rope;
    MemoryState memory;
    PermutationState permutation;
    TextPageState text_page;
    CompareState compare;
    ConformanceState conformance;
    TrainingPageState training;

    TourState tour;
    Recent recent;

    bool editing = false;
    bool key_sheet = false;
    bool palette = false;
    std::vector<std::string> dropped;  // paths to be looked at and shown; the frame takes them
    ExportChoice exports;
    /// True while something on screen moves by itself.
    bool film_runs() const {
        return (page == "transformer-xl" && memory.film.playing) || (page == "rope" && rope.shift.playing) ||
               (page == "decoder" && decoder.film.playing) || (page == "training" && training.film.playing);
    }
    double flash_until = 0;  // seconds since the start: until then changed cells glow
    std::string notice;      // one sentence for a while, e.g. where a screenshot went; the frame takes it and shows it
    std::string refusal;     // the same, where something was refused: it says why
};

}  // namespace locus
