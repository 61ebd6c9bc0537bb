#pragma once
// Pieces that several wrong formulas of DeBERTa's scores are put together from.
#include <functional>

#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/formulas/formulas.h"
#include "core/conformance/mistakes/mistake.h"

namespace locus::conformance {

using Make = std::function<Tensor<double>(const Replay&)>;

/// c2p, or p2c, gathered by another index and from another table than k_r, or q_r.
Formula c2p_by(Make index, Make table = {});
Formula p2c_by(Make index, Make table = {});
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

}  // namespace locus::conformance
