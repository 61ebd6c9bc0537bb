#pragma once
// A report as people and programs read it.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/conformance/report/report.h"

namespace locus::conformance {

/// For a terminal: levels, then the first divergence of every failing case, its diagnosis, and what to do next.
std::string report_text(const Report& report, bool colour);
/// {"format": "locus-report", "version": "1.0", "pass", "cases": [...]}; schema/report.json of the kit.
std::string report_json(const Report& report);
/// JUnit XML: one test case per case of the kit.
std::string report_junit(const Report& report);
/// One page without scripts or network: the tree of cases, and expected, found and difference of each first wrong
/// stage as pictures whose cells tell their value.
std::string report_html(const Report& report);

/// What report_json says of one case; `locus check --json` prints the same for a pair of files.
nlohmann::ordered_json case_json(const CaseReport& report);
/// The lines of report_text about one failing case.
std::string divergence_text(const CaseReport& report);

/// How far apart two tensors of one shape are, beside the largest difference.
struct Distance {
    double cosine = 0;       // of all values as one vector; NaN if one of them is zero or not finite
    double largest_ulp = 0;  // largest difference in steps of float32 at the expected value
    Index outside_diagonal = 0, on_diagonal = 0;  // wrong cells of a [..., T, T] stage; 0 elsewhere
};
Distance distance_of(const ShownStage& stage, double allowed);

}  // namespace locus::conformance
