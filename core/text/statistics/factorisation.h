#pragma once
// One sentence as a product of conditional probabilities: auto-regressive (GPT, XLNet) or auto-encoding (BERT), and who
// is predicted from whom.  Yang et al. 2019 (XLNet), sections 2.1 to 2.3 and "New York is a city" of section 2.6.
// Positions count from 1, as the paper's do.
#include <string>
#include <vector>

#include "core/text/statistics/words.h"

namespace locus {

/// p(word at target | words at given).
struct Factor {
    Index target = 0;
    std::vector<Index> given;  // positions, in the order in which they became known
    bool operator==(const Factor&) const = default;
};

/// p(x) = product over t of p(x_{z_t} | x_{z_1} ... x_{z_{t-1}}), exact for every order z of the positions 1..T.
/// The first `known` of the order are given and get no factor of their own (partial prediction).
/// Throws Error(usage) unless each position 1..T stands in the order once and 0 <= known <= T.
std::vector<Factor> autoregressive_factors(const std::vector<Index>& order, Index known = 0);

/// p(masked | rest) as if masked words did not depend on each other: product over masked t of p(x_t | all unmasked).
/// Throws Error(usage) if `masked` is not a set of positions in 1..length.
std::vector<Factor> autoencoding_factors(Index length, const std::vector<Index>& masked);

/// "p(York | is, a, city, New)"; "p(New)" if nothing is given.
std::string describe(const Factor& factor, const Document& sentence);

/// Sentences of one length and how often each was met: a distribution small enough to know exactly.
class SentenceCounts {
public:
    /// Throws Error(usage) unless there are sentences, all of one length, each counted 1 or more.
    explicit SentenceCounts(std::vector<std::pair<Document, Index>> sentences);

    /// Natural logarithm of the share, among sentences with the same words at factor.given, of those that also have the
    /// same word at factor.target; minus infinity if there are none, NaN if nothing has the given words.
    double log_probability(const Factor& factor, const Document& sentence) const;
    /// Their sum.
    double log_probability(const std::vector<Factor>& factors, const Document& sentence) const;

private:
    std::vector<std::pair<Document, Index>> sentences_;
};

// --- orders ----------------------------------------------------------------------------------------------------------
// Permutation language modelling in words.  The masks are in core/positions/factorisation_order.h.

/// Throws Error(usage) unless each position 1..T stands in the order once, T >= 1.
void check_order(const std::vector<Index>& order);

/// Positions that are known when `target` is predicted, in the order in which they became known.
/// Throws Error(usage) if the target is not in the order.
std::vector<Index> seen_by(const std::vector<Index>& order, Index target);

/// "word 4 is predicted from 3 (학교), 2 (어제)"; "... from nothing" for the first.  With `memory`, words of the
/// segment before, "... from memory, 3 (학교)" and "... from memory alone".  The target's own word is not named: only
/// where it stands is known. Throws Error(usage) if the sentence has another length than the order.
std::string describe_prediction(const std::vector<Index>& order, Index target, const Document& sentence,
                                Index memory = 0);

/// How far back each visible word of the memory and the current segment lies, Transformer-XL (Dai et al. 2019): row i
/// holds memory + i - j for j = 0 .. memory + i, so it ends with 0; later words are hidden.
/// Throws Error(usage) if memory < 0 or length < 1.
std::vector<std::vector<Index>> distances_with_memory(Index memory, Index length);

}  // namespace locus
