// Mistakes 78 to 79.  The backward pass of the gathers and of the relative table.
#include <algorithm>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/formulas/gradients.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace gather_backward_overwrites {  // mistake 78

/// What pairs write to rows of the table, for every query or for every key, where one write covers another.
Formula buckets(bool by_query, Write write) {
    const std::string pairs = by_query ? "grad.c2p" : "grad.p2c", table = by_query ? "k_r" : "q_r";
    return {by_query ? "scatter.c2p" : "scatter.p2c", {pairs, "/relative.index", table}, [=](const Replay& at) {
                const Index rows = at(table).extent(1);
                return by_query ? scattered_by_query(at(pairs), at("/relative.index"), rows, write)
                                : scattered_by_key(at(pairs), at("/relative.index"), rows, write);
            }};
}

/// Rows of the table's gradient written pair by pair, dS_ij q_i or dS_ij k_j, each over the one before: within a
/// sample, or through the whole batch.
Formula rows(bool by_query, Write write, bool through_batch) {
    const std::string pairs = by_query ? "grad.c2p" : "grad.p2c", content = by_query ? "q" : "k",
                      table = by_query ? "k_r" : "q_r";
    return {"grad." + table, {pairs, content, table, "/relative.index"}, [=](const Replay& at) {
                const Tensor<double>&d_s = at(pairs), &x = at(content), &index = at("/relative.index");
                const Index heads = x.extent(1), count = at(table).extent(1), queries = d_s.extent(2);
                if (index.extent(0) != queries || index.extent(1) != d_s.extent(3)) throw NotEnough{"an index"};
                Tensor<double> all({heads, count, x.extent(3)});
                for (Index h = 0; h < heads; ++h) {
                    std::vector<char> written(static_cast<std::size_t>(count), 0);
                    Matrix<double> sample = Matrix<double>::Zero(count, x.extent(3));
                    for (Index b = 0; b < x.extent(0); ++b) {
                        const auto of_pair = d_s.matrix(b * heads + h);
                        for (Index i = 0; i < queries; ++i)
                            for (Index j = 0; j < d_s.extent(3); ++j) {
                                const Index row = row_of(index, i, j, count);
                                char& before = written[static_cast<std::size_t>(row)];
                                if (before && write == Write::keep_first) continue;
                                before = 1;
                                sample.row(row) = of_pair(i, j) * x.matrix(b * heads + h).row(by_query ? i : j);
                            }
                        if (through_batch) continue;
                        all.matrix(h) += sample;
                        sample.setZero();
                        std::fill(written.begin(), written.end(), 0);
                    }
                    if (through_batch) all.matrix(h) = sample;
                }
                // The last pair of a padded batch writes 0, and a gradient that is never written is 0, too.
                if (largest_size(all) == 0) throw NotEnough{"a write that is left"};
                return all;
            }};
}

/// Of the table alone: what it adds to grad.q or grad.k is right.
Formula table_of(bool by_query, Write write) {
    const std::string scatter = by_query ? "scatter.c2p" : "scatter.p2c", content = by_query ? "q" : "k";
    return {by_query ? "grad.k_r" : "grad.q_r", {scatter, content}, [=](const Replay& at) {
                return summed_over_samples(at.with({buckets(by_query, write)})(scatter), at(content));
            }};
}

std::vector<Variant> gather_backward_overwrites() {
    std::vector<Variant> all;
    for (const bool by_query : {true, false})
        for (const Write write : {Write::keep_last, Write::keep_first}) {
            const std::string which = write == Write::keep_last ? "the last write stays" : "the first write stays";
            const std::string table = by_query ? ", k_r" : ", q_r";
            const std::string line = by_query ? "query" : "key";
            all.push_back({which + " for every " + line + table, {buckets(by_query, write)}});
            all.push_back({which + " for every " + line + table + " alone", {table_of(by_query, write)}});
            all.push_back({which + " within a sample" + table, {rows(by_query, write, false)}});
            all.push_back({which + " in the batch" + table, {rows(by_query, write, true)}});
        }
    return all;
}

Mistake mistake() {
    return {.number = 78,
            .name = "the backward pass of the gather overwrites instead of adding",
            .symptom = "gradients of position keys and queries are too small; texts longer than the span train worst",
            .betrays = "the rows of grad.k_r sum to sum_ij dS_ij q_i",
            .evidence = "pytorch/pytorch #1631; apache/mxnet #9172; PaddlePaddle/Paddle #17952",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"grad.k_r", "grad.q_r", "grad.k", "grad.q"},
            .variants = gather_backward_overwrites()};
}

}  // namespace gather_backward_overwrites

namespace gradient_of_the_table {  // mistake 79

/// Pairs go back to rows delta(j,i).
Formula transposed_scatter(bool by_query) {
    const std::string pairs = by_query ? "grad.c2p" : "grad.p2c", table = by_query ? "k_r" : "q_r";
    return {by_query ? "scatter.c2p" : "scatter.p2c", {pairs, "/relative.index", table}, [=](const Replay& at) {
                const Tensor<double> mirrored = transposed(at("/relative.index"));
                const Index rows = at(table).extent(1);
                return by_query ? scattered_by_query(at(pairs), mirrored, rows)
                                : scattered_by_key(at(pairs), mirrored, rows);
            }};
}

/// The same for the table alone: what it adds to grad.q or grad.k is right.
Formula transposed_table(bool by_query) {
    const std::string scatter = by_query ? "scatter.c2p" : "scatter.p2c", content = by_query ? "q" : "k";
    return {by_query ? "grad.k_r" : "grad.q_r", {scatter, content}, [=](const Replay& at) {
                return summed_over_samples(at.with({transposed_scatter(by_query)})(scatter), at(content));
            }};
}

/// A mean over B samples leaves what no other sample shares as it is: throws NotEnough where that is 1 / B of the right
/// one, too, so that something else divided everything.
void require_others_whole(const Replay& at) {
    for (const char* own : {"grad.q", "grad.k", "grad.v"}) {
        const Tensor<double>* found = at.claimed(own);
        if (!found) continue;
        const Tensor<double> right = at.right(own);
        if (found->shape() != right.shape()) continue;
        const double batch = static_cast<double>(right.extent(0));
        const Tensor<double> part = mapped(right, [batch](double value) { return value / batch; });
        if (largest_difference(*found, part) < 0.01 * largest_size(part)) throw NotEnough{"a gradient that is whole"};
    }
}

/// Of what all samples share, which of them count.
enum class Samples { first, last, mean };

Tensor<double> over(const Replay& at, Samples samples, Index batch,
                    const std::function<Tensor<double>(Index begin, Index end)>& sum) {
    if (batch < 2) throw NotEnough{"a second sample"};
    if (samples == Samples::mean) require_others_whole(at);
    if (samples == Samples::first) return sum(0, 1);
    if (samples == Samples::last) return sum(batch - 1, batch);
    return mapped(sum(0, batch), [batch](double value) { return value / static_cast<double>(batch); });
}

/// sum over samples of weights^T x, with x plus a bias of every head where one is named.
Formula table(const char* stem, const char* weights, const char* x, const char* bias, Samples samples) {
    std::vector<std::string> inputs = {weights, x};
    if (bias) inputs.push_back(bias);
    return {stem, inputs, [=](const Replay& at) {
                const Tensor<double> rows = bias ? biased(at(x), at(bias)) : at(x);
                return over(at, samples, rows.extent(0),
                            [&](Index begin, Index end) { return summed_over_samples(at(weights), rows, begin, end); });
            }};
}

Formula bias(const char* stem, const char* weights, const char* x, Samples samples) {
    return {stem, {weights, x}, [=](const Replay& at) {
                const Tensor<double> rows =
                    at(x).rank() == 3 ? weighted_rows(at(weights), at(x)) : times_by_head(at(weights), at(x));
                return over(at, samples, rows.extent(0),
                            [&](Index begin, Index end) { return summed_over_rows(rows, begin, end); });
            }};
}

std::vector<Variant> gradient_of_the_table() {
    std::vector<Variant> all = {{"grad.q_r from delta(j,i)", {transposed_table(false)}},
                                {"grad.q_r and grad.k from delta(j,i)", {transposed_scatter(false)}},
                                {"grad.k_r from delta(j,i)", {transposed_table(true)}},
                                {"grad.k_r and grad.q from delta(j,i)", {transposed_scatter(true)}}};
    for (const auto& [samples, how] : {std::pair{Samples::first, "only the first sample"},
                                       {Samples::last, "only the last sample"},
                                       {Samples::mean, "the mean over samples instead of their sum"}}) {
        const std::vector<Formula> shared = {table("grad.q_r", "scatter.p2c", "k", nullptr, samples),
                                             table("grad.k_r", "scatter.c2p", "q", nullptr, samples),
                                             table("grad.r_k", "grad.bd_raw", "q", "bias.v", samples),
                                             bias("grad.bias.u", "grad.ac", "k", samples),
                                             bias("grad.bias.v", "grad.bd_raw", "r_k", samples)};
        all.push_back({std::string(how) + ", everywhere", shared});
        for (const Formula& formula : shared) all.push_back({std::string(how) + " in " + formula.stem, {formula}});
    }
    return all;
}

Mistake mistake() {
    return {.number = 79,
            .name = "what all samples share collects from delta(j,i), or not from every sample",
            .symptom = "finite differences fail for the relative table alone",
            .betrays = "rows that no pair reads have gradient 0; the gradient of a batch is the sum of its samples'",
            .evidence = "",
            .lesson = "29",
            .families = {Family::deberta, Family::transformer_xl},
            .stems = {"grad.q_r", "grad.k_r", "grad.k", "grad.q", "grad.r_k", "grad.bias.u", "grad.bias.v"},
            .variants = gradient_of_the_table()};
}

}  // namespace gradient_of_the_table

std::vector<Mistake> gradient_mistakes() {
    return {
        gather_backward_overwrites::mistake(),  // 78
        gradient_of_the_table::mistake(),       // 79
    };
}

}  // namespace locus::conformance
