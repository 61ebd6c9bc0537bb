#include <string>

#include "core/attention/linear.h"
#include "tests/bench/bench.h"

namespace locus::bench::linear {

namespace {

constexpr Index kWidth = 64;

struct Texts {
    explicit Texts(Index length)
        : q(Matrix<float>::Random(length, kWidth)),
          k(Matrix<float>::Random(length, kWidth)),
          v(Matrix<float>::Random(length, kWidth)),
          table(rotary_table<float>(inverse_frequencies(kWidth), 0, length)) {}
    Matrix<float> q, k, v;
    RotaryTable<float> table;
};

template <class Way>
double milliseconds(Way way, int rounds) {
    std::vector<double> times;
    for (int round = 0; round < rounds; ++round) {
        const double start = now();
        way();
        times.push_back((now() - start) * 1e3);
    }
    return median(times);
}

struct Times {
    double both_ways = 0, causal = 0;
};

Times fast_forms(const Texts& texts) {
    Matrix<float> context;
    const auto layout = RotaryLayout::interleaved;
    const auto form = LinearForm::paper;
    return {milliseconds(
                [&] { context = linear_attention<float>(texts.q, texts.k, texts.v, texts.table, layout, form); }, 21),
            milliseconds(
                [&] { context = causal_linear_attention<float>(texts.q, texts.k, texts.v, texts.table, layout, form); },
                11)};
}

double quadratic_form(const Texts& texts) {
    Matrix<float> context;
    return milliseconds(
        [&] {
            context = linear_attention_weights<float>(texts.q, texts.k, texts.table, RotaryLayout::interleaved,
                                                      LinearForm::paper, false) *
                      texts.v;
        },
        3);
}

}  // namespace

void measure(Measures& measures) {
    const Texts half(4096), whole(8192);
    fast_forms(half);  // the allocator has seen every size
    const Times t4096 = fast_forms(half), t8192 = fast_forms(whole);
    measures.add({{"bidirectional, T 4096", t4096.both_ways, "ms", 0, true},
                  {"bidirectional, T 8192", t8192.both_ways, "ms", 0, true},
                  {"bidirectional, T 8192 / T 4096", t8192.both_ways / t4096.both_ways, "x", 2.3, false},
                  {"causal, T 4096", t4096.causal, "ms", 0, true},
                  {"causal, T 8192", t8192.causal, "ms", 0, true},
                  {"causal, T 8192 / T 4096", t8192.causal / t4096.causal, "x", 2.3, false}});
    const double q2048 = quadratic_form(Texts(2048)), q4096 = quadratic_form(half);
    measures.add({{"quadratic form, T 2048", q2048, "ms", 0, true},
                  {"quadratic form, T 4096", q4096, "ms", 0, true},
                  {"quadratic form, T 4096 / T 2048", q4096 / q2048, "x", 0, true},
                  {"quadratic / linear, T 4096", q4096 / t4096.both_ways, "x", 0, true}});
}

}  // namespace locus::bench::linear
