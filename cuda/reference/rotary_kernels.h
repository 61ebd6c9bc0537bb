#pragma once
// Rotation of queries and keys, one thread a channel, and the scores and attention made of it.
#include <cmath>
#include <vector>

#include "core/attention/linear.h"
#include "core/positions/rotary.h"
#include "cuda/reference/disentangled_kernels.h"
#include "cuda/reference/elementwise_kernels.h"
#include "cuda/reference/softmax_kernels.h"

namespace locus::cuda {

/// direction: 1 rotates, -1 rotates back.
template <class Scalar>
struct RotateKernel {
    const Scalar *x, *sin, *cos;
    int channels, planes;
    bool interleaved;
    int direction;
    Scalar* y;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, channels);
        if (cell.j >= 2 * planes) {
            y[n] = x[n];
            return;
        }
        const RotaryChannel rotary = rotary_channel(cell.j, planes, interleaved);
        const long long angle = row_start(cell.i, planes) + rotary.plane;
        y[n] = x[n] * cos[angle] +
               x[row_start(cell.i, channels) + rotary.partner] * (Scalar(rotary.sign * direction) * sin[angle]);
    }
};

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> rotate_by_sign(const Backend& backend, const char* who, const Matrix<Scalar>& x,
                              const RotaryTable<Scalar>& table, RotaryLayout layout, int direction) {
    check_rows(who, x.rows(), table.length());
    LOCUS_CHECK(x.cols() >= table.width(), std::string("cuda::") + who + ": vectors of " + std::to_string(x.cols()) +
                                               " channels but angles for " + std::to_string(table.width()) +
                                               ", expected at most as many");
    const auto there = upload(backend, x), sin = upload(backend, table.sin), cos = upload(backend, table.cos);
    auto y = allocate<Scalar>(backend, x.rows(), x.cols());
    backend.parallel_for(
        x.size(), RotateKernel<Scalar>{there.data(), sin.data(), cos.data(), narrow(x.cols()), narrow(table.sin.cols()),
                                       layout == RotaryLayout::interleaved, direction, y.data()});
    return download(backend, y, x.rows(), x.cols());
}

template <class Backend, class Scalar>
Matrix<Scalar> rotate(const Backend& backend, const Matrix<Scalar>& x, const RotaryTable<Scalar>& table,
                      RotaryLayout layout) {
    return rotate_by_sign(backend, "rotate", x, table, layout, 1);
}

template <class Backend, class Scalar>
Matrix<Scalar> rotate_back(const Backend& backend, const Matrix<Scalar>& y, const RotaryTable<Scalar>& table,
                           RotaryLayout layout) {
    return rotate_by_sign(backend, "rotate_back", y, table, layout, -1);
}

template <class Backend, class Scalar>
Matrix<Scalar> rotary_scores(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                             const RotaryTable<Scalar>& q_table, const RotaryTable<Scalar>& k_table,
                             RotaryLayout layout) {
    Matrix<Scalar> scores =
        content_to_content(backend, rotate(backend, q, q_table, layout), rotate(backend, k, k_table, layout));
    divide(backend, std::sqrt(Scalar(q.cols())), scores);
    return scores;
}

template <class Backend, class Scalar>
Matrix<Scalar> rotary_attention(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                const Matrix<Scalar>& v, const RotaryTable<Scalar>& table, RotaryLayout layout,
                                const Mask& mask) {
    const Matrix<Scalar> scores = rotary_scores(backend, q, k, table, table, layout);
    return context(backend, masked_softmax(backend, scores, mask, MaskedRow::zero), v);
}

}  // namespace reference

// Linear attention with rotary positions: sums over keys made once, or growing key by key.

template <class Scalar>
struct PositiveFeaturesKernel {
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
struct LinearWeightsKernel {
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
struct KeySumsKernel {
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
struct LinearContextKernel {
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
struct CausalContextKernel {
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

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> positive_features(const Backend& backend, const Matrix<Scalar>& x) {
    const auto there = upload(backend, x);
    auto y = allocate<Scalar>(backend, x.rows(), x.cols());
    backend.parallel_for(x.size(), PositiveFeaturesKernel<Scalar>{there.data(), y.data()});
    return download(backend, y, x.rows(), x.cols());
}

/// Of the numerator and of the denominator; pads have none, which removes them from every sum.
template <class Scalar>
struct LinearFeatures {
    Matrix<Scalar> q, k, q_z, k_z;
};

template <class Backend, class Scalar>
LinearFeatures<Scalar> features_of(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                   const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                   const std::vector<bool>& visible) {
    check_rows("linear_attention", k.rows(), q.rows());
    check_width("linear_attention", q.cols(), k.cols());
    if (!visible.empty()) check_rows("linear_attention", static_cast<Index>(visible.size()), k.rows());
    LinearFeatures<Scalar> f;
    if (form == LinearForm::paper) {
        f.q_z = positive_features(backend, q);
        f.k_z = positive_features(backend, k);
        f.q = rotate(backend, f.q_z, table, layout);
        f.k = rotate(backend, f.k_z, table, layout);
    } else {
        f.q = f.q_z = positive_features(backend, rotate(backend, q, table, layout));
        f.k = f.k_z = positive_features(backend, rotate(backend, k, table, layout));
    }
    for (std::size_t j = 0; j < visible.size(); ++j)
        if (!visible[j]) {
            f.k.row(static_cast<Index>(j)).setZero();
            f.k_z.row(static_cast<Index>(j)).setZero();
        }
    return f;
}

template <class Backend, class Scalar>
Matrix<Scalar> linear_attention_weights(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible) {
    const LinearFeatures<Scalar> f = features_of(backend, q, k, table, layout, form, visible);
    const auto positive = upload(backend, content_to_content(backend, f.q_z, f.k_z));
    auto weights = upload(backend, content_to_content(backend, f.q, f.k));
    backend.parallel_for(q.rows(),
                         LinearWeightsKernel<Scalar>{positive.data(), narrow(k.rows()), causal, weights.data()});
    return download(backend, weights, q.rows(), k.rows());
}

template <class Backend, class Scalar>
Matrix<Scalar> linear_attention(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                const Matrix<Scalar>& v, const RotaryTable<Scalar>& table, RotaryLayout layout,
                                LinearForm form, const std::vector<bool>& visible) {
    check_rows("linear_attention", v.rows(), k.rows());
    const LinearFeatures<Scalar> f = features_of(backend, q, k, table, layout, form, visible);
    const int keys = narrow(k.rows()), channels = narrow(k.cols()), columns = narrow(v.cols());
    const auto there_k = upload(backend, f.k), there_k_z = upload(backend, f.k_z), there_v = upload(backend, v);
    const auto there_q = upload(backend, f.q), there_q_z = upload(backend, f.q_z);
    auto kv = allocate<Scalar>(backend, channels, columns), z = allocate<Scalar>(backend, channels, 1);
    auto context = allocate<Scalar>(backend, q.rows(), columns);
    backend.parallel_for(static_cast<long long>(channels) * columns,
                         KeySumsKernel<Scalar>{there_k.data(), there_v.data(), keys, channels, columns, kv.data()});
    backend.parallel_for(channels, KeySumsKernel<Scalar>{there_k_z.data(), nullptr, keys, channels, 1, z.data()});
    backend.parallel_for(q.rows() * columns, LinearContextKernel<Scalar>{there_q.data(), there_q_z.data(), kv.data(),
                                                                         z.data(), channels, columns, context.data()});
    return download(backend, context, q.rows(), columns);
}

template <class Backend, class Scalar>
Matrix<Scalar> causal_linear_attention(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                       const Matrix<Scalar>& v, const RotaryTable<Scalar>& table, RotaryLayout layout,
                                       LinearForm form, const std::vector<bool>& visible) {
    check_rows("causal_linear_attention", v.rows(), k.rows());
    const LinearFeatures<Scalar> f = features_of(backend, q, k, table, layout, form, visible);
    const auto there_k = upload(backend, f.k), there_k_z = upload(backend, f.k_z), there_v = upload(backend, v);
    const auto there_q = upload(backend, f.q), there_q_z = upload(backend, f.q_z);
    auto kv = allocate<Scalar>(backend, v.cols(), k.cols()), z = allocate<Scalar>(backend, v.cols(), k.cols());
    auto context = allocate<Scalar>(backend, q.rows(), v.cols());
    backend.parallel_for(
        v.cols(), CausalContextKernel<Scalar>{there_q.data(), there_q_z.data(), there_k.data(), there_k_z.data(),
                                              there_v.data(), narrow(q.rows()), narrow(q.cols()), narrow(v.cols()),
                                              kv.data(), z.data(), context.data()});
    return download(backend, context, q.rows(), v.cols());
}

}  // namespace reference

}  // namespace locus::cuda
