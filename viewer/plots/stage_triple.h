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
    /// Reference, port and difference beside each other; a sentence where there is nothing to draw.
    void draw(const Ui& ui, const Rect& area);
    /// The three of them with the numbers of the dumps: "reference", "port", "difference"; none where nothing is drawn.
    std::vector<NamedMatrix> numbers() const;

private:
    /// Where the cells of the three go; nothing where there is no room for them.
    static std::optional<std::array<Rect, 3>> arrange(const Ui& ui, const Rect& area);
    void read(const ReportedCase& one);
    void take(const ReportedStage& reported, ThemeName theme);

    std::optional<OpenedDump> reference_, candidate_;
    std::string read_for_, taken_for_, error_, place_, stage_;
    std::string row_title_, col_title_;  // what a row and a column of the stage are
    StagePlace at_;
    std::uint64_t serial_ = 0;
    std::array<Heatmap, 3> heatmaps_;
    MatrixView view_;
};

}  // namespace locus
