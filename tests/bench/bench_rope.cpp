#include <string>

#include "core/positions/rotary.h"
#include "tests/bench/bench.h"
#include "tests/max_abs.h"

namespace locus::bench::rope {

namespace {

constexpr Index kTokens = 512, kHeads = 12, kWidth = 64;
constexpr int kRounds = 15;

/// Milliseconds for all heads, once per round.
template <class Way>
double milliseconds(Way way) {
    std::vector<double> times;
    for (int round = 0; round < kRounds; ++round) {
        const double start = now();
        for (Index h = 0; h < kHeads; ++h) way(h);
        times.push_back((now() - start) * 1e3);
    }
    return median(times);
}

}  // namespace

void measure(Measures& measures) {
    const RotaryTable<float> table = rotary_table<float>(inverse_frequencies(kWidth), 0, kTokens);
    std::vector<Matrix<float>> x, y(kHeads, Matrix<float>(kTokens, kWidth)), by_matrix = y, by_complex = y;
    for (Index h = 0; h < kHeads; ++h) x.push_back(Matrix<float>::Random(kTokens, kWidth));
    std::vector<Matrix<float>> matrices;  // R_m of every position, made once: the matrix form at its best
    for (Index m = 0; m < kTokens; ++m) matrices.push_back(rotation_matrix(table, m, RotaryLayout::interleaved));

    const auto at = [](Index n) { return static_cast<std::size_t>(n); };
    const double elementwise =
        milliseconds([&](Index h) { y[at(h)] = rotate<float>(x[at(h)], table, RotaryLayout::interleaved); });
    const double matrix = milliseconds([&](Index h) {
        for (Index m = 0; m < kTokens; ++m)
            by_matrix[at(h)].row(m).noalias() = x[at(h)].row(m) * matrices[at(m)].transpose();
    });
    const double complex = milliseconds(
        [&](Index h) { by_complex[at(h)] = rotate_by_complex<float>(x[at(h)], table, RotaryLayout::interleaved); });
    for (Index h = 0; h < kHeads; ++h)
        LOCUS_CHECK(
            test::max_abs(y[at(h)] - by_matrix[at(h)]) <= 1e-5F && test::max_abs(y[at(h)] - by_complex[at(h)]) <= 1e-5F,
            "bench rope: the three forms differ");
    const double matrix_bytes = 4.0 * kTokens * kWidth * kWidth, table_bytes = 4.0 * kTokens * kWidth;
    measures.add({{"elementwise", elementwise, "ms", 0, true},
                  {"complex", complex, "ms", 0, true},
                  {"matrix, all R_m made before", matrix, "ms", 0, true},
                  {"matrix / elementwise", matrix / elementwise, "x", 15, true},
                  {"sine and cosine table", table_bytes / 1e6, "MB", 0, true},
                  {"all R_m", matrix_bytes / 1e6, "MB", 0, true},
                  {"memory, matrices / table", matrix_bytes / table_bytes, "x", 64, true}});
}

}  // namespace locus::bench::rope
