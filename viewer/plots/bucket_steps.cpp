#include "viewer/plots/bucket_steps.h"

#include <algorithm>
#include <cstdlib>

#include "viewer/plots/number_format.h"

namespace locus {

namespace {

std::string text(Index value) { return std::to_string(value); }

/// The steps between i - j and the bucket where both are not the same.
void add_logarithm(const TableRule& rule, Index offset, std::vector<TableStep>& steps) {
    const Index half = rule.buckets / 2, edge = rule.farthest - 1;
    if (rule.clamp == OffsetClamp::official && std::abs(offset) > edge) {
        offset = std::clamp(offset, -edge, edge);
        steps.push_back({"kept within \u00b1" + text(edge), offset});
    }
    const Index bucket = log_bucket(offset, rule.buckets, rule.farthest, rule.clamp);
    const std::string size = text(std::abs(offset)), start = text(half);
    steps.push_back({start + " + \u2308" + text(half - 1) + " ln(" + size + "/" + start + ")/ln(" + text(edge) + "/" +
                         start + ")\u2309",
                     std::abs(bucket), "|i\u2212j| is above " + start + ", so its logarithm counts:"});
    if (offset < 0) steps.push_back({"j stands at the right: minus", bucket});
}

}  // namespace

TableRule TableRule::of(const DebertaConfig& config, OffsetClamp clamp) {
    return {config.position_buckets, config.span(), config.max_relative_positions, clamp};
}

std::vector<TableStep> table_steps(const TableRule& rule, Index offset) {
    std::vector<TableStep> steps = {{"i \u2212 j", offset}};
    const Index half = rule.buckets / 2;
    if (rule.buckets == 0 && offset >= -rule.span && offset < rule.span)
        steps.push_back({"inside \u2212" + text(rule.span) + " \u2026 " + text(rule.span - 1) + ": itself", offset});
    else if (rule.buckets == 0)
        steps.push_back({"clamped to \u2212" + text(rule.span) + " \u2026 " + text(rule.span - 1),
                         std::clamp(offset, -rule.span, rule.span - 1)});
    else if (std::abs(offset) <= half)
        steps.push_back({"bucket (|i\u2212j| \u2264 " + text(half) + ": itself)", offset});
    else
        add_logarithm(rule, offset, steps);
    const Index shifted = steps.back().value + rule.span, row = std::clamp<Index>(shifted, 0, 2 * rule.span - 1);
    const std::string plus = "+ span " + text(rule.span);
    if (row != shifted) steps.push_back({plus, shifted});
    steps.push_back({row != shifted ? "kept inside the table \u2192 row" : plus + " \u2192 row", row});
    return steps;
}

}  // namespace locus
