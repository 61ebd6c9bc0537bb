// Mistakes 31 to 35.  The mask: what it hides, what a query that sees nothing gets, and by which constant.
#include <cmath>
#include <limits>

#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/wrong_attention.h"

namespace locus::conformance {

namespace mask_does_not_hide {  // mistake 31

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

/// Where Transformer-XL and XLNet are not masked, that is mistake 66.
Mask visible_unless_relative(const Replay& at, Index b, Index h) {
    if (is_relative(at)) throw NotEnough{"a mask of another family"};
    return visible_pairs(at, b, h);
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

/// The softmax sees every key; what it gave the hidden ones is lost, so that rows sum to less than 1.
Variant hidden_afterwards() {
    return {"hidden pairs are set to 0 after the softmax alone",
            {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = visible_pairs(at, b, h);
                Matrix<double> probs = plain_softmax(scores);
                for (Index n = 0; n < mask.size(); ++n)
                    if (mask.data()[n] == 0) probs.data()[n] = 0;
                return probs;
            })}};
}

std::vector<Variant> mask_does_not_hide() {
    std::vector<Variant> all = {
        added("the mask of 0 and 1 is added, pair by pair", visible_pairs, 1, 0),
        added("the mask of 0 and 1 is added to keys", visible_keys_alone, 1, 0),
        added("the inverted mask of 0 and 1 is added, pair by pair", visible_pairs, 0, 1),
        added("the inverted mask of 0 and 1 is added to keys", visible_keys_alone, 0, 1),
        added("the mask is never applied", visible_unless_relative, 0, 0),
    };
    for (const EmptyRow empty : {EmptyRow::zero, EmptyRow::uniform, EmptyRow::plain}) {
        all.push_back(under_mask("visible and hidden pairs are exchanged", inverted_pairs, empty));
        all.push_back(under_mask("visible and hidden keys are exchanged", inverted_keys, empty));
        all.push_back(under_mask("visible and hidden tokens are exchanged", inverted_tokens, empty));
    }
    all.push_back(hidden_afterwards());
    all.push_back({"scores are multiplied by the mask",
                   {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                       const Mask mask = visible_pairs(at, b, h);
                       if (mask.size() == 0) return plain_softmax(scores);
                       return plain_softmax(scores.cwiseProduct(mask.cast<double>()));
                   })}});
    return all;
}

Mistake mistake() {
    return {
        .number = 31,
        .name =
            "the mask does not hide: it is added as 0 and 1, multiplied, inverted, applied after the softmax, or never",
        .symptom = "padding is attended to",
        .betrays = "probs of hidden keys are above 0; with an inverted mask those of real keys are 0",
        .evidence = "transformers #1022, #1013",
        .lesson = "02",
        .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"probs"},
        .variants = mask_does_not_hide()};
}

}  // namespace mask_does_not_hide

namespace keys_hidden_alone {  // mistake 32

/// The mask of the other axis: whole rows of padding hidden, and its columns seen by every token.
Mask queries_alone(const Replay& at, Index b) { return visible_keys(at, b).transpose(); }

/// DeBERTa hides the queries of padding, too; where keys alone are hidden this is its mask in another model.
Formula queries_too(MaskedRow empty) {
    return probs_by([empty](const Replay& at, const Matrix<double>& scores, Index b, Index) {
        const Mask keys = visible_keys(at, b);
        if (at.family() == Family::deberta || at.input().mask.rank() != 2 || keys.rows() != keys.cols())
            throw NotEnough{"a mask of keys alone"};
        return masked_softmax<double>(scores, keys.cwiseProduct(keys.transpose()), empty);
    });
}

/// A mask of pairs with its axes exchanged: [B,Tk,Tq] read as [B,Tq,Tk].
Formula pairs_transposed() {
    return probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index) {
        const bool causal = at.family() == Family::roformer && at.roformer().causal;
        if (at.input().mask.rank() != 3 || causal) throw NotEnough{"a mask of pairs alone"};
        return masked_softmax<double>(scores, at.mask(b).transpose(), at.masked_row());
    });
}

Mistake mistake() {
    return {
        .number = 32,
        .name =
            "the mask hides keys alone, not padding queries too, or queries alone; or both where keys alone are hidden",
        .symptom = "rows of padding are ordinary rows, or are not, so pooled states move; or padding is attended to",
        .betrays = "probs of padding queries sum to 1 over the visible keys; or those of tokens over all keys",
        .evidence = "",
        .lesson = "02",
        .families = {Family::deberta, Family::roformer},
        .stems = {"probs"},
        .variants = {{"keys alone", {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index) {
                          if (at.family() != Family::deberta) throw NotEnough{"a mask of pairs"};
                          return masked_softmax<double>(scores, visible_keys(at, b), at.masked_row());
                      })}},
                     {"queries alone", {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index) {
                          return masked_softmax<double>(scores, queries_alone(at, b), at.masked_row());
                      })}},
                     {"padding queries too, with equal probabilities", {queries_too(MaskedRow::uniform)}},
                     {"padding queries too, with zeros", {queries_too(MaskedRow::zero)}},
                     {"a mask of pairs with queries and keys exchanged", {pairs_transposed()}}}};
}

}  // namespace keys_hidden_alone

namespace rows_without_keys {  // mistake 33

/// Queries that see no key get the same number for every key.
Variant filled(const char* how, double (*value)(Index keys)) {
    return {how, {probs_by([value](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = visible_pairs(at, b, h);
                Matrix<double> probs = masked_softmax<double>(scores, mask, at.masked_row());
                for (Index i = 0; i < probs.rows(); ++i)
                    if (hides_all(mask, i)) probs.row(i).setConstant(value(probs.cols()));
                return probs;
            })}};
}

/// Zeros, where the model has equal probabilities.
Variant zeros() {
    return {"zeros", {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                if (at.masked_row() == MaskedRow::zero) throw NotEnough{"rows that are not 0"};
                return masked_softmax<double>(scores, visible_pairs(at, b, h), MaskedRow::zero);
            })}};
}

std::vector<Variant> rows_without_keys() {
    return {filled("NaN", [](Index) { return std::numeric_limits<double>::quiet_NaN(); }),
            filled("uniform over all keys", [](Index keys) { return 1.0 / static_cast<double>(keys); }), zeros()};
}

Mistake mistake() {
    return {.number = 33,
            .name = "a query that sees no key gets NaN, equal probabilities or zeros, and the model another of them",
            .symptom = "NaN spreads from padding, or rows of padding are others",
            .betrays = "the row sums to NaN or 1 instead of 0, its values are 1 / Tk; or to 0 instead of 1",
            .evidence = "transformers #35162, #35182",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::xlnet},
            .stems = {"probs"},
            .variants = rows_without_keys()};
}

}  // namespace rows_without_keys

namespace maximum_over_hidden_keys {  // mistake 34

/// scores - max over all keys, hidden ones too, in a short floating-point type; then the masked softmax.
template <class Short>
Variant subtracted(const char* how) {
    return {how, {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = visible_pairs(at, b, h);
                require_hidden(mask);
                Matrix<double> rounded = scores;
                for (Index i = 0; i < scores.rows(); ++i) {
                    const double maximum = stored<Short>(scores.row(i).maxCoeff());
                    for (Index j = 0; j < scores.cols(); ++j)
                        rounded(i, j) = stored<Short>(stored<Short>(scores(i, j)) - maximum);
                }
                Matrix<double> probs = masked_softmax<double>(rounded, mask, at.masked_row());
                // A maximum beyond the type leaves infinity less infinity.
                for (Index i = 0; i < scores.rows(); ++i)
                    for (Index j = 0; !std::isfinite(stored<Short>(scores.row(i).maxCoeff())) && j < scores.cols(); ++j)
                        probs(i, j) = mask(i, j) != 0 ? std::numeric_limits<double>::quiet_NaN() : 0;
                return probs;
            })}};
}

Mistake mistake() {
    return {.number = 34,
            .name = "the maximum that is subtracted is taken over hidden keys too",
            .symptom = "a huge hidden score makes the visible probabilities equal",
            .betrays = "a score of 1e4 ... 1e9 on a hidden key changes probs",
            .evidence = "microsoft/DeBERTa disentangled_attention.py subtracts it before the mask",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs"},
            .variants = {subtracted<float>("in float32"), subtracted<Eigen::half>("in float16"),
                         subtracted<Eigen::bfloat16>("in bfloat16"), subtracted<double>("in float64")}};
}

}  // namespace maximum_over_hidden_keys

namespace constant_of_the_mask {  // mistake 35

constexpr double kWeakest = -3;  // a smaller constant is no attempt to hide, but a mask of 0 and 1: mistake 31

using MaskOf = Mask (*)(const Replay&, Index b, Index h);

/// softmax(scores + constant where hidden).
Matrix<double> weakly_masked(const Matrix<double>& scores, const Mask& mask, double constant) {
    Matrix<double> sum = scores;
    for (Index n = 0; mask.size() > 0 && n < sum.size(); ++n)
        if (mask.data()[n] == 0) sum.data()[n] += constant;
    return plain_softmax(sum);
}

Variant exactly(const char* how, MaskOf mask_of, double constant) {
    return {how, {probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                return weakly_masked(scores, mask_of(at, b, h), constant);
            })}};
}

/// float32 keeps three digits of a score to which -1e4 is added.
Matrix<double> weakly_masked_in_float(const Matrix<double>& scores, const Mask& mask) {
    Matrix<double> sum = scores;
    for (Index n = 0; mask.size() > 0 && n < sum.size(); ++n)
        if (mask.data()[n] == 0) sum.data()[n] = static_cast<double>(static_cast<float>(sum.data()[n]) - 1e4f);
    return plain_softmax(sum);
}

Variant in_float32(const char* how, MaskOf mask_of) {
    return {how, {probs_by([=](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                return weakly_masked_in_float(scores, mask_of(at, b, h));
            })}};
}

/// The constant that follows from the candidate's own leaks: ln(P_hidden / P_visible) - (S_hidden - S_visible).
double leaked_constant(const Replay& at, MaskOf mask_of) {
    const auto probs = at.found("probs");
    if (!probs) throw NotEnough{"probs"};
    const Tensor<double> scores = softmax_input(at);
    if (scores.shape() != probs->shape()) throw NotEnough{"probs of the right shape"};
    double largest = 0, constant = 0;
    for (Index n = 0; n < scores.extent(0) * scores.extent(1); ++n) {
        const Mask mask = mask_of(at, n / scores.extent(1), n % scores.extent(1));
        const auto p = probs->matrix(n), s = scores.matrix(n);
        for (Index i = 0; i < mask.rows(); ++i) {
            Index seen = 0;
            if (mask.row(i).maxCoeff(&seen) == 0) continue;
            for (Index j = 0; j < mask.cols(); ++j)
                if (mask(i, j) == 0 && p(i, j) > largest && p(i, seen) > 0) {
                    largest = p(i, j);
                    constant = std::log(p(i, j) / p(i, seen)) - (s(i, j) - s(i, seen));
                }
        }
    }
    if (largest <= 0 || !(constant < kWeakest)) throw NotEnough{"a leak"};
    return constant;
}

Variant leaking(const char* how, MaskOf mask_of) {
    return {how, {{"probs", {"scores", "scores_mixed"}, [=](const Replay& at) {
                       const double constant = leaked_constant(at, mask_of);
                       const Tensor<double> scores = softmax_input(at);
                       return each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index h, Index b) {
                           return weakly_masked(scores.matrix(n), mask_of(at, b, h), constant);
                       });
                   }}}};
}

/// Transformer-XL and XLNet: bd was not masked, so that hidden scores hold what the shift leaves there.
Variant beside_the_shift(const char* how, bool in_float) {
    return {how, {{"probs", {"scores", "bd_raw", "bd", "query_tokens"}, [=](const Replay& at) {
                       if (!is_relative(at)) throw NotEnough{"a shift"};
                       const double root = std::sqrt(static_cast<double>(at("q").extent(3)));
                       const Tensor<double>&scores = softmax_input(at), &bd = at("bd");
                       const Tensor<double> left = bd_of_all_cells(at);
                       return without_unused(
                           at, each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index h, Index b) {
                               const Matrix<double> all = scores.matrix(n) + (left.matrix(n) - bd.matrix(n)) / root;
                               const Mask mask = visible_pairs(at, b, h);
                               return in_float ? weakly_masked_in_float(all, mask) : weakly_masked(all, mask, -1e4);
                           }));
                   }}}};
}

Variant not_a_number() {
    return {"-1e30 is -inf in float16, and -inf - -inf is NaN",
            {probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
                const Mask mask = visible_pairs(at, b, h);
                Matrix<double> probs = masked_softmax<double>(scores, mask);
                for (Index i = 0; i < probs.rows(); ++i)
                    if (hides_all(mask, i)) probs.row(i).setConstant(std::numeric_limits<double>::quiet_NaN());
                return probs;
            })}};
}

Mistake mistake() {
    return {.number = 35,
            .name = "the constant that hides keys is too weak, or overflows",
            .symptom = "small leaks from padding, or NaN",
            .betrays = "probs of hidden keys are above 0 by one factor, or rows without keys are not 0",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs"},
            .variants = {exactly("-1e4 for pairs", visible_pairs, -1e4),
                         in_float32("-1e4 for pairs, in float32", visible_pairs),
                         beside_the_shift("-1e4 for pairs, bd as the shift leaves it", false),
                         beside_the_shift("-1e4 for pairs, in float32, bd as the shift leaves it", true),
                         leaking("one constant for pairs", visible_pairs),
                         leaking("one constant for keys", visible_keys_alone), not_a_number()}};
}

}  // namespace constant_of_the_mask

std::vector<Mistake> mask_mistakes() {
    return {
        mask_does_not_hide::mistake(),        // 31
        keys_hidden_alone::mistake(),         // 32
        rows_without_keys::mistake(),         // 33
        maximum_over_hidden_keys::mistake(),  // 34
        constant_of_the_mask::mistake(),      // 35
    };
}

}  // namespace locus::conformance
