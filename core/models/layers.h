#pragma once
// The small parts every transformer is made of, each with its backward pass beside it.
//
// Forward functions take values and return values.  In a backward pass d_x stands for the gradient of the loss with
// respect to x, and every gradient has the shape of what it belongs to.  Checked against torch's autograd.
// All functions throw Error(usage) in one sentence that names what does not fit.
#include <cstdint>
#include <vector>

#include "core/models/activation.h"
#include "core/tensor.h"

namespace locus {

// --- dense ---

/// A dense layer as checkpoints store it: y = x weight^T + bias.
template <class Scalar>
struct Dense {
    Matrix<Scalar> weight;   // [out, in]
    RowVector<Scalar> bias;  // [out], or empty where the layer has none
};

/// x [N,in] -> [N,out].
template <class Scalar>
Matrix<Scalar> dense(const ConstView<Scalar>& x, const Dense<Scalar>& layer);

template <class Scalar>
struct DenseGradients {
    Matrix<Scalar> x, weight;  // [N,in], [out,in]
    RowVector<Scalar> bias;    // [out], empty where the layer has none
};

/// y_no = sum over c of x_nc W_oc + b_o, so d_x_nc = sum over o of d_y_no W_oc and d_W_oc = sum over n of d_y_no x_nc:
/// d_x = d_y W,  d_W = d_y^T x,  d_b = the sum of the rows of d_y.   x [N,in], d_y [N,out].
template <class Scalar>
DenseGradients<Scalar> dense_backward(const ConstView<Scalar>& x, const Dense<Scalar>& layer,
                                      const ConstView<Scalar>& d_y);

// --- layer norm ---

/// The affine part of a layer norm.
template <class Scalar>
struct Norm {
    RowVector<Scalar> weight, bias;  // [D] each; both empty: no affine part
};

/// (x - mean) / sqrt(variance + eps) * weight + bias per row; biased variance, eps inside the root.  x [N,D] -> [N,D].
/// Source: Ba et al. 2016, eq. 4.
template <class Scalar>
Matrix<Scalar> layer_norm(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps);

template <class Scalar>
struct NormGradients {
    Matrix<Scalar> x;                // [N,D]
    RowVector<Scalar> weight, bias;  // [D], empty where the norm has no affine part
};

/// With xhat = (x - mean) rstd, rstd = 1 / sqrt(variance + eps) and g = d_y weight, row by row:
/// d_x = rstd (g - mean(g) - xhat mean(g xhat)),  d_weight = sum of d_y xhat,  d_bias = sum of d_y.
/// The two means are the share of the row's own mean and variance: d_x moves neither (it is orthogonal to 1 and, but
/// for eps, to xhat).  mean and rstd are computed from x again.  x, d_y [N,D].
template <class Scalar>
NormGradients<Scalar> layer_norm_backward(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps,
                                          const ConstView<Scalar>& d_y);

// --- activation ---

/// Element by element, same shape.
template <class Scalar>
Matrix<Scalar> activate(const ConstView<Scalar>& x, Activation activation);

/// d_y times the derivative at x, element by element, with phi the density of the standard normal distribution:
///   gelu       Phi(x) + x phi(x)
///   gelu_tanh  (1 + t) / 2 + x (1 - t^2) u' / 2,  t = tanh(u),  u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)
///   relu       1 for x > 0, else 0 (at 0 as well: torch's choice)
///   tanh       1 - tanh(x)^2
template <class Scalar>
Matrix<Scalar> activate_backward(const ConstView<Scalar>& x, Activation activation, const ConstView<Scalar>& d_y);

// --- convolution ---

/// A convolution along the tokens, "same" padding: weight [out, in / groups * kernel] as the file stores it.
template <class Scalar>
struct Convolution {
    Matrix<Scalar> weight;
    RowVector<Scalar> bias;        // [out]
    Index kernel = 3, groups = 1;  // odd; a divisor of out
};

/// Cross-correlation over the rows of x, zeros beyond both ends: x [T,in] -> [T,out].
/// Source: PyTorch Conv1d with padding (kernel - 1) / 2.
template <class Scalar>
Matrix<Scalar> convolve(const ConstView<Scalar>& x, const Convolution<Scalar>& layer);

template <class Scalar>
struct ConvolutionGradients {
    Matrix<Scalar> x, weight;  // [T,in], [out, in / groups * kernel] as the file stores it
    RowVector<Scalar> bias;    // [out]
};

/// y_t = b + sum over taps of W_tap x_{t+shift}, shift = tap - (kernel - 1) / 2, so the gradient returns to the row
/// that the tap read: d_x_{t+shift} += d_y_t W_tap,  d_W_tap = sum over t of d_y_t^T x_{t+shift},  d_b = the sum of the
/// rows of d_y.  Rows beyond both ends were zeros and get nothing.  x [T,in], d_y [T,out].
template <class Scalar>
ConvolutionGradients<Scalar> convolve_backward(const ConstView<Scalar>& x, const Convolution<Scalar>& layer,
                                               const ConstView<Scalar>& d_y);

// --- shapes and heads ---

/// A tensor of this shape with these rows, e.g. [B*T,D] as [B,T,D].
template <class Scalar>
Tensor<Scalar> as_tensor(Shape shape, const Matrix<Scalar>& rows);

/// [B,T,H*d] -> [B,H,T,d]: head h owns the channels h*d ... h*d + d - 1.  Throws if H is below 1 or does not divide the
/// width.
template <class Scalar>
Tensor<Scalar> split_heads(const Tensor<Scalar>& joined, Index heads);
/// [B,H,T,d] -> [B,T,H*d].
template <class Scalar>
Tensor<Scalar> join_heads(const Tensor<Scalar>& split);

/// [B,H,rows,cols] whose matrix of sample b and head h is make(b, h), all of one shape.
template <class Scalar, class Make>
Tensor<Scalar> for_each_head(Index batch, Index heads, Make make) {
    Tensor<Scalar> all;
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h) {
            const Matrix<Scalar> one = make(b, h);
            if (all.empty()) all = Tensor<Scalar>({batch, heads, one.rows(), one.cols()});
            all.matrix(b * heads + h) = one;
        }
    return all;
}

/// out[b,g] = sum over h of weight[g,h] * scores[b,h]: talking heads.  scores [B,H,Tq,Tk], weight [H,H] -> [B,H,Tq,Tk].
/// Source: Shazeer et al. 2020; microsoft/DeBERTa disentangled_attention.py, version 1.
template <class Scalar>
Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight);

template <class Scalar>
struct MixHeadsGradients {
    Tensor<Scalar> scores;  // [B,H,Tq,Tk]
    Matrix<Scalar> weight;  // [H,H]
};

/// out_g = sum over h of W_gh s_h, so d_s_h = sum over g of W_gh d_out_g (the mix with W transposed) and
/// d_W_gh = sum over samples and cells of d_out_g s_h.   scores, d_mixed [B,H,Tq,Tk], weight [H,H].
template <class Scalar>
MixHeadsGradients<Scalar> mix_heads_backward(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight,
                                             const Tensor<Scalar>& d_mixed);

// --- between the layers: sums, scales, hidden rows, the weighted values ---
//
// Each is one line of Eigen; they have names so that a pass can run on another backend step by step
// (core/models/operations.h).  Backward passes that need no function: of add, d_y goes to both; of add_rows, see
// scatter_rows; of multiply and divide, the same function; of context, see context_backward.

/// sum += x, cell by cell.
template <class Scalar>
void add(const ConstView<Scalar>& x, View<Scalar> sum);

/// sum[n] += table[ids[n]]: an embedding added to others.  table [V,E], ids [N] -> sum [N,E].
/// Throws Error(usage) for an id outside the table.
template <class Scalar>
void add_rows(const ConstView<Scalar>& table, const std::vector<std::int64_t>& ids, View<Scalar> sum);

/// x *= factor and x /= divisor.
template <class Scalar>
void multiply(Scalar factor, View<Scalar> x);
template <class Scalar>
void divide(Scalar divisor, View<Scalar> x);

/// x[n] *= factors[n]: 0 hides a token.  factors [N], x [N,D].
template <class Scalar>
void multiply_rows(const RowVector<Scalar>& factors, View<Scalar> x);

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

/// context[i] = sum over j of probs[i,j] v_j.   probs [Tq,Tk], v [Tk,d] -> [Tq,d].
template <class Scalar>
Matrix<Scalar> context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v);
/// The same, written into `result` [Tq,d].  Eigen adds up in another order here, so the last bits may differ; DeBERTa
/// takes the form above, the other families this one.
template <class Scalar>
void context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v, View<Scalar> result);

}  // namespace locus
