#include "core/attention/linear.h"

#include <cmath>

#include "core/products.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> positive_features(const ConstView<Scalar>& x) {
    return x.unaryExpr([](Scalar v) { return v > 0 ? v + Scalar(1) : std::exp(v); });
}

template <class Scalar>
Matrix<Scalar> positive_features_backward(const ConstView<Scalar>& x, const ConstView<Scalar>& d_phi) {
    return x.binaryExpr(d_phi, [](Scalar v, Scalar d) { return v > 0 ? d : d * std::exp(v); });
}

template <class Scalar>
LinearFeatures<Scalar> linear_features(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                       const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                       const std::vector<bool>& visible) {
    LOCUS_CHECK(q.rows() == k.rows() && q.cols() == k.cols(),
                "linear attention: queries are " + to_string(Shape{q.rows(), q.cols()}) + " and keys " +
                    to_string(Shape{k.rows(), k.cols()}) + ", expected the same");
    LOCUS_CHECK(visible.empty() || static_cast<Index>(visible.size()) == k.rows(),
                "linear attention: " + std::to_string(visible.size()) + " marks for " + std::to_string(k.rows()) +
                    " keys, expected one each or none");
    LinearFeatures<Scalar> f;
    if (form == LinearForm::paper) {
        // phi makes the features positive, the rotation of them need not be: only the denominator is sure to be above
        // 0.
        f.q_z = positive_features<Scalar>(q);
        f.k_z = positive_features<Scalar>(k);
        f.q = rotate<Scalar>(f.q_z, table, layout);
        f.k = rotate<Scalar>(f.k_z, table, layout);
    } else {
        f.q = f.q_z = positive_features<Scalar>(rotate<Scalar>(q, table, layout));
        f.k = f.k_z = positive_features<Scalar>(rotate<Scalar>(k, table, layout));
    }
    // A key whose features are 0 adds nothing to any sum.
    for (std::size_t j = 0; j < visible.size(); ++j)
        if (!visible[j]) {
            f.k.row(static_cast<Index>(j)).setZero();
            f.k_z.row(static_cast<Index>(j)).setZero();
        }
    return f;
}

template <class Scalar>
Matrix<Scalar> linear_features_backward(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table,
                                        RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_rotated,
                                        const ConstView<Scalar>& d_plain) {
    // Steps of the forward pass in the opposite order: rotation after phi, or phi after rotation.
    if (form == LinearForm::paper)
        return positive_features_backward<Scalar>(x, rotate_back<Scalar>(d_rotated, table, layout) + d_plain);
    const Matrix<Scalar> rotated = rotate<Scalar>(x, table, layout);
    return rotate_back<Scalar>(positive_features_backward<Scalar>(rotated, d_rotated + d_plain), table, layout);
}

namespace {

constexpr double kSmallestDenominator = 1e-6;

template <class Scalar>
void check_values(const ConstView<Scalar>& k, const ConstView<Scalar>& v) {
    LOCUS_CHECK(k.rows() == v.rows(), "linear attention: " + std::to_string(k.rows()) + " keys but " +
                                          std::to_string(v.rows()) + " values, expected as many");
}

}  // namespace

template <class Scalar>
Scalar linear_denominator(Scalar sum) {
    // Written so that NaN stays NaN.
    return sum < Scalar(kSmallestDenominator) ? Scalar(kSmallestDenominator) : sum;
}

template <class Scalar>
Matrix<Scalar> linear_attention_weights(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible) {
    const LinearFeatures<Scalar> f = linear_features<Scalar>(q, k, table, layout, form, visible);
    Matrix<Scalar> weights = products_of_rows<Scalar>(f.q, f.k);
    const Matrix<Scalar> positive = products_of_rows<Scalar>(f.q_z, f.k_z);
    for (Index i = 0; i < weights.rows(); ++i) {
        const Index seen = causal ? i + 1 : weights.cols();
        Scalar sum = 0;  // key after key, so that a reader can replay it
        for (Index j = 0; j < seen; ++j) sum += positive(i, j);
        weights.row(i).head(seen) /= linear_denominator<Scalar>(sum);
        weights.row(i).tail(weights.cols() - seen).setZero();
    }
    return weights;
}

template <class Scalar>
Matrix<Scalar> linear_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                const std::vector<bool>& visible) {
    check_values<Scalar>(k, v);
    const LinearFeatures<Scalar> f = linear_features<Scalar>(q, k, table, layout, form, visible);
    // (f_i . f_1) v_1 + (f_i . f_2) v_2 + ... = f_i (f_1^T v_1 + f_2^T v_2 + ...): the bracket is the same for every
    // query.
    const Matrix<Scalar> kv = transposed_times<Scalar>(f.k, v);  // [d, d_v]
    const RowVector<Scalar> z = f.k_z.colwise().sum();           // [d]
    Matrix<Scalar> context = times<Scalar>(f.q, kv);             // [T, d_v]
    for (Index i = 0; i < context.rows(); ++i) context.row(i) /= linear_denominator<Scalar>(f.q_z.row(i).dot(z));
    return context;
}

template <class Scalar>
Matrix<Scalar> causal_linear_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                       const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                       RotaryLayout layout, LinearForm form, const std::vector<bool>& visible) {
    check_values<Scalar>(k, v);
    const LinearFeatures<Scalar> f = linear_features<Scalar>(q, k, table, layout, form, visible);
    Matrix<Scalar> kv = Matrix<Scalar>::Zero(k.cols(), v.cols());
    RowVector<Scalar> z = RowVector<Scalar>::Zero(k.cols());
    Matrix<Scalar> context(q.rows(), v.cols());
    for (Index i = 0; i < q.rows(); ++i) {
        // Key i joins the sums before query i reads them: a token sees itself.
        kv += transposed_times<Scalar>(f.k.row(i), v.row(i));
        z += f.k_z.row(i);
        context.row(i) = times<Scalar>(f.q.row(i), kv);
        context.row(i) /= linear_denominator<Scalar>(f.q_z.row(i).dot(z));
    }
    return context;
}

namespace {

/// Gradients of features, values and of the two parts of the quotient, filled token by token.
template <class Scalar>
struct TokenGradients {
    explicit TokenGradients(const LinearFeatures<Scalar>& f, Index value_width)
        : of(f), v(f.q.rows(), value_width), numerator(v), sum(f.q.rows()) {}
    LinearFeatures<Scalar> of;  // of the four features
    Matrix<Scalar> v;           // [T,d_v]
    Matrix<Scalar> numerator;   // n_i, [T,d_v]
    RowVector<Scalar> sum;      // s_i, [T]
};

/// Query i, if kv and z are the sums over the keys that it sees: o_i = n_i / s_i.
template <class Scalar>
void query_backward(const LinearFeatures<Scalar>& f, Index i, const Matrix<Scalar>& kv, const RowVector<Scalar>& z,
                    const RowVector<Scalar>& d_context_i, TokenGradients<Scalar>& d) {
    const Scalar sum = f.q_z.row(i).dot(z), held = linear_denominator<Scalar>(sum);
    const RowVector<Scalar> context_i = times<Scalar>(f.q.row(i), kv) / held;
    d.numerator.row(i) = d_context_i / held;
    d.sum[i] = held == sum ? -d_context_i.dot(context_i) / held : Scalar(0);
    d.of.q.row(i) = times_transposed<Scalar>(d.numerator.row(i), kv);
    d.of.q_z.row(i) = d.sum[i] * z;
}

/// Key j, if d_kv and d_z are the sums over the queries that see it.
template <class Scalar>
void key_backward(const LinearFeatures<Scalar>& f, Index j, const Matrix<Scalar>& d_kv, const RowVector<Scalar>& d_z,
                  const RowVector<Scalar>& v_j, TokenGradients<Scalar>& d) {
    d.of.k.row(j) = times_transposed<Scalar>(v_j, d_kv);
    d.of.k_z.row(j) = d_z;
    d.v.row(j) = times<Scalar>(f.k.row(j), d_kv);
}

/// All queries from the first to the last, then all keys from the last to the first: the causal sums grow token by
/// token, the others are complete before the loop.
template <class Scalar>
TokenGradients<Scalar> tokens_backward(const LinearFeatures<Scalar>& f, const ConstView<Scalar>& v,
                                       const ConstView<Scalar>& d_context, bool causal) {
    const Index tokens = f.q.rows(), width = f.q.cols();
    TokenGradients<Scalar> d(f, v.cols());
    Matrix<Scalar> kv = Matrix<Scalar>::Zero(width, v.cols()), d_kv = kv;
    RowVector<Scalar> z = RowVector<Scalar>::Zero(width), d_z = z;
    if (!causal) {
        kv = transposed_times<Scalar>(f.k, v);
        z = f.k_z.colwise().sum();
    }
    for (Index i = 0; i < tokens; ++i) {
        if (causal) {
            kv += transposed_times<Scalar>(f.k.row(i), v.row(i));
            z += f.k_z.row(i);
        }
        query_backward<Scalar>(f, i, kv, z, d_context.row(i), d);
    }
    if (!causal) {
        d_kv = transposed_times<Scalar>(f.q, d.numerator);
        d_z = times<Scalar>(d.sum, f.q_z);
    }
    for (Index j = tokens - 1; j >= 0; --j) {
        if (causal) {
            d_kv += transposed_times<Scalar>(f.q.row(j), d.numerator.row(j));
            d_z += d.sum[j] * f.q_z.row(j);
        }
        key_backward<Scalar>(f, j, d_kv, d_z, v.row(j), d);
    }
    return d;
}

template <class Scalar>
LinearGradients<Scalar> backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                 const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                 const ConstView<Scalar>& d_context, const std::vector<bool>& visible, bool causal) {
    check_shape("linear_backward", "v", v, k.rows(), v.cols());
    check_shape("linear_backward", "the gradient of the context", d_context, k.rows(), v.cols());
    TokenGradients<Scalar> d =
        tokens_backward<Scalar>(linear_features<Scalar>(q, k, table, layout, form, visible), v, d_context, causal);
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

namespace {

/// The plain loop over channels.
template <class Scalar>
Scalar dot(const ConstView<Scalar>& a, Index i, const ConstView<Scalar>& b, Index j) {
    Scalar sum = 0;
    for (Index c = 0; c < a.cols(); ++c) sum += a(i, c) * b(j, c);
    return sum;
}

}  // namespace

template <class Scalar>
LinearExplanation<Scalar> explain_linear_cell(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                              const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                              bool causal, const std::vector<bool>& visible, Index i, Index j) {
    LOCUS_CHECK(q.rows() == k.rows() && q.cols() == k.cols(),
                "explain_linear_cell: queries are " + to_string(Shape{q.rows(), q.cols()}) + " and keys " +
                    to_string(Shape{k.rows(), k.cols()}) + ", expected the same");
    LOCUS_CHECK(i >= 0 && i < q.rows() && j >= 0 && j < k.rows(),
                "explain_linear_cell: cell (" + std::to_string(i) + ", " + std::to_string(j) + ") lies outside " +
                    std::to_string(q.rows()) + " x " + std::to_string(k.rows()));
    LOCUS_CHECK(visible.empty() || static_cast<Index>(visible.size()) == k.rows(),
                "explain_linear_cell: " + std::to_string(visible.size()) + " marks for " + std::to_string(k.rows()) +
                    " keys, expected one each or none");
    const bool paper = form == LinearForm::paper;
    const Matrix<Scalar> q_positive =
        positive_features<Scalar>(paper ? Matrix<Scalar>(q) : rotate<Scalar>(q, table, layout));
    const Matrix<Scalar> k_positive =
        positive_features<Scalar>(paper ? Matrix<Scalar>(k) : rotate<Scalar>(k, table, layout));
    const Matrix<Scalar> q_rotated = paper ? rotate<Scalar>(q_positive, table, layout) : q_positive;
    const Matrix<Scalar> k_rotated = paper ? rotate<Scalar>(k_positive, table, layout) : k_positive;

    LinearExplanation<Scalar> cell;
    cell.i = i;
    cell.j = j;
    cell.phi_q = channels_of<Scalar>(q_positive, i);
    cell.phi_k = channels_of<Scalar>(k_positive, j);
    cell.left = channels_of<Scalar>(q_rotated, i);
    cell.right = channels_of<Scalar>(k_rotated, j);
    const TermExplanation<Scalar> term = explain_term<Scalar>(cell.left, cell.right, -1);
    cell.products = term.products;
    cell.running = term.running;
    Scalar above = 0, below = 0;
    for (Index key = 0; key < k.rows(); ++key) {
        LinearKey<Scalar> part;
        if ((!causal || key <= i) && (visible.empty() || visible[static_cast<std::size_t>(key)])) {
            part.numerator = dot<Scalar>(q_rotated, i, k_rotated, key);
            part.positive = dot<Scalar>(q_positive, i, k_positive, key);
        }
        above += part.numerator;
        below += part.positive;
        part.running_numerator = above;
        part.running_denominator = below;
        cell.keys.push_back(part);
    }
    cell.denominator = linear_denominator<Scalar>(below);
    for (LinearKey<Scalar>& part : cell.keys) part.weight = part.numerator / cell.denominator;
    cell.weight = cell.keys[static_cast<std::size_t>(j)].weight;
    return cell;
}

template Matrix<float> positive_features<float>(const ConstView<float>&);
template Matrix<double> positive_features<double>(const ConstView<double>&);
template Matrix<float> positive_features_backward<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<double> positive_features_backward<double>(const ConstView<double>&, const ConstView<double>&);
template LinearFeatures<float> linear_features<float>(const ConstView<float>&, const ConstView<float>&,
                                                      const RotaryTable<float>&, RotaryLayout, LinearForm,
                                                      const std::vector<bool>&);
template LinearFeatures<double> linear_features<double>(const ConstView<double>&, const ConstView<double>&,
                                                        const RotaryTable<double>&, RotaryLayout, LinearForm,
                                                        const std::vector<bool>&);
template Matrix<float> linear_features_backward<float>(const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                                       LinearForm, const ConstView<float>&, const ConstView<float>&);
template Matrix<double> linear_features_backward<double>(const ConstView<double>&, const RotaryTable<double>&,
                                                         RotaryLayout, LinearForm, const ConstView<double>&,
                                                         const ConstView<double>&);
template float linear_denominator<float>(float);
template double linear_denominator<double>(double);
template Matrix<float> linear_attention_weights<float>(const ConstView<float>&, const ConstView<float>&,
                                                       const RotaryTable<float>&, RotaryLayout, LinearForm, bool,
                                                       const std::vector<bool>&);
template Matrix<double> linear_attention_weights<double>(const ConstView<double>&, const ConstView<double>&,
                                                         const RotaryTable<double>&, RotaryLayout, LinearForm, bool,
                                                         const std::vector<bool>&);
template Matrix<float> linear_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                               const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                               LinearForm, const std::vector<bool>&);
template Matrix<double> linear_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                 const ConstView<double>&, const RotaryTable<double>&, RotaryLayout,
                                                 LinearForm, const std::vector<bool>&);
template Matrix<float> causal_linear_attention<float>(const ConstView<float>&, const ConstView<float>&,
                                                      const ConstView<float>&, const RotaryTable<float>&, RotaryLayout,
                                                      LinearForm, const std::vector<bool>&);
template Matrix<double> causal_linear_attention<double>(const ConstView<double>&, const ConstView<double>&,
                                                        const ConstView<double>&, const RotaryTable<double>&,
                                                        RotaryLayout, LinearForm, const std::vector<bool>&);
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
template LinearExplanation<float> explain_linear_cell<float>(const ConstView<float>&, const ConstView<float>&,
                                                             const RotaryTable<float>&, RotaryLayout, LinearForm, bool,
                                                             const std::vector<bool>&, Index, Index);
template LinearExplanation<double> explain_linear_cell<double>(const ConstView<double>&, const ConstView<double>&,
                                                               const RotaryTable<double>&, RotaryLayout, LinearForm,
                                                               bool, const std::vector<bool>&, Index, Index);

}  // namespace locus
