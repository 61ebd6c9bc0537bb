#pragma once
// What a report says of one stage of a case, in the column at the right.
#include <string>

#include "viewer/data/check_report.h"
#include "viewer/page.h"
#include "viewer/ui/side_column.h"

namespace locus {

/// Passes or fails, where it is worst, and at the first wrong stage which mistake of the catalogue it is.
void draw_report_verdict(Scene& scene, SideColumn& column, const CheckReport& report, const ReportedCase& one,
                         const std::string& stage);

}  // namespace locus
