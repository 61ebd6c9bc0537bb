#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

using MaskOf = Mask (*)(const Replay&, Index b, Index h);

/// Visible becomes hidden; nothing hidden at all becomes everything hidden.
Mask inverted(const Mask& mask, Index queries, Index keys) {
    if (mask.size() == 0) return Mask::Zero(queries, keys);
    return mask.unaryExpr([](std::uint8_t shows) -> std::uint8_t { return shows == 0; });
}

/// The inverted mask of tokens before it becomes one of pairs.
Mask inverted_tokens(const Replay& at, Index b, Index) {
    const Mask keys = visible_keys(at, b);
    const Index length = at.input().length();
    Mask mask = Mask::Zero(length, length);
    for (Index i = 0; keys.size() > 0 && i < length; ++i)
        for (Index j = 0; j < length; ++j) mask(i, j) = keys(0, i) == 0 && keys(0, j) == 0;
    return mask;
}

Mask inverted_pairs(const Replay& at, Index b, Index h) {
    return inverted(visible_pairs(at, b, h), at("scores").extent(2), at("scores").extent(3));
}

Mask inverted_keys(const Replay& at, Index b, Index) {
    return inverted(visible_keys(at, b), at("scores").extent(2), at("scores").extent(3));
}

/// softmax(scores + size where hidden).
Variant added(const char* how, MaskOf mask_of, double where_visible, double where_hidden) {
    return {how, {probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = mask_of(at, b, h);
                Matrix<double> sum = scores;
                for (Index n = 0; n < sum.size(); ++n)
                    sum.data()[n] += mask.size() == 0 || mask.data()[n] != 0 ? where_visible : where_hidden;
                return plain_softmax(sum);
            })}};
}

/// Another mask; a row that shows nothing is zero, uniform, or as if nothing were hidden (a large number was added).
enum class EmptyRow { zero, uniform, plain };
Variant under_mask(const char* how, MaskOf mask_of, EmptyRow empty) {
    return {how, {probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = mask_of(at, b, h);
                Matrix<double> probs = masked_softmax<double>(
                    scores, mask, empty == EmptyRow::uniform ? MaskedRow::uniform : MaskedRow::zero);
                if (empty != EmptyRow::plain) return probs;
                const Matrix<double> plain = plain_softmax(scores);
                for (Index i = 0; i < probs.rows(); ++i)
                    if (hides_all(mask, i)) probs.row(i) = plain.row(i);
                return probs;
            })}};
}

std::vector<Variant> mask_does_not_hide() {
    std::vector<Variant> all = {
        added("the mask of 0 and 1 is added, pair by pair", visible_pairs, 1, 0),
        added("the mask of 0 and 1 is added to keys", visible_keys_alone, 1, 0),
        added("the inverted mask of 0 and 1 is added, pair by pair", visible_pairs, 0, 1),
        added("the inverted mask of 0 and 1 is added to keys", visible_keys_alone, 0, 1),
        added("the mask is never applied", visible_pairs, 0, 0),
    };
    for (const EmptyRow empty : {EmptyRow::zero, EmptyRow::uniform, EmptyRow::plain}) {
        all.push_back(under_mask("visible and hidden pairs are exchanged", inverted_pairs, empty));
        all.push_back(under_mask("visible and hidden keys are exchanged", inverted_keys, empty));
        all.push_back(under_mask("visible and hidden tokens are exchanged", inverted_tokens, empty));
    }
    return all;
}

}  // namespace

Mistake mistake_31() {
    return {.number = 31,
            .name = "the mask does not hide: it is added as 0 and 1, inverted, or never applied",
            .symptom = "padding is attended to",
            .betrays = "probs of hidden keys are above 0; with an inverted mask those of real keys are 0",
            .evidence = "transformers #1022, #1013",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer},
            .stems = {"probs"},
            .variants = mask_does_not_hide()};
}

}  // namespace locus::conformance
