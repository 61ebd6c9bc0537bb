// A report for people.
#include "core/cli/program.h"
#include "tests/conformance/report_printers.h"

namespace locus::conformance {

std::string report_text(const Report& report, bool) {
    std::string text = "kit " + report.kit + "  dialect " + report.dialect + "  dtype " + report.dtype + "\n";
    for (const CaseReport& one : report.cases) {
        const char* const words[] = {"ok", "FAIL", "not reported", "waived"};
        text += one.id + "  " + words[static_cast<int>(one.verdict)] + "\n";
        if (!one.refusal.empty()) text += "    " + one.refusal + "\n";
        if (one.first) text += "    first wrong stage: " + one.first->name + "\n";
        if (one.diagnosis && one.diagnosis->named)
            text += "    mistake " + std::to_string(one.diagnosis->named->mistake) + "\n";
        for (const std::string& stage : one.would_narrow) text += "    would narrow it down: " + stage + "\n";
    }
    for (const std::string& error : report.errors) text += "error: " + error + "\n";
    return text;
}

}  // namespace locus::conformance
