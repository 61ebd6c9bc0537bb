#include "tests/conformance/report.h"

#include <algorithm>

namespace locus::conformance {

bool Report::pass() const {
    return errors.empty() &&
           std::none_of(cases.begin(), cases.end(), [](const CaseReport& one) { return one.verdict == Verdict::fail; });
}

}  // namespace locus::conformance
