#pragma once
// A head in a few numbers: which term moves its attention, and how that depends on the distance.
#include <array>
#include <optional>
#include <vector>

#include "viewer/plots/ablation.h"

namespace locus {

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

}  // namespace locus
