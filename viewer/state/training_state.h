#pragma once
// The Training page opens on fresh weights, at a sentence whose hidden word only its order tells.
#include <string>
#include <vector>

#include "viewer/plots/colour_map.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/ui/animation.h"

namespace locus {

/// Where the film stands while it follows a training: behind every snapshot there can be.
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

struct TrainingPageState {
    bool run = false;     // trained; otherwise fresh weights
    Index steps = 0;      // of a run; 0: as many as the seconds give
    double seconds = 60;  // of a run that does not count steps
    Index seed = 1;
    std::string corpus;  // a text file, one sentence a line; empty: the one that comes along
    std::string text = kTrainingSentences[0].text;
    std::vector<Index> masked = {kTrainingSentences[0].hidden};
    Index layer = 2, head = 3;             // the last layer settles on single distances first
    Film film{kNewestSnapshot, false, 1};  // one frame per snapshot
    Cell cell{14, 3};
    bool locked = true;
    bool own_scale = false;  // each snapshot's colours as wide as its own values, not as those of all
    MatrixView view;
};

}  // namespace locus
