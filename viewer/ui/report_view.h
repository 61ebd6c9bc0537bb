#pragma once
// A conformance report on a page: the stages of a case in the order of the model (which pass, which fail, which were
// not reported), and what the report says of one of them.
#include <string>

#include "viewer/data/check_report.h"
#include "viewer/page.h"
#include "viewer/ui/side_column.h"
#include "viewer/ui/ui.h"

namespace locus {

/// A tick, a cross or an empty ring: readable without colour.
void draw_sign(const Ui& ui, ImVec2 at, StageState state);

class StageList {
public:
    /// What it would take to show every stage without scrolling, as far as it is known.
    float height(const Ui& ui, float width) const;
    /// Chips in rows by layer, with a line of counts above; the wheel scrolls them.  Returns the stage that was
    /// clicked, or nothing.
    std::string draw(const Ui& ui, const Rect& area, const ReportedCase& one, const std::string& stage);

private:
    float scroll_ = 0, height_ = 0, width_ = 0;
    std::string followed_;  // the case and stage that was last scrolled into sight
};

/// Passes or fails, where it is worst, at the first wrong stage which mistake of the catalogue it is, and every stage
/// that is wrong by itself.  Returns the stage of that list that was clicked, or nothing.
std::string draw_report_verdict(Scene& scene, SideColumn& column, const CheckReport& report, const ReportedCase& one,
                                const std::string& stage);

}  // namespace locus
