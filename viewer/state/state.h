#pragma once
// Everything that the screen remembers, in one place: a struct for every page that remembers something of its own, and
// State, which holds them all.  The defaults are what a newcomer should see.  Compare has its own file, because what
// follows from its state is tested without a window.
#include <string>
#include <vector>

#include "core/attention/disentangled.h"
#include "core/models/dialect.h"
#include "core/tensor.h"
#include "viewer/export/export_request.h"
#include "viewer/plots/colour_map.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/plots/pyramid.h"
#include "viewer/state/compare_state.h"
#include "viewer/state/model_choice.h"
#include "viewer/ui/animation.h"
#include "viewer/ui/tour.h"

namespace locus {

enum class AttentionPicture { head, all_heads, stage };

/// The Attention page: one head with every term in place.
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

/// The Transformer-XL page: a head that finds in memory what the segment does not hold.
struct MemoryState {
    Index memory = 24;         // M; as much as there is where there is less
    Index segment_tokens = 0;  // of every segment; 0: half of a short text, at most 24
    Index segment = 1;         // which one is read, from 0
    Index layer = 0, head = 0;
    Cell cell{10, 18};  // query of the segment, key of memory and segment
    bool locked = true;

    std::size_t side = 0;     // the column shows: 0 the next word, 1 the cell, 2 its channels
    Index term = -1;          // whose channels: 0 a, 1 b, 2 c, 3 d, 4 ac, 5 bd; -1: the strongest
    Index first_channel = 0;  // at the top of their table

    std::size_t strip = 0;             // below the matrices: 0 the shift, 1 how far back
    std::size_t trick = 0;             // whose shift: 0 Transformer-XL, 1 XLNet
    Animation animation{4, false, 1};  // where cells have leaked
    Index animation_queries = 3, animation_memory = 3;
};

/// The Permutation page: two targets of the model's sentence, in the order in which the second is easy.
struct PermutationState {
    std::size_t sentence = 0;  // 0 the model's, 1 the proverb, 2 four tokens
    std::string order;      // "4 6": predicted positions from 1, in their order; "-": none; empty: the sentence's own
    bool segments = false;  // the tokens' types take part: the term ef
    Index layer = 3, head = 0;
    Index card = -1;  // the card that the keys move; -1: the last one
    Index row = -1;   // position whose row is explained; -1: the last one predicted

    std::size_t side = 0;    // the column shows: 0 the row, 1 the cell, 2 its channels
    std::size_t stream = 1;  // of the cell: 0 content, 1 query
    Cell cell{5, 3};         // position that looks, position that is looked at
    bool locked = true;
    Index term = -1;          // whose channels: 0 ac, 1 bd, 2 ef; -1: the strongest
    Index first_channel = 0;  // at the top of their table
};

/// The Text page: two sentences that mean the same and share no word, and four others around them.
struct TextPageState {
    std::string documents =  // one per line
        "Obama speaks to the media in Illinois\n"
        "The President greets the press in Chicago\n"
        "The band gave a concert in Japan\n"
        "The media review a new car\n"
        "a new car, used car, car review\n"
        "a friend in need is a friend indeed";
    std::size_t weights = 0;  // 0 counts, 1 tf-idf
    bool stop_words = false;  // counted like any other word
    Index topics = 2;         // of the latent semantics
    Cell weight{4, 14};       // document and word
    Cell pair{0, 1};          // two documents
    Cell move{0, 0};          // a word of the first, a word of the second
    MatrixView view;          // onto the matrix of documents and words
    bool locked = true;
};

/// The Conformance page opens on a port that has one mistake and everything else right.
struct ConformanceState {
    std::string report;         // a file that locus kit check --json wrote; it is read instead of checking anything
    std::string dumps;          // a folder with a port's dumps; empty: those of a port with ...
    int mistake = 1;            // ... this mistake of the catalogue; 0: none
    std::string dialect;        // that the dumps follow: official, hf or paper; empty: each case as it was recorded
    Index checks = 0;           // how often "check again" was asked for
    std::string shown_case;     // its id; empty: the first that fails, or the first of all
    std::string stage;          // of that case; empty: the first wrong one
    bool only_failing = false;  // the map fades what passes
};

/// The place of the animation while it follows a training: after every snapshot there can be.
inline constexpr double kNewestSnapshot = 65536;

/// A sentence like those of the corpus, and which of its tokens is hidden.
struct TrainingSentence {
    const char* text;
    Index hidden;
};
inline constexpr TrainingSentence kTrainingSentences[] = {
    {"a new store opened beside the old mall, so the store is new and the mall is old.", 14},
    {"the dog chased the cat, so the cat was chased by the dog.", 9},
    {"emma gave the letter to tom, and tom gave the letter to ruth, so the letter went from emma to ruth.", 23},
    {"the red cup and the blue hat are here, so the hat is blue and the cup is red.", 15},
};

/// The Training page opens on fresh weights, at a sentence whose hidden word only its order tells.
struct TrainingPageState {
    bool run = false;     // trained; otherwise fresh weights
    Index steps = 0;      // of a run; 0: as many as the seconds give
    double seconds = 60;  // of a run that does not count steps
    Index seed = 1;
    std::string corpus;  // a text file, one sentence a line; empty: the one that comes along
    std::string text = kTrainingSentences[0].text;
    std::vector<Index> masked = {kTrainingSentences[0].hidden};
    Index layer = 2, head = 3;                       // the last layer settles on single distances first
    Animation animation{kNewestSnapshot, false, 1};  // one frame per snapshot
    Cell cell{14, 3};
    bool locked = true;
    bool own_scale = false;  // each snapshot's colours as wide as its own values, not as those of all
    MatrixView view;
};

/// Models that were opened and commands that were used before, the newest first; who keeps the settings fills it.
struct Recent {
    std::vector<std::string> models;    // folders, or names of built-in ones
    std::vector<std::string> commands;  // of the palette, by their ids
};

/// Sentences worth a look: those of the source documents, and those that the built-in models know.
inline constexpr const char* kSentencePresets[] = {
    "a new [MASK] opened beside the new [MASK].",
    "a new store opened beside the new mall.",
    "deep learning",
    "the capital of france is [MASK].",
    "\ubc1c \uc5c6\ub294 \ub9d0\uc774 \ucc9c\ub9ac \uac04\ub2e4.",
};

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
    Animation shift;           // t, added to both; it may run
    Index query = 5, key = 4;  // tokens whose vectors are shown
    Index layer = 1, head = 2;
    std::size_t layout = 0;  // 0 interleaved, 1 half-split
    Index base = 2;          // of kRopeBases
    Index scaling = 0;       // as RopeScaling
    Index factor = 4;        // s
    std::size_t shown = 0;   // 0 the walk, 1 scores, 2 probabilities, 3 weights of linear attention
    MatrixView view;
};

/// The mask decoder: what its column explains, and the animation of its passes.
struct DecoderState {
    std::size_t side = 0;              // 0 the words, 1 a cell of pass 1, 2 of pass 2
    bool ten = false;                  // words per mask: ten with their logits, or five
    bool at_input = false;             // also the words with I added to the input, as in BERT
    Animation animation{4, false, 1};  // 0 H, 1 H + I, 2 pass 1, 3 pass 2, 4 the head
};

struct State {
    std::string model = "tiny-v3";  // what is open: a folder, or the name of a built-in one
    std::string wanted_model;       // what is to be opened next; nothing: this one stays
    std::string asked_model;        // of any family, the one that the user named last, as it is kept; nothing: none
    std::string page = "attention";
    std::string text = "a new [MASK] opened beside the new [MASK].";
    std::string tokens, mask;   // given instead of a text
    std::vector<Index> masked;  // tokens that [MASK] replaces, without touching the text
    Dialect dialect = Dialect::official;
    ThemeName theme = ThemeName::dark;
    Pooling pooling = Pooling::largest;  // what a pixel shows of the cells it covers
    float zoom = 1;                      // of the whole screen
    bool reduce_motion = false;          // nothing moves by itself: animations only step
    bool embedded = false;               // the page alone, in an article: no rail and no bars

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
    bool key_overlay = false;
    bool palette = false;
    std::vector<std::string> dropped;  // paths to be looked at and shown; the frame takes them
    ExportChoice exports;
    /// True while something on screen moves by itself.
    bool animation_runs() const {
        return (page == "transformer-xl" && memory.animation.playing) || (page == "rope" && rope.shift.playing) ||
               (page == "decoder" && decoder.animation.playing) || (page == "training" && training.animation.playing);
    }
    double flash_until = 0;  // seconds since the start: until then changed cells glow
    std::string notice;      // one sentence for a while, e.g. where a screenshot went; the frame takes it and shows it
    std::string refusal;     // the same, where something was refused: it says why
};

}  // namespace locus
