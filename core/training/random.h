#pragma once
// Random numbers that are a function of where they stand: the same on every machine, for any number of threads, and
// after a resume.
#include <cstdint>
#include <utility>
#include <vector>

#include "core/philox.h"

namespace locus {

/// What a training draws random numbers for.  They are part of what makes a run repeatable; do not reorder.
enum class RandomUse : std::uint8_t { values, heldout, order, masks, heldout_masks, dropout, replacements, noise };

/// The stream of a use, of one of its rounds (an epoch, a step; below 2^24) and one thing in that round (a sentence).
constexpr std::uint64_t stream_of(RandomUse use, std::uint64_t round = 0, std::uint32_t thing = 0) {
    return static_cast<std::uint64_t>(use) << 56 | (round & 0xffffff) << 32 | thing;
}

/// One sequence of random numbers out of 2^64.  Number n of a stream depends on (seed, stream, n) alone, so `place` is
/// all that has to be saved for it to go on where it was.
class RandomStream {
public:
    /// The numbers of (seed, stream) from number `place` on.
    RandomStream(std::uint64_t seed, std::uint64_t stream, std::uint64_t place = 0);

    /// How many 32-bit numbers have been drawn; a stream repeats itself after 2^33.
    std::uint64_t place() const { return place_; }

    std::uint32_t next();
    /// Uniform in 0 ... limit - 1, every one equally likely.  Throws Error(usage) unless 1 <= limit <= 2^32.
    std::uint64_t next_below(std::uint64_t limit);
    /// Uniform in [0, 1), a multiple of 2^-53.
    double uniform();
    /// Normal with mean 0 and variance 1 (Box and Muller).
    double gaussian();

    /// Every order equally likely (Fisher and Yates).
    template <class Value>
    void shuffle(std::vector<Value>& values) {
        for (std::size_t left = values.size(); left > 1; --left)
            std::swap(values[left - 1], values[static_cast<std::size_t>(next_below(left))]);
    }

private:
    TwoNumbers name_;  // of the stream: the key, and the upper half of the counter
    std::uint64_t place_;
};

}  // namespace locus
