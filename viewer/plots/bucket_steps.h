#pragma once
// From the offset i - j to the row of the relative table, step by step, in words.
#include <string>
#include <vector>

#include "core/models/deberta_config.h"
#include "core/positions/relative_buckets.h"

namespace locus {

/// How a model turns offsets into rows.
struct TableRule {
    Index buckets = 0;   // 0: offsets are only clamped
    Index span = 0;      // k; the table has 2k rows
    Index farthest = 0;  // where the logarithm ends
    OffsetClamp clamp = OffsetClamp::official;

    static TableRule of(const DebertaConfig& config, OffsetClamp clamp);
};

/// "bucket (|i−j| ≤ 16: itself)" and the number that comes out.
struct TableStep {
    std::string label;
    Index value = 0;
    std::string why = {};  // a sentence before it, where the label alone is a formula
};

/// The first step is i - j, the last one the row.
std::vector<TableStep> table_steps(const TableRule& rule, Index offset);

}  // namespace locus
