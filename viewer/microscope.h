#pragma once
// Why is this cell 0.926?  Every step from two vectors to a probability, with the numbers of this cell.
#include <optional>

#include "core/attention/microscope.h"
#include "viewer/page.h"

namespace locus {

class Microscope {
public:
    /// Replays the cell; nothing before the first answer.
    const CellExplanation<float>* explain(const Scene& scene);
    void draw(Scene& scene, const Rect& room);

private:
    void draw_terms(Scene& scene, class SideColumn& column);
    void draw_steps(Scene& scene, class SideColumn& column) const;
    void draw_row(Scene& scene, class SideColumn& column) const;
    void draw_channels(Scene& scene, class SideColumn& column, int term) const;

    std::uint64_t serial_ = 0;
    Index head_ = -1;
    HeadTensors<float> tensors_;
    std::optional<CellExplanation<float>> cell_;
    int hovered_term_ = -1;
};

/// Names the cell's numbers for scripts: "microscope/sum".
void note_cell(const Ui& ui, const CellExplanation<float>& cell);

/// 0 c2c, 1 c2p, 2 p2c.
const TermExplanation<float>& term_of(const CellExplanation<float>& cell, int term);
ImU32 term_colour(const Theme& theme, int term);
/// q_i · k_j, q_i · kʳ_30, k_j · qʳ_30: with the numbers of the cell where they name a row.
std::vector<Span> term_formula(const Theme& theme, const CellExplanation<float>& cell, int term);

}  // namespace locus
