#include "core/conformance/formulas/relative_rule.h"

#include <algorithm>

namespace locus::conformance {

namespace {

constexpr Index kLongest = 8192;  // largest M that is looked for where only the index itself is known

bool explains(const RelativeRule& rule, const Tensor<double>& index) {
    for (Index i = 0; i < rule.queries; ++i)
        for (Index j = 0; j < rule.keys; ++j)
            if (static_cast<double>(rule.row(i - j)) != index[i * rule.keys + j]) return false;
    return true;
}

/// Length of text and keys from whatever stage tells it.
void read_lengths(const Replay& at, RelativeRule& rule) {
    if (const auto index = at.expected("/relative.index")) {
        rule.queries = index->extent(0);
        rule.keys = index->extent(1);
        return;
    }
    for (const char* stem : {"scores", "c2c", "/layer.0.scores", "/layer.0.c2c"})
        if (const auto pairs = at.expected(stem)) {
            rule.queries = pairs->extent(2);
            rule.keys = pairs->extent(3);
            return;
        }
    rule.queries = rule.keys = at.input().length();
}

/// The rule that makes the reference's index, where no configuration says it.
RelativeRule rule_behind(const Tensor<double>& index) {
    RelativeRule rule;
    rule.queries = index.extent(0);
    rule.keys = index.extent(1);
    rule.span = static_cast<Index>(index[0]);
    if (rule.span < 1) throw NotEnough{"the span of the relative table"};
    if (explains(rule, index)) return rule;
    std::vector<RelativeRule> fitting;
    for (Index m = rule.middle() + 2; rule.span % 2 == 0 && m <= kLongest && fitting.size() < 2; ++m)
        for (const OffsetClamp clamp : {OffsetClamp::official, OffsetClamp::hf}) {
            rule.max_position = m;
            rule.clamp = clamp;
            if (explains(rule, index)) {
                fitting.push_back(rule);
                break;
            }
        }
    if (fitting.size() != 1) throw NotEnough{"max_relative_positions"};
    return fitting.front();
}

}  // namespace

Index RelativeRule::clamped_offset(Index offset) const {
    return max_position > 0 && clamp == OffsetClamp::official
               ? std::clamp<Index>(offset, -(max_position - 1), max_position - 1)
               : offset;
}

Index RelativeRule::bucket(Index offset) const {
    return max_position > 0 ? static_cast<Index>(log_bucket(offset, span, max_position, clamp)) : offset;
}

Index RelativeRule::inside(Index row) const { return std::clamp<Index>(row, 0, rows() - 1); }

Index RelativeRule::row(Index offset) const { return inside(bucket(offset) + span); }

RelativeRule relative_rule(const Replay& at) {
    const auto index = at.expected("/relative.index");
    if (!at.has_model()) {
        if (!index || index->rank() != 2 || index->empty()) throw NotEnough{"a model folder or relative.index"};
        return rule_behind(*index);
    }
    const DebertaConfig& config = at.deberta().config();
    if (!config.relative_attention) throw NotEnough{"relative attention"};
    RelativeRule rule;
    read_lengths(at, rule);
    rule.span = config.span();
    if (config.position_buckets <= 0) return rule;
    rule.max_position = config.max_relative_positions;
    if (index && !explains(rule, *index)) {
        rule.clamp = OffsetClamp::hf;
        if (!explains(rule, *index)) rule.clamp = OffsetClamp::official;
    }
    return rule;
}

RelativeRule log_rule(const Replay& at) {
    const RelativeRule rule = relative_rule(at);
    if (rule.max_position == 0) throw NotEnough{"log buckets"};
    return rule;
}

Formula index_by(RowOf row_of) {
    return {"/relative.index", {}, [row_of](const Replay& at) {
                const RelativeRule rule = relative_rule(at);
                return rule.matrix([&](Index offset) { return row_of(rule, offset); });
            }};
}

Formula log_index_by(RowOf row_of) {
    return {"/relative.index", {}, [row_of](const Replay& at) {
                const RelativeRule rule = log_rule(at);
                return rule.matrix([&](Index offset) { return row_of(rule, offset); });
            }};
}

}  // namespace locus::conformance
