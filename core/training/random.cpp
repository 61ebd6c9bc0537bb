#include "core/training/random.h"

#include <cmath>
#include <numbers>
#include <string>

#include "core/check.h"

namespace locus {

namespace {

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

/// 64 bits that stand for seed and stream.
TwoNumbers name_of(std::uint64_t seed, std::uint64_t stream) {
    const TwoNumbers once = philox({low(seed), low(stream)}, high(seed));
    return philox({once.first, once.second ^ high(stream)}, low(stream));
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream, std::uint64_t place)
    : name_(name_of(seed, stream)), place_(place) {}

std::uint32_t RandomStream::next() {
    const TwoNumbers pair = philox({low(place_ / 2), name_.second}, name_.first);
    return place_++ % 2 == 0 ? pair.first : pair.second;
}

std::uint64_t RandomStream::next_below(std::uint64_t limit) {
    constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
    LOCUS_CHECK(limit >= 1 && limit <= kAll,
                "a random number below " + std::to_string(limit) + " was asked for, expected a limit from 1 to 2^32");
    // The upper half of number * limit; the few products that would favour some results are drawn again (Lemire 2019).
    const std::uint64_t unfair = kAll % limit;
    for (;;) {
        const std::uint64_t product = next() * limit;
        if (low(product) >= unfair) return product >> 32;
    }
}

double RandomStream::uniform() {
    const std::uint64_t upper = next(), lower = next();
    return std::ldexp(static_cast<double>(upper << 21 | lower >> 11), -53);
}

double RandomStream::gaussian() {
    const double radius = std::sqrt(-2 * std::log1p(-uniform())), angle = 2 * std::numbers::pi * uniform();
    return radius * std::cos(angle);
}

}  // namespace locus
