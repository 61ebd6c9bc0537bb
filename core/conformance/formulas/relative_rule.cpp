#include "core/conformance/formulas/relative_rule.h"

#include <algorithm>

namespace locus::conformance {

namespace {

constexpr Index kLongest = 8192;  // largest M that is looked for where only the index itself is known

/// An index that is a function of i - j, its rows by offset, -(Tk-1) first; empty where it is none.
std::vector<double> rows_by_offset(const Tensor<double>& index) {
    const Index queries = index.extent(0), keys = index.extent(1);
    std::vector<double> rows;
    for (Index offset = 1 - keys; offset < queries; ++offset)
        rows.push_back(offset < 0 ? index[-offset] : index[offset * keys]);
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j)
            if (index[i * keys + j] != rows[static_cast<std::size_t>(i - j + keys - 1)]) return {};
    return rows;
}

/// True if the rule makes these rows.
bool explains(const RelativeRule& rule, const std::vector<double>& rows) {
    if (static_cast<Index>(rows.size()) != rule.queries + rule.keys - 1) return false;
    for (Index offset = 1 - rule.keys; offset < rule.queries; ++offset)
        if (static_cast<double>(rule.row(offset)) != rows[static_cast<std::size_t>(offset + rule.keys - 1)])
            return false;
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

/// The rule that makes the reference's index, where no configuration says it; known: M, or 0.
RelativeRule rule_behind(const Tensor<double>& index, Index known) {
    RelativeRule rule;
    rule.queries = index.extent(0);
    rule.keys = index.extent(1);
    rule.span = static_cast<Index>(index[0]);
    if (rule.span < 1) throw NotEnough{"the span of the relative table"};
    const std::vector<double> rows = rows_by_offset(index);
    if (explains(rule, rows)) return rule;
    std::vector<RelativeRule> fitting;
    const Index least = known > 0 ? known : rule.middle() + 2, most = known > 0 ? known : kLongest;
    for (Index m = least; rule.span % 2 == 0 && m <= most && fitting.size() < 2; ++m)
        for (const OffsetClamp clamp : {OffsetClamp::official, OffsetClamp::hf}) {
            rule.max_position = m;
            rule.clamp = clamp;
            if (explains(rule, rows)) {
                fitting.push_back(rule);
                break;
            }
        }
    if (fitting.size() != 1) throw NotEnough{"max_relative_positions"};
    return fitting.front();
}

RelativeRule find_rule(const Replay& at) {
    const auto index = at.expected("/relative.index");
    if (!at.has_model()) {
        if (!index || index->rank() != 2 || index->empty()) throw NotEnough{"a model folder or relative.index"};
        return rule_behind(*index, at.max_position());
    }
    const DebertaConfig& config = at.deberta().config();
    if (!config.relative_attention) throw NotEnough{"relative attention"};
    RelativeRule rule;
    read_lengths(at, rule);
    rule.span = config.span();
    if (config.position_buckets <= 0) return rule;
    rule.max_position = config.max_relative_positions;
    const std::vector<double> rows = index ? rows_by_offset(*index) : std::vector<double>();
    if (index && explains(rule, rows)) return rule;
    // Where the logarithm would not rise, hf has no row for an offset beyond the middle.
    const Index farthest = std::max(rule.queries, rule.keys) - 1;
    if (rule.max_position <= rule.middle() + 1 && farthest > rule.middle()) return rule;
    // The index shows what the reference does beyond M - 1; without it the dialect says it.
    rule.clamp = index ? OffsetClamp::hf : DebertaOptions::of(at.dialect()).offset_clamp;
    if (index && !explains(rule, rows)) rule.clamp = OffsetClamp::official;
    return rule;
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
    // No hypothesis changes it, so it is looked for once and kept as its five numbers.
    const Tensor<double>& numbers = at.common("the rule of " + at.scope() + "relative.index", [&] {
        const RelativeRule rule = find_rule(at);
        return Tensor<double>(
            {5}, {static_cast<double>(rule.queries), static_cast<double>(rule.keys), static_cast<double>(rule.span),
                  static_cast<double>(rule.max_position), rule.clamp == OffsetClamp::hf ? 1.0 : 0.0});
    });
    return {static_cast<Index>(numbers[0]), static_cast<Index>(numbers[1]), static_cast<Index>(numbers[2]),
            static_cast<Index>(numbers[3]), numbers[4] == 1 ? OffsetClamp::hf : OffsetClamp::official};
}

RelativeRule log_rule(const Replay& at) {
    const RelativeRule rule = relative_rule(at);
    if (rule.max_position <= rule.middle() + 1) throw NotEnough{"log buckets whose logarithm is used"};
    return rule;
}

std::function<Tensor<double>(const Replay&)> rows_by(RowOf row_of) {
    return [row_of](const Replay& at) {
        const RelativeRule rule = relative_rule(at);
        return rule.matrix([&](Index offset) { return row_of(rule, offset); });
    };
}

Formula index_by(RowOf row_of) { return {"/relative.index", {}, rows_by(std::move(row_of))}; }

Formula log_index_by(RowOf row_of) {
    return {"/relative.index", {}, [row_of](const Replay& at) {
                const RelativeRule rule = log_rule(at);
                return rule.matrix([&](Index offset) { return row_of(rule, offset); });
            }};
}

}  // namespace locus::conformance
