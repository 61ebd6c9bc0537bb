#include "core/attention/disentangled.h"
#include "core/fast/slices.h"
#include "core/products.h"
#include "tests/bench/bench.h"
#include "tests/max_abs.h"

namespace locus::bench::gather {

namespace {

constexpr Index kTokens = 512, kHeads = 12, kWidth = 64, kSpan = 256;

/// As frameworks do it: a 64-bit index matrix picks a new matrix out of the table, which is then added to the scores.
void gather_c2p(const Matrix<float>& table, const IndexTensor& index, Matrix<float>& scores) {
    Matrix<float> gathered(kTokens, kTokens);
    for (Index i = 0; i < kTokens; ++i)
        for (Index j = 0; j < kTokens; ++j) gathered(i, j) = table(i, index[i * kTokens + j]);
    scores += gathered;
}

/// Likewise for p2c: transformers gathers per key (`transposed` is the index of the pairs (j, i)) and transposes.
void gather_p2c(const Matrix<float>& table, const IndexTensor& transposed, Matrix<float>& scores) {
    Matrix<float> gathered(kTokens, kTokens);
    for (Index j = 0; j < kTokens; ++j)
        for (Index i = 0; i < kTokens; ++i) gathered(j, i) = table(j, transposed[j * kTokens + i]);
    scores += gathered.transpose();
}

/// Milliseconds of all heads for two ways, taken in turn so that both meet the same machine.  Each head is warmed once,
/// as its table is in a pass that has just computed it.
template <class A, class B>
std::pair<double, double> compare_ways(A a, B b) {
    std::pair<double, double> sums;
    for (Index h = 0; h < kHeads; ++h) {
        std::vector<double> first, second;
        for (int round = 0; round < 21; ++round) {
            const auto timed = [&](auto way) {
                way(h);
                const double start = now();
                way(h);
                return (now() - start) * 1e3;
            };
            first.push_back(timed(a));
            second.push_back(timed(b));
        }
        sums.first += median(first);
        sums.second += median(second);
    }
    return sums;
}

using Times = std::pair<double, double>;

void report(Measures& measures, const std::string& name, Times slices_gather, double target) {
    measures.push_back({name + ", slices", slices_gather.first, "ms", 0, true});
    measures.push_back({name + ", index gather", slices_gather.second, "ms", 0, true});
    measures.push_back({name + ", gather / slices", slices_gather.second / slices_gather.first, "x", target, true});
}

/// Both terms from vectors to scores, one head after the other.  Both ways multiply with the relative table first, so
/// the ratio is smaller than that of the step alone.
Times whole_terms(const RelativeBuckets& buckets, const IndexTensor& index, const IndexTensor& transposed) {
    const Matrix<float> q = Matrix<float>::Random(kTokens, kWidth), k = Matrix<float>::Random(kTokens, kWidth),
                        q_r = Matrix<float>::Random(2 * kSpan, kWidth), k_r = Matrix<float>::Random(2 * kSpan, kWidth);
    Matrix<float> sliced = Matrix<float>::Zero(kTokens, kTokens), gathered = sliced;
    const Times times = compare_ways(
        [&](Index) {
            add_slices_by_query<float>(products_of_rows<float>(q, k_r.colwise().reverse()), buckets, sliced);
            add_slices_by_key<float>(products_of_rows<float>(k, q_r), buckets, sliced);
        },
        [&](Index) {
            gather_c2p(products_of_rows<float>(q, k_r), index, gathered);
            gather_p2c(products_of_rows<float>(k, q_r), transposed, gathered);
        });
    LOCUS_CHECK(test::max_abs(sliced - gathered) <= 1e-4F * test::max_abs(gathered),
                "bench gather: whole terms by slices and by gather differ");
    return times;
}

}  // namespace

void measure(Measures& measures) {
    const RelativeBuckets buckets = RelativeBuckets::clamped(kTokens, kTokens, kSpan);
    const IndexTensor index = buckets.matrix(), transposed = buckets.mirrored().matrix();
    const Matrix<float> relative = Matrix<float>::Random(2 * kSpan, kWidth);
    std::vector<Matrix<float>> tables, reversed, sliced(kHeads, Matrix<float>::Zero(kTokens, kTokens)),
        gathered = sliced;
    for (Index h = 0; h < kHeads; ++h) {
        tables.push_back(products_of_rows<float>(Matrix<float>::Random(kTokens, kWidth), relative));
        reversed.push_back(tables.back().rowwise().reverse());
    }
    const auto at = [](Index h) { return static_cast<std::size_t>(h); };
    const auto c2p = compare_ways([&](Index h) { add_slices_by_query<float>(reversed[at(h)], buckets, sliced[at(h)]); },
                                  [&](Index h) { gather_c2p(tables[at(h)], index, gathered[at(h)]); });
    const auto p2c = compare_ways([&](Index h) { add_slices_by_key<float>(tables[at(h)], buckets, sliced[at(h)]); },
                                  [&](Index h) { gather_p2c(tables[at(h)], transposed, gathered[at(h)]); });
    for (Index h = 0; h < kHeads; ++h)
        LOCUS_CHECK(sliced[at(h)] == gathered[at(h)], "bench gather: slices and gather differ");
    report(measures, "c2p", c2p, 0);
    report(measures, "p2c", p2c, 0);
    report(measures, "c2p + p2c", {c2p.first + p2c.first, c2p.second + p2c.second}, 3);
    report(measures, "whole terms with their products", whole_terms(buckets, index, transposed), 0);
}

}  // namespace locus::bench::gather
