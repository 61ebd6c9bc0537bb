#include "tests/bench/dense_peak.h"

#include <algorithm>
#include <ctime>

namespace locus::bench {

namespace {

constexpr int kSums = 12;  // enough to hide the latency of a sum, few enough for 16 registers
constexpr long kSteps = 200'000;

template <int bytes>
struct Wide {
    typedef float Register __attribute__((vector_size(bytes)));
};

/// Neither kept in memory nor worked out beforehand.
template <int bytes>
inline __attribute__((always_inline)) void hold([[maybe_unused]] typename Wide<bytes>::Register& value) {
#if defined(__x86_64__)
    asm volatile("" : "+v"(value));
#elif defined(__aarch64__)
    asm volatile("" : "+w"(value));
#endif
}

/// kSums registers of so many bytes, each a sum of products; returns how many operations those were.
template <int bytes>
inline __attribute__((always_inline)) double sum_products() {
    using Register = typename Wide<bytes>::Register;
    Register sums[kSums], left = Register{} + 0.5f, right = Register{} + 0.25f;
#pragma GCC unroll 12
    for (int n = 0; n < kSums; ++n) sums[n] = Register{};
    for (long step = 0; step < kSteps; ++step) {
        hold<bytes>(left);
#pragma GCC unroll 12
        for (int n = 0; n < kSums; ++n) {
            Register sum = sums[n];  // in this way the array stays in registers
            hold<bytes>(sum);
            sums[n] = sum + left * right;
        }
    }
    Register all = sums[0];
#pragma GCC unroll 12
    for (int n = 1; n < kSums; ++n) all += sums[n];
    hold<bytes>(all);
    return 2.0 * kSums * kSteps * bytes / sizeof(float);
}

#ifdef __x86_64__
__attribute__((target("avx512f,prefer-vector-width=512"))) double with_64_bytes() { return sum_products<64>(); }
__attribute__((target("avx2,fma"))) double with_32_bytes() { return sum_products<32>(); }
#endif
double with_16_bytes() { return sum_products<16>(); }

double operations() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) return with_64_bytes();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return with_32_bytes();
#endif
    return with_16_bytes();
}

}  // namespace

double dense_peak() {
    double best = 0;
    for (int round = 0; round < 15; ++round) {
        timespec start = {}, end = {};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        const double done = operations();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        const double seconds =
            static_cast<double>(end.tv_sec - start.tv_sec) + static_cast<double>(end.tv_nsec - start.tv_nsec) * 1e-9;
        best = std::max(best, done / seconds / 1e9);
    }
    return best;
}

}  // namespace locus::bench
