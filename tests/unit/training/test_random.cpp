// Random numbers that are a function of where they stand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "core/training/random.h"
#include "tests/files.h"

namespace locus::test::test_random {

using locus::test::refusal;

namespace {

std::vector<std::uint32_t> first_numbers(RandomStream stream, int count) {
    std::vector<std::uint32_t> numbers;
    for (int n = 0; n < count; ++n) numbers.push_back(stream.next());
    return numbers;
}

/// How far `count` hits of `trials` with probability p are from what is expected, in standard deviations.
double deviations(double count, double trials, double p) {
    return std::abs(count - trials * p) / std::sqrt(trials * p * (1 - p));
}

}  // namespace

TEST_CASE("random: the numbers are Philox 2x32-10", "[random]") {
    // Known answers of the authors' library, Random123, file kat_vectors.
    const auto check = [](TwoNumbers counter, std::uint32_t key, TwoNumbers expected) {
        const TwoNumbers found = philox(counter, key);
        CHECK(found.first == expected.first);
        CHECK(found.second == expected.second);
    };
    check({0, 0}, 0, {0xff1dae59u, 0x6cd10df2u});
    check({0xffffffffu, 0xffffffffu}, 0xffffffffu, {0x2c3f628bu, 0xab4fd7adu});
    check({0x243f6a88u, 0x85a308d3u}, 0x13198a2eu, {0xdd7ce038u, 0xf62a4c12u});
    static_assert(philox({0, 0}, 0).first == 0xff1dae59u);
}

TEST_CASE("random: a stream goes on from its place as if it had never stopped", "[random]") {
    RandomStream whole(7, 3), before(7, 3);
    for (int n = 0; n < 5; ++n) before.next();
    before.gaussian();
    before.next_below(1000);
    RandomStream after(7, 3, before.place());
    const std::vector<std::uint32_t> numbers = first_numbers(whole, 40), rest = first_numbers(after, 20);
    CHECK(std::equal(rest.begin(), rest.end(), numbers.begin() + static_cast<std::ptrdiff_t>(before.place())));
    CHECK(first_numbers(RandomStream(7, 3), 40) == numbers);
}

TEST_CASE("random: every bit of seed and stream names another stream", "[random]") {
    std::vector<std::vector<std::uint32_t>> streams = {first_numbers(RandomStream(0, 0), 4)};
    for (int bit = 0; bit < 64; ++bit) {
        streams.push_back(first_numbers(RandomStream(std::uint64_t{1} << bit, 0), 4));
        streams.push_back(first_numbers(RandomStream(0, std::uint64_t{1} << bit), 4));
    }
    std::sort(streams.begin(), streams.end());
    CHECK(std::adjacent_find(streams.begin(), streams.end()) == streams.end());
}

TEST_CASE("random: numbers below a limit are equally likely", "[random]") {
    constexpr int kTrials = 60000;
    RandomStream stream(1, 0);
    std::vector<int> counts(7);
    for (int n = 0; n < kTrials; ++n) ++counts.at(static_cast<std::size_t>(stream.next_below(7)));
    for (const int count : counts) CHECK(deviations(count, kTrials, 1.0 / 7) < 4);
    // Two thirds of the range: without the second draw, results that are multiples of 3 would come twice as often.
    int upper = 0;
    for (int n = 0; n < kTrials; ++n) upper += stream.next_below(3ull << 30) % 3 == 0;
    CHECK(deviations(upper, kTrials, 1.0 / 3) < 4);
    CHECK(stream.next_below(1) == 0);
    CHECK(stream.next_below(1ull << 32) < 1ull << 32);
    CHECK(refusal([&] { stream.next_below(0); }, Fault::usage) ==
          "a random number below 0 was asked for, expected a limit from 1 to 2^32");
    CHECK_THROWS_AS(stream.next_below((1ull << 32) + 1), Error);
}

TEST_CASE("random: uniform and gaussian have their moments", "[random]") {
    constexpr int kTrials = 100000;
    RandomStream stream(2, 9);
    double sum = 0, low_half = 0, mean = 0, square = 0, fourth = 0, outside = 0;
    for (int n = 0; n < kTrials; ++n) {
        const double u = stream.uniform();
        if (!(u >= 0 && u < 1)) FAIL("uniform gave " << u);
        sum += u;
        low_half += u < 0.5;
        const double g = stream.gaussian();
        if (!std::isfinite(g)) FAIL("gaussian gave " << g);
        mean += g;
        square += g * g;
        fourth += g * g * g * g;
        outside += std::abs(g) > 1.959964;
    }
    // Standard errors: 1/sqrt(12 n), 1/sqrt(n), sqrt(2/n), sqrt(96/n).
    CHECK(std::abs(sum / kTrials - 0.5) < 4 / std::sqrt(12.0 * kTrials));
    CHECK(deviations(low_half, kTrials, 0.5) < 4);
    CHECK(std::abs(mean / kTrials) < 4 / std::sqrt(1.0 * kTrials));
    CHECK(std::abs(square / kTrials - 1) < 4 * std::sqrt(2.0 / kTrials));
    CHECK(std::abs(fourth / kTrials - 3) < 4 * std::sqrt(96.0 / kTrials));
    CHECK(deviations(outside, kTrials, 0.05) < 4);
}

TEST_CASE("random: a shuffle keeps the values, and every order is equally likely", "[random]") {
    constexpr int kTrials = 24000;
    RandomStream stream(3, 1);
    std::vector<int> counts(256);
    for (int n = 0; n < kTrials; ++n) {
        std::vector<int> values = {0, 1, 2, 3};
        stream.shuffle(values);
        ++counts.at(static_cast<std::size_t>(values[0] * 64 + values[1] * 16 + values[2] * 4 + values[3]));
        std::sort(values.begin(), values.end());
        if (values != std::vector<int>{0, 1, 2, 3}) FAIL("the shuffle lost a value");
    }
    int orders = 0;
    for (const int count : counts) {
        if (count == 0) continue;
        ++orders;
        CHECK(deviations(count, kTrials, 1.0 / 24) < 4);
    }
    CHECK(orders == 24);
}

}  // namespace locus::test::test_random
