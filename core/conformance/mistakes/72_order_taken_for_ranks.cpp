#include "core/positions/factorisation_order.h"

#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// The order that a perm_mask was made from: the token that sees t others is the t-th; empty if it tells no order.
std::vector<Index> order_of(const Mask& hidden) {
    std::vector<Index> order(static_cast<std::size_t>(hidden.rows()), -1);
    for (Index i = 0; i < hidden.rows(); ++i) {
        const auto seen = static_cast<std::size_t>((hidden.row(i).array() == 0).count());
        if (seen >= order.size() || order[seen] >= 0) return {};
        order[seen] = i;
    }
    return order;
}

Tensor<double> visible_by_order(const Replay& at) {
    if (at.input().perm_mask.empty()) throw NotEnough{"perm_mask"};
    return visible_to_stream(at, [&](Index b) {
        TwoStreamHiding hiding = hiding_of(at, b);
        const std::vector<Index> order = order_of(hiding.permutation);
        if (order.empty()) throw NotEnough{"a perm_mask of a whole order"};
        for (Index i = 0; i < hiding.permutation.rows(); ++i)
            for (Index j = 0; j < hiding.permutation.cols(); ++j)
                hiding.permutation(i, j) =
                    order[static_cast<std::size_t>(j)] >= order[static_cast<std::size_t>(i)] ? 1 : 0;
        const TwoStreamMasks masks = two_stream_masks(queries_of(at), hiding);
        return at.is_query_stream() ? masks.query : masks.content;
    });
}

}  // namespace

Mistake mistake_72() {
    return {.number = 72,
            .name = "the factorisation order is taken for the ranks of the tokens",
            .symptom = "tokens are predicted in another order than was asked for; only self-inverse orders work",
            .betrays = "who sees whom is right after inverting the permutation; 3,2,4,1 tells, 4,3,2,1 does not",
            .evidence = "",
            .lesson = "22",
            .families = {Family::xlnet},
            .stems = {"bd", "probs"},
            .variants = {{"", {{"visible", {"query_tokens"}, visible_by_order}}}}};
}

}  // namespace locus::conformance
