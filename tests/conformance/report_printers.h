#pragma once
// A report for people, for programs, for a test server and for a browser.
#include <string>

#include "tests/conformance/report.h"

namespace locus::conformance {

std::string report_text(const Report& report, bool colour);
std::string report_json(const Report& report);
std::string report_junit(const Report& report);
std::string report_html(const Report& report);

}  // namespace locus::conformance
