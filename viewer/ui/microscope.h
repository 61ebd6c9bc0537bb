#pragma once
// Why is this cell 0.926?  Every step from two vectors to a probability, with the numbers of this cell: the column at
// the right, and the equation at the bottom.
#include <optional>
#include <string>
#include <vector>

#include "core/attention/disentangled.h"
#include "viewer/page.h"
#include "viewer/plots/cell_text.h"
#include "viewer/plots/head_terms.h"
#include "viewer/ui/side_column.h"

namespace locus {

/// The cell's row as the matrices on screen hold it.
struct DrawnRow {
    std::vector<float> scores, probs;  // [T]
};

class Microscope {
public:
    /// Replays the cell with the terms that are kept; nothing before the first answer.
    const CellExplanation<float>* explain(const Scene& scene);
    /// From the column's place down.  `area` is what is seen of it; `drawn` is what the replay must be equal to.
    void draw(Scene& scene, SideColumn& column, const Rect& area, const std::optional<DrawnRow>& drawn);
    /// Every number of the cell; empty before the first answer.
    std::string text(const Scene& scene, const std::optional<DrawnRow>& drawn);

private:
    void draw_pair(const Scene& scene, SideColumn& column) const;
    void draw_terms(Scene& scene, SideColumn& column);
    void draw_steps(Scene& scene, SideColumn& column) const;
    void draw_row(Scene& scene, SideColumn& column) const;
    void draw_copy(Scene& scene, SideColumn& column, const std::optional<DrawnRow>& drawn);
    void draw_channels(Scene& scene, SideColumn& column, const Rect& area, int term) const;
    void draw_chart(Scene& scene, SideColumn& column, int term) const;
    void draw_table(Scene& scene, SideColumn& column, const Rect& area, int term) const;

    std::uint64_t serial_ = 0;
    Index head_ = -1;
    HeadTensors<float> tensors_;
    std::optional<CellExplanation<float>> cell_;
    int hovered_term_ = -1;
};

/// Names the cell's numbers for scripts: "microscope/sum".
void note_cell(const Ui& ui, const CellExplanation<float>& cell);

/// The terms of the sum: all where nothing can be dropped, because the model mixes its heads before the softmax.
KeptTerms kept_terms(const Scene& scene);
/// How that sum is scaled.
TermScale term_scale(const Scene& scene);

ImU32 term_colour(const Theme& theme, int term);
/// q_i · k_j, q_i · kʳ_30, k_j · qʳ_30: with the numbers of the cell where they name a row.
std::vector<Span> term_formula(ImU32 colour, const CellExplanation<float>& cell, int term);

/// A_{3,5} = ( q·k −12.08 + q·kʳ 61.11 + k·qʳ 7.25 ) / √96 = 5.744
void draw_score_formula(const Scene& scene, const Rect& bar, const CellExplanation<float>& cell);

/// A sentence at the right end, muted.
void draw_bar_note(const Scene& scene, const Rect& bar, const std::string& sentence, float left_end);

}  // namespace locus
