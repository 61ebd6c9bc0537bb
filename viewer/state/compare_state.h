#pragma once
// What the Compare page remembers, and what follows from it without a window.
#include <memory>
#include <optional>
#include <string>

#include "viewer/data/check_report.h"
#include "viewer/data/comparison.h"
#include "viewer/plots/matrix_view.h"

namespace locus {

/// The Compare page opens on the code against the paper, at the term where they part.
struct CompareState {
    CompareSide a, b{"", Dialect::paper};
    std::string stage = "layer.0.p2c";  // further up the inputs differ as well, and with them the diagonal
    Index sample = 0, head = 3;
    Index other_head = -1;  // of B; -1: the same
    MatrixView view;
    Cell cell;  // where rows and columns are not the tokens of the sentence on screen; there it is State::cell
    bool locked = false;
    std::optional<Cell> wished;                 // the cell to open on, instead of the worst one
    bool keeps_place = false;                   // opened at a place that was asked for: none is chosen, once
    std::optional<Cell> jumped;                 // where the last jump to a bad cell went
    bool jumps = false;                         // to the next worst cell, as soon as it is drawn
    std::shared_ptr<const CheckReport> report;  // read beside the matrices; its dumps are then a and b
    std::size_t shown_case = 0;                 // of the report

    bool shows_mistakes = false;  // the column at the right shows the mistakes
    std::string mistake_filter;   // what they are searched for
    bool opens_first = false;     // opens the stage where the mistake begins, as soon as that is known

    bool has_files() const { return report || !a.file.empty() || !b.file.empty(); }
    bool from_model() const { return !report && a.file.empty() && b.file.empty(); }
    /// True if a side is a pass of another sentence or model than those on screen.
    bool has_own_words() const { return !(a.text.empty() && b.text.empty() && a.model.empty() && b.model.empty()); }
    /// B becomes a port that makes this mistake, "7" or "7.2", and else follows A's dialect; its first stage is opened.
    /// "" makes none.
    void make_mistake(const std::string& mistake);
    Index head_of_b() const { return other_head < 0 ? head : other_head; }
    /// nullptr without a report.
    const ReportedCase* reported() const;
    /// What the worker is asked for: no stage where a case left no dumps.
    CompareRequest request() const;

    /// Opens a report at the case that it should be read from.
    void open(std::shared_ptr<const CheckReport> opened);
    /// Turns to a case of the report: its dumps, and its first wrong stage, or its last one.
    void open_case(std::size_t number);
    /// Another stage; the place inside it is chosen when its values are there.
    void open_stage(const std::string& name);
    /// The stage `by` places further in a list, staying inside it.
    void step_stage(const std::vector<std::string>& stages, Index by);
    /// Where a jump from a cell goes: on from the last jump if that is where it left us, else to the worst cell.
    /// Nothing where A and B are equal.
    std::optional<Cell> jump(const ConstView<double>& values_a, const ConstView<double>& values_b, Cell from);
    /// The same stage of another layer, inside 0 ... layers - 1.
    void step_layer(Index by, Index layers);
};

}  // namespace locus
