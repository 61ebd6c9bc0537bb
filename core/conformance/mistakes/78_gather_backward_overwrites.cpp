#include <algorithm>

#include "core/conformance/formulas/gradient_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// What pairs leave in rows of the table, for every query or for every key, where one write covers another.
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
                return all;
            }};
}

std::vector<Variant> gather_backward_overwrites() {
    std::vector<Variant> all;
    for (const bool by_query : {true, false})
        for (const Write write : {Write::keep_last, Write::keep_first}) {
            const std::string which = write == Write::keep_last ? "the last write stays" : "the first write stays";
            const std::string table = by_query ? ", k_r" : ", q_r";
            all.push_back({which + " for every " + (by_query ? "query" : "key") + table, {buckets(by_query, write)}});
            all.push_back({which + " within a sample" + table, {rows(by_query, write, false)}});
            all.push_back({which + " in the batch" + table, {rows(by_query, write, true)}});
        }
    return all;
}

}  // namespace

Mistake mistake_78() {
    return {.number = 78,
            .name = "the backward pass of the gather overwrites instead of adding",
            .symptom = "gradients of position keys and queries are too small; texts longer than the span train worst",
            .betrays = "the rows of grad.k_r sum to sum_ij dS_ij q_i",
            .evidence = "pytorch/pytorch #1631; apache/mxnet #9172; PaddlePaddle/Paddle #17952",
            .lesson = "09",
            .families = {Family::deberta},
            .stems = {"grad.k_r", "grad.q_r", "grad.k", "grad.q"},
            .variants = gather_backward_overwrites()};
}

}  // namespace locus::conformance
