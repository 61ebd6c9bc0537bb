#pragma once
// A problem for the forward kernels, its inputs between guards of NaN, and the reference in float64 that says what each
// sample and head should be.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/attention/disentangled.h"
#include "core/products.h"
#include "cuda/fused/arguments.h"
#include "cuda/fused/dropout.h"
#include "tests/cuda/guarded.h"
#include "tests/max_abs.h"

namespace locus::test {

struct ForwardCase {
    Index queries, keys, span;
    bool logarithmic = false, c2p = true, p2c = true, hides = false;
    float dropout = 0;
    std::vector<Index> lengths{};  // packed samples; queries = keys = the longest
    Index lost = -1;               // a packed sample whose tokens are no numbers at all: it must not show in the others
    bool heads_inside = false;     // [B,T,H,d] in memory instead of [B,H,T,d]
    Index max_position = 4 * span;  // of log buckets; few leave rows out
};

inline std::string text_of(const ForwardCase& one) {
    return "T " + std::to_string(one.queries) + " x " + std::to_string(one.keys) + ", k " + std::to_string(one.span) +
           (one.logarithmic ? ", log to " + std::to_string(one.max_position) : "") +
           (one.hides ? ", hidden keys" : "") + (one.dropout > 0 ? ", dropout" : "") + (one.c2p ? "" : ", no c2p") +
           (one.p2c ? "" : ", no p2c") + (one.lengths.empty() ? "" : ", packed") +
           (one.heads_inside ? ", heads inside" : "");
}

inline RelativeBuckets buckets_of(const ForwardCase& one) {
    return one.logarithmic
               ? RelativeBuckets::logarithmic(one.queries, one.keys, one.span, one.max_position, OffsetClamp::official)
               : RelativeBuckets::clamped(one.queries, one.keys, one.span);
}

inline bool is_visible(const ForwardCase& one, Index sample, Index j) {
    if (!one.hides) return true;
    return sample == 0 ? j % 7 != 3 : false;  // the second sample sees nothing at all
}

/// Where a token of a sample and head lies among the rows of a tensor.
struct TokenRows {
    Index heads, tokens;  // of a padded sample, or of all packed ones together
    bool heads_inside;
    std::vector<int> starts;  // of packed samples

    Index row(Index b, Index h, Index t) const {
        if (!starts.empty()) t += starts[static_cast<std::size_t>(b)];
        const Index sample = starts.empty() ? b * heads * tokens : 0;
        return sample + (heads_inside ? t * heads + h : h * tokens + t);
    }
    Matrix<double> of(const Matrix<double>& all, Index b, Index h, Index count) const {
        Matrix<double> part(count, all.cols());
        for (Index t = 0; t < count; ++t) part.row(t) = all.row(row(b, h, t));
        return part;
    }
    template <class Scalar>
    cuda::Rows<Scalar> strides(Scalar* data, Index width) const {
        const long long sample = starts.empty() ? heads * tokens * width : 0;
        return heads_inside ? cuda::Rows<Scalar>{data, sample, width, heads * width}
                            : cuda::Rows<Scalar>{data, sample, tokens * width, width};
    }
};

template <class Scalar>
struct ForwardProblem {
    static constexpr Index kHeads = 3;

    const ForwardCase one;
    const Index width, batch, table;
    std::mt19937 random{17};
    const RelativeBuckets buckets;
    const std::vector<std::uint16_t> line;
    std::vector<int> starts;
    const TokenRows of_queries, of_keys;
    Rounded<Scalar> q, k, v, k_r, q_r;
    Guarded<Scalar> context;
    Guarded<float> log_sum;
    std::vector<std::uint8_t> visible;
    cuda::ForwardArguments<Scalar> args;

    ForwardProblem(const ForwardCase& problem, Index channels)
        : one(problem),
          width(channels),
          batch(problem.lengths.empty() ? 2 : static_cast<Index>(problem.lengths.size())),
          table(2 * problem.span),
          buckets(buckets_of(problem)),
          line(buckets.rows().begin(), buckets.rows().end()),
          starts(starts_of(problem)),
          of_queries{kHeads, starts.empty() ? problem.queries : starts.back(), problem.heads_inside, starts},
          of_keys{kHeads, starts.empty() ? problem.keys : starts.back(), problem.heads_inside, starts},
          q(rows_of(of_queries), width, 1, random),
          k(rows_of(of_keys), width, 1, random),
          v(rows_of(of_keys), width, 1, random),
          k_r(kHeads * table, width, 1, random),
          q_r(kHeads * table, width, 1, random),
          context(static_cast<std::size_t>(rows_of(of_queries) * width)),
          log_sum(static_cast<std::size_t>(batch * kHeads * one.queries)) {
        for (Index b = 0; b < batch; ++b)
            for (Index j = 0; j < one.keys; ++j) visible.push_back(is_visible(one, b, j));
        if (one.lost >= 0) lose(one.lost);
        args.q = of_queries.strides<const Scalar>(q.narrow.data(), width);
        args.k = of_keys.strides<const Scalar>(k.narrow.data(), width);
        args.v = of_keys.strides<const Scalar>(v.narrow.data(), width);
        args.context = of_queries.strides<Scalar>(context.data(), width);
        args.log_sum = log_sum.data();
        if (one.c2p) args.k_r = k_r.narrow.data();
        if (one.p2c) args.q_r = q_r.narrow.data();
        args.buckets = cuda::bucket_rows(line, line.data(), static_cast<int>(one.keys) - 1);
        args.table_rows = static_cast<int>(table);
        if (one.hides) args.visible_keys = visible.data();
        if (!starts.empty()) {
            args.first_query = args.first_key = starts.data();
            args.all_queries = args.all_keys = starts.back();
        }
        args.batch = static_cast<int>(batch);
        args.heads = static_cast<int>(kHeads);
        args.queries = static_cast<int>(one.queries);
        args.keys = static_cast<int>(one.keys);
        args.scale = static_cast<float>(1 / score_divisor<double>(1 + one.c2p + one.p2c, width));
        args.dropout = one.dropout;
        args.seed = 0x123456789abcdefULL;
    }

private:
    static std::vector<int> starts_of(const ForwardCase& problem) {
        if (problem.lengths.empty()) return {};
        std::vector<int> starts = {0};
        for (const Index length : problem.lengths) starts.push_back(starts.back() + static_cast<int>(length));
        return starts;
    }
    Index rows_of(const TokenRows& tokens) const { return (starts.empty() ? batch : 1) * tokens.heads * tokens.tokens; }
    /// With the sign that guards have not: the sample's own blocks do read it.
    void lose(Index sample) {
        for (Rounded<Scalar>* tensor : {&q, &k, &v})
            for (Index h = 0; h < kHeads; ++h)
                for (Index t = 0; t < one.lengths[static_cast<std::size_t>(sample)]; ++t)
                    for (Index c = 0; c < width; ++c)
                        tensor->narrow.data()[of_queries.row(sample, h, t) * width + c] =
                            cuda::from_float<Scalar>(-std::nanf(""));
    }
};

/// The larger of both; what is no number is worse than any, and stays so.
inline void keep_worst(double& worst, double error) {
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

/// What a kernel rounds on the way to a score: nothing, position scores to halves, or also the sum of a query and a
/// row.
enum class RoundedScores { none, tables, tables_and_queries };

inline double longest_row(const Matrix<double>& rows) { return rows.rowwise().norm().maxCoeff(); }

/// What a kernel made of a problem, against the reference.
template <class Scalar>
void check_head(ForwardProblem<Scalar>& made, RoundedScores rounds, Index b, Index h, double& worst,
                double& worst_log) {
    const ForwardCase& one = made.one;
    const bool packed = !one.lengths.empty();
    const Index queries = packed ? one.lengths[static_cast<std::size_t>(b)] : one.queries,
                keys = packed ? queries : one.keys, at = b * made.kHeads + h;
    if (queries == 0) return;
    const RelativeBuckets buckets = packed ? buckets_of({queries, keys, one.span, one.logarithmic}) : made.buckets;
    const Matrix<double> query = made.of_queries.of(made.q.wide, b, h, queries),
                         key = made.of_keys.of(made.k.wide, b, h, keys),
                         value = made.of_keys.of(made.v.wide, b, h, keys);
    Matrix<double> scores = content_to_content<double>(query, key);
    double rounded = 0;     // the largest score of those that the kernel keeps as halves
    double of_queries = 0;  // |rounding of q + row| |k|
    if (one.c2p) {
        const Matrix<double> term =
            content_to_position<double>(query, made.k_r.wide.middleRows(h * made.table, made.table), buckets);
        rounded += max_abs(term);
        scores += term;
    }
    if (one.p2c) {
        const Matrix<double> term =
            position_to_content<double>(key, made.q_r.wide.middleRows(h * made.table, made.table), buckets);
        rounded += max_abs(term);
        scores += term;
        of_queries = kRoundoff<Scalar> * longest_row(key) *
                     (longest_row(query) + longest_row(made.q_r.wide.middleRows(h * made.table, made.table)));
    }
    scores *= made.args.scale;
    Mask mask = Mask::Ones(queries, keys);
    for (Index j = 0; j < keys; ++j) mask.col(j).setConstant(is_visible(one, b, j));
    Matrix<double> probs = masked_softmax<double>(scores, mask);
    if (one.dropout > 0) {
        const std::uint32_t number = dropout_key(made.args.seed, static_cast<std::uint32_t>(at));
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys; ++j)
                probs(i, j) *= cuda::dropout_factor(number, one.dropout, static_cast<int>(i), static_cast<int>(j));
    }
    const Matrix<double> expected = times<double>(probs, value);
    // Scores carry the halves' error, probabilities and context one rounding each, sums those of float32.
    const double of_scores = ((rounds != RoundedScores::none ? 0x1p-11 * rounded : 0) +
                              (rounds == RoundedScores::tables_and_queries ? of_queries : 0)) *
                                 made.args.scale +
                             64 * double(made.width) * 0x1p-24 * max_abs(scores);
    const double largest = max_abs(value) / (1 - one.dropout);
    const double allowed = largest * (2 * kRoundoff<Scalar> + 2 * of_scores + 0x1p-24 * double(keys));
    for (Index i = 0; i < queries; ++i) {
        for (Index c = 0; c < made.width; ++c) {
            const double found = cuda::to_float(made.context.data()[made.of_queries.row(b, h, i) * made.width + c]);
            const double error = std::abs(found - expected(i, c)) / allowed;
            keep_worst(worst, error);
        }
        const double found = made.log_sum.data()[at * one.queries + i];
        if (one.hides && b == 1) {
            if (found != std::numeric_limits<double>::infinity()) worst_log = 1e9;
            continue;
        }
        double sum = 0;
        for (Index j = 0; j < keys; ++j)
            if (mask(i, j)) sum += std::exp(scores(i, j));
        const double error = std::abs(found - std::log(sum)) / (of_scores + 1e-5);
        keep_worst(worst_log, error);
    }
}

/// run(args): every block of the kernel.
template <class Scalar, class Run>
void check_forward(const ForwardCase& one, Index width, RoundedScores rounds, Run run) {
    INFO(text_of(one) << ", d " << width);
    ForwardProblem<Scalar> made(one, width);
    run(made.args);
    double worst = 0, worst_log = 0;
    for (Index b = 0; b < made.batch; ++b)
        for (Index h = 0; h < made.kHeads; ++h)
            if (b != one.lost) check_head(made, rounds, b, h, worst, worst_log);
    CHECK(worst <= 1);
    CHECK(worst_log <= 1);
    CHECK(made.context.guards_hold());
    CHECK(made.log_sum.guards_hold());
}

}  // namespace locus::test
