#pragma once
// Pieces that several wrong formulas of DeBERTa's scores are put together from.
#include <functional>

#include "core/attention/softmax.h"
#include "core/conformance/diagnosis/replay.h"
#include "core/conformance/formulas/formulas.h"
#include "core/conformance/formulas/relative_rule.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

using Make = std::function<Tensor<double>(const Replay&)>;

/// c2p, or p2c, gathered by another index and from another table than k_r, or q_r.
Formula c2p_by(Make index, Make table = {});
Formula p2c_by(Make index, Make table = {});
/// c2p reads bucket(i - j) + k and p2c k - bucket(j - i), both clamped to the table: code that has one index alone and
/// negates it before p2c, which comes to the same where a bucket changes its sign with the offset.
std::vector<Formula> negated_for_p2c(RowOf bucket, RelativeRule (*rule_of)(const Replay&) = relative_rule);
/// "/relative.index", as this replay has it.
Tensor<double> index_here(const Replay& at);
/// The right row of j - i at (i,j).
Tensor<double> mirrored_index(const Replay& at);

/// [H,R,d] -> [H,R+1,d]; row [H,d], or empty for zeros.
Tensor<double> with_row_behind(const Tensor<double>& table, const Matrix<double>& row = {});

/// What c2c, c2p and p2c are multiplied with in the sum; right is 1 / sqrt(n d) for each.
struct TermFactors {
    double c2c, c2p, p2c;
};
/// Terms that the scores of this scope have.
Terms terms_of(const Replay& at);
/// a c2c + b c2p + c p2c over the terms there are.
Tensor<double> weighted_terms(const Replay& at, const TermFactors& factors);
/// 1 / sqrt(n d) of this scope.
double right_scale(const Replay& at);

/// Version 1 has one packed projection.  Throws NotEnough for any other.
void require_version_1(const Replay& at);
/// Row r, channels split by head -> [H,d].
Matrix<double> by_head(const RowVector<double>& row, Index heads);

// Who sees whom, from the inputs or, where they are not given, from the zeros of the reference's own probabilities.

/// 1 = visible, [Tq,Tk] of sample b and head h; empty where everything is.  Throws NotEnough where neither is known.
Mask visible_pairs(const Replay& at, Index b, Index h);
/// True in Transformer-XL and XLNet.
bool is_relative(const Replay& at);
/// The mask that hides keys alone, [Tq,Tk]; empty where everything is visible.  Throws NotEnough for a mask of
/// pairs, and in Transformer-XL and XLNet.
Mask visible_keys(const Replay& at, Index b);
/// The same, as a function of a head too: every head has it.
inline Mask visible_keys_alone(const Replay& at, Index b, Index) { return visible_keys(at, b); }
/// True if a row of this mask shows nothing.
bool hides_all(const Mask& mask, Index i);

// Pieces that several wrong masks and softmaxes are put together from.

/// Scores as they go into the softmax: mixed by talking heads where the model has them.
const Tensor<double>& softmax_input(const Replay& at);
/// probs by another rule for one head: scores [Tq,Tk], sample b, head h -> probs.
using HeadRule = std::function<Matrix<double>(const Replay&, const Matrix<double>&, Index b, Index h)>;
Formula probs_by(HeadRule rule);
/// Softmax over all keys.
Matrix<double> plain_softmax(const Matrix<double>& scores);
/// Throws NotEnough unless a key is hidden: without that no mistake about masks can be told.
void require_hidden(const Mask& mask);

}  // namespace locus::conformance
