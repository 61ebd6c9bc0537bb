#pragma once
// One matrix as a figure of its own, whole, with its labels and its legend; and the colours of its cells for SVG.
#include "viewer/data/named_matrix.h"
#include "viewer/export/figure_svg.h"
#include "viewer/plots/heatmap.h"

namespace locus {

class MatrixFigure {
public:
    /// `matrix` has to live as long.
    MatrixFigure(const NamedMatrix& matrix, ThemeName theme);
    /// In design pixels; the letters at the scale of `ui` decide.  Not during a frame.
    ImVec2 size(const Ui& ui) const;
    void draw(const Ui& ui) const;

private:
    /// Design pixels.
    struct Layout {
        float left = 0, top = 0, cell_wide = 0, cell_high = 0;
    };
    Layout arrange(const Ui& ui) const;
    std::string caption() const;
    float widest(const Ui& ui, const std::vector<std::string>& labels, Index count) const;
    void draw_labels(const Ui& ui, const Layout& layout) const;

    const NamedMatrix& matrix_;
    Heatmap heatmap_;
};

/// What an image of a heatmap shows; where that is more than 1024 cells along a side, blocks of cells, each in the
/// colour of the value farthest from 0.
CellPicture cells_of(const ImageMark& image, ThemeName theme);

}  // namespace locus
