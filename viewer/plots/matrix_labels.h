#pragma once
// Tokens beside the rows and over the columns of a matrix.
#include <string>
#include <vector>

#include "viewer/data/deberta_session.h"
#include "viewer/state/state.h"
#include "viewer/ui/ui.h"

namespace locus {

/// A token that is at most `width` wide.  Of one that the vocabulary lacks, "castle <unk>", the word itself goes last.
std::string cut_token(const Ui& ui, const std::string& token, float width, Face face);

/// Width of the longest token, at most `limit`.
float widest_label(const Ui& ui, const Answer& answer, float limit);

/// At the left of the cells; where rows are too low for all of them only the one of `chosen` is written.  `selected`
/// (rising) are in the accent colour.
void draw_row_labels(const Ui& ui, const Answer& answer, const Rect& cells, const MatrixView& view, Index chosen,
                     const std::vector<Index>& selected = {});

/// Every how many rows there is room for a label, where they are `pitch` window units high: 1, 2, or else `length`,
/// which leaves the chosen row alone.
Index label_step(const Ui& ui, Face face, float pitch, Index length);

/// What the rows are, upwards along them, centred on x.
void draw_row_title(const Ui& ui, const Rect& cells, float x, const std::string& words);

/// Over the cells, running upwards; where columns are too narrow for all only the one of `chosen` is written.
void draw_column_labels(const Ui& ui, const Answer& answer, const Rect& cells, const MatrixView& view, Index chosen,
                        const std::vector<Index>& selected = {});

}  // namespace locus
