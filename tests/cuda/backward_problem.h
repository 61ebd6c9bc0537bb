#pragma once
// Random inputs for the fused backward kernels, the gradients of the float64 reference, and how far rounding may carry
// a kernel from each of them.
#include <string>

#include "core/attention/disentangled.h"
#include "core/fast/slices.h"
#include "core/products.h"
#include "cuda/fused/arguments.h"
#include "cuda/fused/dropout.h"
#include "tests/cuda/guarded.h"

namespace locus::test {

struct BackwardCase {
    Index queries, keys, span;
    bool logarithmic = false, c2p = true, p2c = true, hides = false;
    float dropout = 0;
    std::vector<Index> lengths = {};  // packed samples; queries and keys are then those of the longest
    Index max_position = 4 * span;    // of log buckets; few leave rows out

    RelativeBuckets buckets(Index tq, Index tk) const {
        return logarithmic ? RelativeBuckets::logarithmic(tq, tk, span, max_position, OffsetClamp::official)
                           : RelativeBuckets::clamped(tq, tk, span);
    }
    bool is_visible(Index sample, Index j) const {
        if (!hides) return true;
        return sample == 0 ? j % 7 != 3 : j >= 64;  // of up to 64 keys the second sample sees none at all
    }
    std::string text() const {
        return "T " + std::to_string(queries) + " x " + std::to_string(keys) + ", k " + std::to_string(span) +
               (logarithmic ? ", log to " + std::to_string(max_position) : "") + (c2p ? "" : ", no c2p") +
               (p2c ? "" : ", no p2c") + (hides ? ", hidden keys" : "") + (dropout > 0 ? ", dropout" : "") +
               (lengths.empty() ? "" : ", packed");
    }
};

/// A gradient and the error that it may have, number by number.
struct Bounded {
    Matrix<double> value, allowed;

    /// The share of one more sample; 1.001: the rounding of such sums.
    void add(const Bounded& more) {
        if (more.value.size() == 0) return;
        value += more.value;
        allowed += 1.001 * more.allowed;
    }
};

/// The largest error in units of what is allowed; infinite where there may be none, and for NaN.
inline double worst_error(const Matrix<double>& found, const Bounded& expected) {
    double worst = 0;
    for (Index n = 0; n < found.size(); ++n) {
        const double error = std::abs(found.data()[n] - expected.value.data()[n]);
        if (error == 0) continue;
        const double share = error / expected.allowed.data()[n];
        if (!(share <= worst)) worst = std::isnan(share) ? std::numeric_limits<double>::infinity() : share;
    }
    return worst;
}

struct HeadProblem {
    DisentangledHead<double> head;
    Matrix<double> d_context, scores, context;
    Eigen::VectorXd log_sum;
    RelativeBuckets buckets;
    double scale;
};

/// From q, k, v, k_r, q_r: the rest.   key: of the dropout.
inline void complete(HeadProblem& one, const BackwardCase& of, Index sample, std::uint32_t key) {
    DisentangledHead<double>& head = one.head;
    const Index queries = head.q.rows(), keys = head.k.rows();
    one.log_sum = Eigen::VectorXd(queries);
    if (queries == 0) return;
    one.scores = times_transposed<double>(head.q, head.k);
    if (of.c2p) one.scores += content_to_position<double>(head.q, head.k_r, one.buckets);
    if (of.p2c) one.scores += position_to_content<double>(head.k, head.q_r, one.buckets);
    one.scores *= one.scale;
    Mask mask = Mask::Ones(queries, keys);
    for (Index j = 0; j < keys; ++j) mask.col(j).setConstant(of.is_visible(sample, j));
    head.probs = masked_softmax<double>(one.scores, mask);
    Matrix<double> dropped = head.probs;
    if (of.dropout > 0) {
        head.keep = Matrix<double>(queries, keys);
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j) {
                const auto two = cuda::dropout_numbers(key, static_cast<int>(i), static_cast<int>(j / 2 * 2));
                const bool drops = (j % 2 ? two.second : two.first) < dropout_threshold(of.dropout);
                head.keep(i, j) = drops ? 0 : 1 / (1 - double(of.dropout));
            }
        dropped = dropped.cwiseProduct(head.keep);
    }
    one.context = times<double>(dropped, head.v);
    for (Index i = 0; i < queries; ++i) {
        double sum = 0;
        for (Index j = 0; j < keys; ++j)
            if (mask(i, j)) sum += std::exp(one.scores(i, j));
        one.log_sum(i) = sum == 0 ? std::numeric_limits<double>::infinity() : std::log(sum);
    }
}

struct HeadExpected {
    Bounded q, k, v, k_r, q_r;
};

/// rounds: the kernel rounds products' factors to the format and keeps position scores as halves; otherwise only what
/// leaves it is rounded, and all between is float32.   own_forward: context and log_sum came from a forward kernel with
/// the same errors, and not from the reference.
template <class Scalar>
HeadExpected expect_gradients(const HeadProblem& one, bool rounds, bool own_forward) {
    using Wide = Matrix<double>;
    constexpr double e = 0x1p-24, u = kRoundoff<Scalar>, tiny = std::is_same_v<Scalar, cuda::Half> ? 0x1p-25 : 0;
    const auto& head = one.head;
    const double width = static_cast<double>(head.q.cols()), queries = static_cast<double>(head.q.rows()),
                 keys = static_cast<double>(head.k.rows());
    const bool c2p = head.k_r.size() > 0, p2c = head.q_r.size() > 0;
    const Wide q = head.q.cwiseAbs(), k = head.k.cwiseAbs(), v = head.v.cwiseAbs(), d_o = one.d_context.cwiseAbs(),
               k_r = head.k_r.cwiseAbs(), q_r = head.q_r.cwiseAbs();
    const auto grad = disentangled_backward<double>(head, one.buckets, one.d_context);

    // Scores: three dot products in float32; position scores once more as halves; then the steps to the exponent.
    Wide products = times_transposed<double>(q, k), halves = Wide::Zero(q.rows(), k.rows());
    if (c2p) {
        products += content_to_position<double>(q, k_r, one.buckets);
        halves += content_to_position<double>(head.q, head.k_r, one.buckets).cwiseAbs();
    }
    if (p2c) {
        products += position_to_content<double>(k, q_r, one.buckets);
        halves += position_to_content<double>(head.k, head.q_r, one.buckets).cwiseAbs();
    }
    Wide of_exponent = one.scale * ((width + 4) * e * products + (rounds ? 0x1p-11 : 0) * halves);
    of_exponent.array() += (rounds ? 2 * 0x1p-25 : 0) + 8 * e;
    of_exponent += 6 * e * one.scores.cwiseAbs();
    for (Index i = 0; i < q.rows(); ++i)
        if (std::isfinite(one.log_sum(i))) of_exponent.row(i).array() += 4 * e * std::abs(one.log_sum(i));
    const Eigen::VectorXd of_forward = of_exponent.rowwise().maxCoeff();
    if (own_forward) of_exponent.colwise() += of_forward;
    const Wide keep = head.keep.size() > 0 ? head.keep : Wide::Ones(q.rows(), k.rows());
    const Wide d_probs = times_transposed<double>(d_o, v).cwiseProduct(keep);
    // Forward's probabilities were rounded on their way to the context.
    const Wide forward_context = times<double>(head.probs.cwiseProduct(keep), v);
    Eigen::VectorXd delta(q.rows()), of_delta(q.rows());
    for (Index i = 0; i < q.rows(); ++i) {
        delta(i) = d_o.row(i).dot(one.context.row(i).cwiseAbs());
        of_delta(i) = delta(i) * (1.01 * u + (width + 2) * e) + tiny * d_o.row(i).sum();
        if (own_forward)
            of_delta(i) +=
                d_o.row(i).dot(forward_context.row(i)) * (2.02 * of_forward(i) + (rounds ? 2 * u : 0) + (keys + 8) * e);
    }
    // dS, before the scale: P (Z dP - delta).
    const Wide of_scores = grad.scores.cwiseAbs() / one.scale;
    Wide error = 1.02 * (of_exponent.array() * of_scores.array()).matrix() + 4 * e * of_scores;
    for (Index i = 0; i < q.rows(); ++i)
        error.row(i) +=
            1.02 * head.probs.row(i).cwiseProduct(((width + 4) * e * d_probs.row(i)) +
                                                  Wide::Constant(1, k.rows(), of_delta(i) + 2 * e * delta(i)));
    if (rounds) error = (error + 1.01 * u * of_scores).array() + tiny;

    const auto rounded = [&](const Wide& value, const Wide& inside) {
        return Bounded{value, ((1 + u) * inside + u * value.cwiseAbs()).array() + (u > e ? tiny : 0)};
    };
    const auto by_row = [&](const Wide& scores, bool of_query) {
        return of_query ? scatter_slices_by_query<double>(scores, one.buckets)
                        : scatter_slices_by_key<double>(scores, one.buckets);
    };
    const auto table_rounding = [&](bool of_query) { return Wide((u * by_row(of_scores, of_query)).array() + tiny); };
    const double of_sums = (queries + keys + 2 * static_cast<double>(one.buckets.span()) + 8) * e;
    const Wide sums = of_sums * of_scores + error;
    Wide inside_q = times<double>(sums, k), inside_k = transposed_times<double>(sums, q);
    HeadExpected expected;
    if (c2p) {
        const Wide of_table = by_row(sums, true) + table_rounding(true);
        inside_q += times<double>(rounds ? of_table : by_row(sums, true), k_r);
        expected.k_r = {grad.k_r, one.scale * transposed_times<double>(of_table, q)};
    }
    if (p2c) {
        const Wide of_table = by_row(sums, false) + table_rounding(false);
        inside_k += times<double>(rounds ? of_table : by_row(sums, false), q_r);
        expected.q_r = {grad.q_r, one.scale * transposed_times<double>(of_table, k)};
    }
    expected.q = rounded(grad.q, one.scale * inside_q);
    expected.k = rounded(grad.k, one.scale * inside_k);
    const Wide dropped = head.probs.cwiseProduct(keep);
    Wide of_probs = 1.02 * of_exponent.cwiseProduct(dropped) + (of_sums + (rounds ? 1.01 * u : 0)) * dropped;
    if (rounds) of_probs.array() += tiny;
    expected.v = rounded(grad.v, transposed_times<double>(of_probs, d_o));
    return expected;
}

}  // namespace locus::test
