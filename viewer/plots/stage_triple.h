#pragma once
// One stage of two dumps beside their difference, at the worst cell that a report names.
#include <array>
#include <optional>
#include <string>

#include "viewer/data/check_report.h"
#include "viewer/data/comparison.h"
#include "viewer/data/named_matrix.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/stage_slice.h"

namespace locus {

class StageTriple {
public:
    /// Reads the dumps of a case when the case changes, and takes the stage when that does.
    void show(const ReportedCase& one, const std::string& stage, ThemeName theme);
    /// Reference, port and difference beside each other; a sentence where there is nothing to draw.  Two stages of
    /// unlike shapes have no difference: the first matrix of each, its shape above it, and a sentence in the third
    /// place.
    void draw(const Ui& ui, const Rect& area);
    /// What is drawn with the numbers of the dumps: "reference", "port", "difference"; none where nothing is drawn.
    std::vector<NamedMatrix> numbers() const;

private:
    /// Where the cells of the three go; nothing where there is no room for them.
    static std::optional<std::array<Rect, 3>> arrange(const Ui& ui, const Rect& area);
    void read(const ReportedCase& one);
    void take(const ReportedStage& reported, ThemeName theme);
    void take_apart(const Stage& reference, const Stage& port, ThemeName theme);
    /// Title and legend included; words beside the title end before `limit`.
    void draw_one(const Ui& ui, const Rect& cells, std::size_t n, float limit);

    std::optional<OpenedDump> reference_, candidate_;
    std::string read_for_, taken_for_, error_, place_, stage_;
    std::string row_title_, col_title_;  // what a row and a column of the stage are
    std::array<std::string, 2> shapes_;  // of the reference and of the port where they are unlike; else empty
    StagePlace at_;
    std::uint64_t serial_ = 0;
    std::array<Heatmap, 3> heatmaps_;  // the third is empty where the shapes are unlike
    MatrixView view_, port_view_;      // the port's own where the shapes are unlike
};

}  // namespace locus
