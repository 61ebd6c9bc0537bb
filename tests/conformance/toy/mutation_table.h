#pragma once
// The table of core/conformance/README.md: mistake, who made it, what caught it, whether it was named.
#include <string>
#include <vector>

#include "tests/conformance/toy/mutation.h"

namespace locus::conformance::toy {

/// "| 1 | p2c reads delta(j,i) | hf_deberta_v1, float32 | `layer.0.p2c` | yes |": of the findings the one that says
/// most, which is the right name, else a documented equivalent, else that something is red.  Throws Error(usage) if
/// there are no findings.
std::string table_row(const Slip& slip, const std::string& what, const std::string& no_name,
                      const std::vector<Finding>& all);
std::string table_row(const KnownSlip& known, const std::vector<Finding>& all);

/// The rows that stand in the page, and the sum below them.
struct PrintedTable {
    std::vector<std::string> rows;
    std::string sum;
};
/// Throws Error(unreadable) if the page has no table.
const PrintedTable& printed_table();

/// Fails the running test unless the page has the row.
void check_row(const std::string& row);

}  // namespace locus::conformance::toy
