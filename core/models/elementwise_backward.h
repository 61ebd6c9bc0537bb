#pragma once
// Those of small_steps.h backwards that need more than their own forward.  (add: d_y goes to both; add_rows:
// scatter_rows; multiply and divide: themselves; context: context_backward.)
#include "core/tensor.h"

namespace locus {

template <class Scalar>
struct MixHeadsGradients {
    Tensor<Scalar> scores;  // [B,H,Tq,Tk]
    Matrix<Scalar> weight;  // [H,H]
};

/// out_g = sum over h of W_gh s_h, so d_s_h = sum over g of W_gh d_out_g (the mix with W transposed) and
/// d_W_gh = sum over samples and cells of d_out_g s_h.   scores, d_mixed [B,H,Tq,Tk], weight [H,H].
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
MixHeadsGradients<Scalar> mix_heads_backward(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight,
                                             const Tensor<Scalar>& d_mixed);

template <class Scalar>
struct MultiplyRowsGradients {
    RowVector<Scalar> factors;  // [N]
    Matrix<Scalar> x;           // [N,D]
};

/// y_n = f_n x_n, so d_x_n = f_n d_y_n (a hidden token gets nothing) and d_f_n = d_y_n . x_n.
/// factors [N], x and d_y [N,D], x as it was before the step.
template <class Scalar>
MultiplyRowsGradients<Scalar> multiply_rows_backward(const RowVector<Scalar>& factors, const ConstView<Scalar>& x,
                                                     const ConstView<Scalar>& d_y);

}  // namespace locus
