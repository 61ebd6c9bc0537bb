#pragma once
// The terms of one head: its scores without some of them (ablation), which of them moves its attention, and how each
// depends on the distance i - j.
#include <array>
#include <optional>
#include <vector>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// The raw terms of one head, [T,T] each; c2p and p2c stay empty where the model has none.
struct HeadTerms {
    Matrix<float> c2c, c2p, p2c;

    Terms present() const { return {c2p.size() > 0, p2c.size() > 0}; }
    /// 0 c2c, 1 c2p, 2 p2c.
    const Matrix<float>& at(std::size_t term) const { return term == 0 ? c2c : term == 1 ? c2p : p2c; }
};

/// 0 c2c, 1 c2p, 2 p2c.
bool is_kept(const KeptTerms& kept, std::size_t term);
bool& kept_flag(KeptTerms& kept, std::size_t term);

/// How the sum of the kept terms is scaled.
struct TermScale {
    int terms = 1;        // n of sqrt(n d), counted for the whole model
    bool follows = true;  // n loses one for every term dropped, but stays 1 or more
    Index head_width = 1;
};

struct AblatedHead {
    Matrix<float> scores, probs;  // [T,T]
    int divisor_terms = 1;        // n
};

/// n for the terms that are left: a term that the model does not have cannot be dropped.
int divisor_terms_left(const Terms& present, KeptTerms kept, const TermScale& scale);

/// (sum of the kept terms) / sqrt(n d) and its softmax over the visible keys; with everything kept these are the
/// model's own scores and probabilities, bit for bit.  visible [T,T] or empty.  Throws if the shapes differ.
AblatedHead ablate(const HeadTerms& terms, KeptTerms kept, const TermScale& scale, const Mask& visible,
                   MaskedRow masked_row);

/// By how much each of c2c, c2p, p2c moves the attention of a head.  A number added to a whole row of scores changes
/// nothing in the softmax, so what counts is how far a term strays from its own mean over the row's visible keys:
/// share = mean |term - row mean| of the term / the same summed over the terms.  All 0 where nothing strays (one token)
/// or a value is not finite.
using TermShares = std::array<double, 3>;

/// visible [T,T] or empty.  Throws if the shapes differ.
TermShares term_shares(const HeadTerms& terms, const Mask& visible);

/// The largest share; nothing where all are 0.
std::optional<std::size_t> dominant_term(const TermShares& shares);

/// The same shares among the pairs with i - j = offset alone, offset -(T-1) ... T-1: three curves of 2T-1 values.
/// NaN where no visible pair has that offset or nothing strays there.
std::array<std::vector<double>, 3> shares_by_distance(const HeadTerms& terms, const Mask& visible);

/// One head among many.
struct HeadSummary {
    TermShares shares{};
    Matrix<float> picture;  // probabilities, halved until neither side is above kPictureSide: the largest of a block
    Mask visible;           // of the picture; empty: everything
};
inline constexpr Index kPictureSide = 64;

/// probs [T,T].  Throws if the shapes differ or there is no token.
HeadSummary summarise_head(const HeadTerms& terms, const ConstView<float>& probs, const Mask& visible);

/// Mean of |term(i,j)| over the visible pairs with i - j = offset, offset -(T-1) ... T-1: [T,T] -> [2T-1].
/// NaN where no visible pair has that offset.  Throws if the term is not square or the mask does not fit.
std::vector<double> strength_by_distance(const ConstView<float>& term, const Mask& visible);

/// contents [T,d] times the row of every offset d = i - j from -reach to reach, table [2k,d]: [T, 2 reach + 1].
/// With q and k_r that is q_t . k_r[delta(d)], with k and q_r it is k_t . q_r[delta(d)]: what the pair would add to the
/// score, whether the sentence has such a pair or not.
/// Throws Error(usage) if the shapes or the offsets of the buckets do not reach so far.
Matrix<float> distance_products(const ConstView<float>& contents, const ConstView<float>& table,
                                const RelativeBuckets& buckets, Index reach);

/// The mean over rows, in double: [cols].  NaN without rows.
std::vector<double> mean_of_rows(const ConstView<float>& values);

}  // namespace locus
