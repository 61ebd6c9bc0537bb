#pragma once
// Linear attention with rotary positions: sums over keys made once, or growing key by key.
#include <cmath>
#include <vector>

#include "core/attention/linear.h"
#include "cuda/reference/rotary_kernels.h"

namespace locus::cuda {

template <class Scalar>
struct PositiveFeaturesCell {
    const Scalar* x;
    Scalar* y;
    constexpr void operator()(long long n) const { y[n] = x[n] > 0 ? x[n] + Scalar(1) : std::exp(x[n]); }
};

/// The sum itself, at least 1e-6; NaN stays NaN.
template <class Scalar>
constexpr Scalar divisor_of(Scalar sum) {
    return sum < Scalar(1e-6) ? Scalar(1e-6) : sum;
}

/// Row i of the weights; causal: keys up to i only.
template <class Scalar>
struct LinearWeightsRow {
    const Scalar* positive;
    int keys;
    bool causal;
    Scalar* weights;  // numerators; then divided
    constexpr void operator()(long long i) const {
        const int seen = causal ? static_cast<int>(i) + 1 : keys;
        Scalar sum = 0;
        for (int j = 0; j < seen; ++j) sum += positive[i * keys + j];
        const Scalar divisor = divisor_of(sum);
        for (int j = 0; j < keys; ++j) weights[i * keys + j] = j < seen ? weights[i * keys + j] / divisor : Scalar(0);
    }
};

/// sums[c,e] = sum over j of k[j,c] v[j,e]; v == nullptr: 1, with one column.
template <class Scalar>
struct KeySumsCell {
    const Scalar *k, *v;
    int keys, channels, columns;
    Scalar* sums;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, columns);
        Scalar sum = 0;
        for (int j = 0; j < keys; ++j) {
            const Scalar k_jc = k[row_start(j, channels) + cell.i];
            sum += v ? k_jc * v[row_start(j, columns) + cell.j] : k_jc;
        }
        sums[n] = sum;
    }
};

/// context[i,e] = sum over c of q[i,c] kv[c,e], over the sum over c of q_z[i,c] z[c].
template <class Scalar>
struct LinearContextCell {
    const Scalar *q, *q_z, *kv, *z;
    int channels, columns;
    Scalar* context;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, columns);
        const Scalar* q_i = q + row_start(cell.i, channels);
        Scalar sum = 0;
        for (int c = 0; c < channels; ++c) sum += q_i[c] * kv[row_start(c, columns) + cell.j];
        context[n] = sum / divisor_of(dot(q_z + row_start(cell.i, channels), z, channels));
    }
};

/// One thread a column e: its own column of KV and z [channels] grow by one key before each query uses them.
template <class Scalar>
struct CausalContextColumn {
    const Scalar *q, *q_z, *k, *k_z, *v;
    int rows, channels, columns;
    Scalar *kv, *z, *context;  // [columns, channels] twice; [rows, columns]
    constexpr void operator()(long long e) const {
        Scalar *kv_e = kv + e * channels, *z_e = z + e * channels;
        for (int c = 0; c < channels; ++c) kv_e[c] = z_e[c] = 0;
        for (int i = 0; i < rows; ++i) {
            const long long row = row_start(i, channels);
            const Scalar v_ie = v[row_start(i, columns) + e];
            for (int c = 0; c < channels; ++c) {
                kv_e[c] += k[row + c] * v_ie;
                z_e[c] += k_z[row + c];
            }
            context[row_start(i, columns) + e] =
                dot(q + row, kv_e, channels) / divisor_of(dot(q_z + row, z_e, channels));
        }
    }
};

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> positive_features(const Place& place, const Matrix<Scalar>& x) {
    const auto there = upload(place, x);
    auto y = room<Scalar>(place, x.rows(), x.cols());
    place.each(x.size(), PositiveFeaturesCell<Scalar>{there.data(), y.data()});
    return download(place, y, x.rows(), x.cols());
}

/// Of the numerator and of the denominator; pads have none, which removes them from every sum.
template <class Scalar>
struct LinearFeatures {
    Matrix<Scalar> q, k, q_z, k_z;
};

template <class Place, class Scalar>
LinearFeatures<Scalar> features_of(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                   const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                   const std::vector<bool>& visible) {
    check_rows("linear_attention", k.rows(), q.rows());
    check_width("linear_attention", q.cols(), k.cols());
    if (!visible.empty()) check_rows("linear_attention", static_cast<Index>(visible.size()), k.rows());
    LinearFeatures<Scalar> f;
    if (form == LinearForm::paper) {
        f.q_z = positive_features(place, q);
        f.k_z = positive_features(place, k);
        f.q = rotate(place, f.q_z, table, layout);
        f.k = rotate(place, f.k_z, table, layout);
    } else {
        f.q = f.q_z = positive_features(place, rotate(place, q, table, layout));
        f.k = f.k_z = positive_features(place, rotate(place, k, table, layout));
    }
    for (std::size_t j = 0; j < visible.size(); ++j)
        if (!visible[j]) {
            f.k.row(static_cast<Index>(j)).setZero();
            f.k_z.row(static_cast<Index>(j)).setZero();
        }
    return f;
}

template <class Place, class Scalar>
Matrix<Scalar> linear_attention_weights(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible) {
    const LinearFeatures<Scalar> f = features_of(place, q, k, table, layout, form, visible);
    const auto positive = upload(place, content_to_content(place, f.q_z, f.k_z));
    auto weights = upload(place, content_to_content(place, f.q, f.k));
    place.each(q.rows(), LinearWeightsRow<Scalar>{positive.data(), narrow(k.rows()), causal, weights.data()});
    return download(place, weights, q.rows(), k.rows());
}

template <class Place, class Scalar>
Matrix<Scalar> linear_attention(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                const Matrix<Scalar>& v, const RotaryTable<Scalar>& table, RotaryLayout layout,
                                LinearForm form, const std::vector<bool>& visible) {
    check_rows("linear_attention", v.rows(), k.rows());
    const LinearFeatures<Scalar> f = features_of(place, q, k, table, layout, form, visible);
    const int keys = narrow(k.rows()), channels = narrow(k.cols()), columns = narrow(v.cols());
    const auto there_k = upload(place, f.k), there_k_z = upload(place, f.k_z), there_v = upload(place, v);
    const auto there_q = upload(place, f.q), there_q_z = upload(place, f.q_z);
    auto kv = room<Scalar>(place, channels, columns), z = room<Scalar>(place, channels, 1);
    auto context = room<Scalar>(place, q.rows(), columns);
    place.each(static_cast<long long>(channels) * columns,
               KeySumsCell<Scalar>{there_k.data(), there_v.data(), keys, channels, columns, kv.data()});
    place.each(channels, KeySumsCell<Scalar>{there_k_z.data(), nullptr, keys, channels, 1, z.data()});
    place.each(q.rows() * columns, LinearContextCell<Scalar>{there_q.data(), there_q_z.data(), kv.data(), z.data(),
                                                             channels, columns, context.data()});
    return download(place, context, q.rows(), columns);
}

template <class Place, class Scalar>
Matrix<Scalar> causal_linear_attention(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                       const Matrix<Scalar>& v, const RotaryTable<Scalar>& table, RotaryLayout layout,
                                       LinearForm form, const std::vector<bool>& visible) {
    check_rows("causal_linear_attention", v.rows(), k.rows());
    const LinearFeatures<Scalar> f = features_of(place, q, k, table, layout, form, visible);
    const auto there_k = upload(place, f.k), there_k_z = upload(place, f.k_z), there_v = upload(place, v);
    const auto there_q = upload(place, f.q), there_q_z = upload(place, f.q_z);
    auto kv = room<Scalar>(place, v.cols(), k.cols()), z = room<Scalar>(place, v.cols(), k.cols());
    auto context = room<Scalar>(place, q.rows(), v.cols());
    place.each(v.cols(), CausalContextColumn<Scalar>{there_q.data(), there_q_z.data(), there_k.data(), there_k_z.data(),
                                                     there_v.data(), narrow(q.rows()), narrow(q.cols()),
                                                     narrow(v.cols()), kv.data(), z.data(), context.data()});
    return download(place, context, q.rows(), v.cols());
}

}  // namespace twin

}  // namespace locus::cuda
