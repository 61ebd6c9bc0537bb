// Masks and targets of XLNet's two streams.
#include <algorithm>
#include <numeric>

#include "tests/conformance/toy/toy_xlnet.h"

namespace locus::conformance::toy {

namespace {

/// perm_mask of sample b; mistake 72: where it says a whole order, that order is taken for ranks.
std::vector<char> hidden_by_order(const ModelInput& input, Index b, const Slip& slip) {
    const Index length = input.length();
    std::vector<char> hidden(static_cast<std::size_t>(length * length), 0);
    if (input.perm_mask.empty()) return hidden;
    for (std::size_t n = 0; n < hidden.size(); ++n)
        hidden[n] = static_cast<char>(input.perm_mask[b * length * length + static_cast<Index>(n)]);
    if (!slip.is(72)) return hidden;
    // The token that sees t others is the t-th of the order.
    std::vector<Index> order(static_cast<std::size_t>(length), -1);
    for (Index i = 0; i < length; ++i) {
        const auto row = hidden.begin() + i * length;
        const auto seen = static_cast<std::size_t>(std::count(row, row + length, 0));
        if (seen >= order.size() || order[seen] >= 0) return hidden;
        order[seen] = i;
    }
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j)
            hidden[static_cast<std::size_t>(i * length + j)] =
                order[static_cast<std::size_t>(j)] >= order[static_cast<std::size_t>(i)];
    return hidden;
}

/// Tokens of the target rows, from one-hot rows [P,T]; -1 where a row is empty.
std::vector<Index> targets_of(const IndexTensor& mapping, Index b, const Slip& slip) {
    const Index targets = mapping.extent(1), length = mapping.extent(2);
    std::vector<Index> tokens;
    for (Index p = 0; p < targets; ++p) {
        Index token = -1;
        for (Index t = 0; t < length; ++t) {
            const Index at = slip.is(75, 0) ? t * targets + p : p * length + t;  // 75: the buffer read as [T,P]
            if (mapping[b * targets * length + at] != 0) token = t;
        }
        tokens.push_back(token);
    }
    return tokens;
}

}  // namespace

XlnetPlan plan_of(const XlnetConfig& config, const ModelInput& input, Index memory, const Slip& slip) {
    const Index batch = input.batch(), length = input.length(), keys = memory + length;
    const bool causal = config.direction == Direction::unidirectional;
    XlnetPlan plan;
    plan.content = plan.query = Visible({batch, length, keys});
    for (Index b = 0; b < batch; ++b) {
        const std::vector<char> hidden = hidden_by_order(input, b, slip);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < keys; ++j) {
                const Index token = j - memory;
                bool hides = token >= 0 && hidden[static_cast<std::size_t>(i * length + token)] != 0;
                hides = hides || (token >= 0 && !input.input_mask.empty() && input.input_mask[b * length + token] != 0);
                hides = hides || (causal && token > i);
                hides = hides || (causal && config.same_length && j < length && (j < i || (slip.is(71) && j == i)));
                const bool self = token == i;
                plan.query(b, i, j) = !hides || (self && slip.is(73, 1));
                plan.content(b, i, j) = !hides || (self && !slip.is(73, 0));
            }
        if (!input.target_mapping.empty()) plan.targets.push_back(targets_of(input.target_mapping, b, slip));
    }
    return plan;
}

}  // namespace locus::conformance::toy
