// A report for programs.
#include <nlohmann/json.hpp>

#include "core/cli/program.h"
#include "tests/conformance/report_printers.h"

namespace locus::conformance {

std::string report_json(const Report& report) {
    using Json = nlohmann::ordered_json;
    const char* const words[] = {"pass", "fail", "not reported", "waived"};
    Json cases = Json::array();
    for (const CaseReport& one : report.cases)
        cases.push_back(
            {{"id", one.id},
             {"verdict", words[static_cast<int>(one.verdict)]},
             {"refusal", one.refusal},
             {"first", one.first ? Json(one.first->name) : Json()},
             {"mistake", one.diagnosis && one.diagnosis->named ? Json(one.diagnosis->named->mistake) : Json()},
             {"would_narrow", one.would_narrow},
             {"waiver", one.waiver}});
    return Json{{"pass", report.pass()}, {"kit", report.kit}, {"cases", cases}, {"errors", report.errors}}.dump(2) +
           "\n";
}

}  // namespace locus::conformance
