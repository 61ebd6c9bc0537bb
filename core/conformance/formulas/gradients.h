#pragma once
// The small steps of a backward pass, right and wrong.  dX stands for the gradient of the loss with respect to X.
#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

/// dcontext v^T: the gradient of what multiplies v, dropout and all -> [B,H,Tq,Tk].  dcontext [B,Tq,H*d], v [B,H,Tk,d].
Tensor<double> gradient_of_weights(const Tensor<double>& d_context, const Tensor<double>& v);

/// What probs multiply in a pass: v, and in a RoFormer that rotates them too v_rot.
const Tensor<double>& values_of_weights(const Replay& at);

/// y (dy - sum_j y dy), the backward pass of a softmax whose output was y.
Tensor<double> through_softmax(const Tensor<double>& y, const Tensor<double>& dy);

/// What becomes of several gradients for one row of a table.
enum class Write { add, keep_last, keep_first };

/// Gradients of pairs [B,H,Tq,Tk] gathered back to rows of a table, for every query: all[b,h,i, index(i,j)] += of pair
/// -> [B,H,Tq,rows].
Tensor<double> scattered_by_query(const Tensor<double>& pairs, const Tensor<double>& index, Index rows,
                                  Write write = Write::add);
/// The same for every key: all[b,h,j, index(i,j)] += of pair -> [B,H,Tk,rows].
Tensor<double> scattered_by_key(const Tensor<double>& pairs, const Tensor<double>& index, Index rows,
                                Write write = Write::add);

/// Rows weighted: w [B,H,T,R] times table [H,R,d] -> [B,H,T,d].
Tensor<double> weighted_rows(const Tensor<double>& weights, const Tensor<double>& table);
/// sum over the samples begin ... end - 1 of w^T x; w [B,H,T,R], x [B,H,T,d] -> [H,R,d].
Tensor<double> summed_over_samples(const Tensor<double>& weights, const Tensor<double>& x, Index begin, Index end);
inline Tensor<double> summed_over_samples(const Tensor<double>& weights, const Tensor<double>& x) {
    return summed_over_samples(weights, x, 0, x.extent(0));
}
/// sum over samples begin ... end - 1 and rows of x [B,H,T,d] -> [H,d].
Tensor<double> summed_over_rows(const Tensor<double>& x, Index begin, Index end);

/// a [B,H,T,K] times b [B,H,K,d], and a^T b for b [B,H,T,d].
Tensor<double> times_by_head(const Tensor<double>& a, const Tensor<double>& b);
Tensor<double> transposed_times_by_head(const Tensor<double>& a, const Tensor<double>& b);

/// Transformer-XL's shift undone: cell (i, j) of bd goes back to column j + T - 1 - i of `columns`.
Tensor<double> shifted_back(const Tensor<double>& d_bd, Index columns);

}  // namespace locus::conformance
