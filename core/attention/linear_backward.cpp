#include "core/attention/linear_backward.h"

#include "core/check_shape.h"

namespace locus {

namespace {

/// Gradients of everything that one call added up, filled row by row.
template <class Scalar>
struct Shares {
    explicit Shares(const LinearFeatures<Scalar>& f, Index value_width)
        : of(f), v(f.q.rows(), value_width), numerator(v), sum(f.q.rows()) {}
    LinearFeatures<Scalar> of;  // of the four features
    Matrix<Scalar> v;           // [T,d_v]
    Matrix<Scalar> numerator;   // n_i, [T,d_v]
    RowVector<Scalar> sum;      // s_i, [T]
};

/// What query i gets, if kv and z are the sums over the keys it knows.
template <class Scalar>
void serve_query(const LinearFeatures<Scalar>& f, Index i, const Matrix<Scalar>& kv, const RowVector<Scalar>& z,
                 const RowVector<Scalar>& d_context_i, Shares<Scalar>& d) {
    const Scalar sum = f.q_z.row(i).dot(z), held = linear_denominator<Scalar>(sum);
    const RowVector<Scalar> context_i = f.q.row(i) * kv / held;
    d.numerator.row(i) = d_context_i / held;
    d.sum[i] = held == sum ? -d_context_i.dot(context_i) / held : Scalar(0);
    d.of.q.row(i) = d.numerator.row(i) * kv.transpose();
    d.of.q_z.row(i) = d.sum[i] * z;
}

/// What key j gets, if d_kv and d_z are the sums over the queries that knew it.
template <class Scalar>
void serve_key(const LinearFeatures<Scalar>& f, Index j, const Matrix<Scalar>& d_kv, const RowVector<Scalar>& d_z,
               const RowVector<Scalar>& v_j, Shares<Scalar>& d) {
    d.of.k.row(j) = v_j * d_kv.transpose();
    d.of.k_z.row(j) = d_z;
    d.v.row(j) = f.k.row(j) * d_kv;
}

/// All queries forwards, then all keys backwards; the causal sums grow on the way, the others are complete before.
template <class Scalar>
Shares<Scalar> share_out(const LinearFeatures<Scalar>& f, const ConstView<Scalar>& v,
                         const ConstView<Scalar>& d_context, bool causal) {
    const Index tokens = f.q.rows(), width = f.q.cols();
    Shares<Scalar> d(f, v.cols());
    Matrix<Scalar> kv = Matrix<Scalar>::Zero(width, v.cols()), d_kv = kv;
    RowVector<Scalar> z = RowVector<Scalar>::Zero(width), d_z = z;
    if (!causal) {
        kv = f.k.transpose() * v;
        z = f.k_z.colwise().sum();
    }
    for (Index i = 0; i < tokens; ++i) {
        if (causal) {
            kv.noalias() += f.k.row(i).transpose() * v.row(i);
            z += f.k_z.row(i);
        }
        serve_query<Scalar>(f, i, kv, z, d_context.row(i), d);
    }
    if (!causal) {
        d_kv = f.q.transpose() * d.numerator;
        d_z = d.sum * f.q_z;
    }
    for (Index j = tokens - 1; j >= 0; --j) {
        if (causal) {
            d_kv.noalias() += f.q.row(j).transpose() * d.numerator.row(j);
            d_z += d.sum[j] * f.q_z.row(j);
        }
        serve_key<Scalar>(f, j, d_kv, d_z, v.row(j), d);
    }
    return d;
}

template <class Scalar>
LinearGradients<Scalar> backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                 const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                 const ConstView<Scalar>& d_context, const std::vector<bool>& visible, bool causal) {
    check_shape("linear_backward", "v", v, k.rows(), v.cols());
    check_shape("linear_backward", "the gradient of the context", d_context, k.rows(), v.cols());
    Shares<Scalar> d =
        share_out<Scalar>(linear_features<Scalar>(q, k, table, layout, form, visible), v, d_context, causal);
    for (std::size_t j = 0; j < visible.size(); ++j)
        if (!visible[j]) {  // its features were put to 0, whatever k was
            d.of.k.row(static_cast<Index>(j)).setZero();
            d.of.k_z.row(static_cast<Index>(j)).setZero();
        }
    return {linear_features_backward<Scalar>(q, table, layout, form, d.of.q, d.of.q_z),
            linear_features_backward<Scalar>(k, table, layout, form, d.of.k, d.of.k_z), std::move(d.v)};
}

}  // namespace

template <class Scalar>
LinearGradients<Scalar> linear_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                        RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_context,
                                        const std::vector<bool>& visible) {
    return backward<Scalar>(q, k, v, table, layout, form, d_context, visible, false);
}

template <class Scalar>
LinearGradients<Scalar> causal_linear_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                               const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                               RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_context,
                                               const std::vector<bool>& visible) {
    return backward<Scalar>(q, k, v, table, layout, form, d_context, visible, true);
}

template LinearGradients<float> linear_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                       const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                                       LinearForm, const ConstView<float>&, const std::vector<bool>&);
template LinearGradients<double> linear_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                         const ConstView<double>&, const RotaryTable<double>&,
                                                         RotaryLayout, LinearForm, const ConstView<double>&,
                                                         const std::vector<bool>&);
template LinearGradients<float> causal_linear_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                              const ConstView<float>&, const RotaryTable<float>&,
                                                              RotaryLayout, LinearForm, const ConstView<float>&,
                                                              const std::vector<bool>&);
template LinearGradients<double> causal_linear_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                                const ConstView<double>&, const RotaryTable<double>&,
                                                                RotaryLayout, LinearForm, const ConstView<double>&,
                                                                const std::vector<bool>&);

}  // namespace locus
