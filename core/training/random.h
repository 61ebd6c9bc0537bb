#pragma once
// Random numbers that are a function of where they stand: the same on every machine, for any number of threads, and
// after a resume.
#include <cstdint>
#include <utility>
#include <vector>

#include "core/fast/thread_pool.h"
#include "core/philox.h"
#include "core/tensor.h"

namespace locus {

/// What a training draws random numbers for.  They are part of what makes a run repeatable; do not reorder.
enum class RandomUse : std::uint8_t { values, heldout, order, masks, heldout_masks, dropout, replacements, noise };

/// The stream of a use, of one of its rounds (an epoch, a step) and one thing in that round (a sentence).  Rounds
/// repeat after 2^24 = 16,777,216.
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

// Dropout whose mask is a function of the place alone: backward draws it again, and every number of threads, and a GPU,
// draws the same.

/// Where in a model something is dropped.  The numbers are part of what makes a run repeatable; do not reorder.
enum class DropoutSite { embeddings, table, probs, attention, ffn, convolution, head };

/// One training step's dropout.  Shares are probabilities of being dropped, 0 <= share < 1.
struct Dropout {
    std::uint64_t seed = 0;  // of this step
    double hidden = 0;       // hidden_dropout_prob
    double attention = 0;    // attention_probs_dropout_prob

    double share(DropoutSite site) const { return site == DropoutSite::probs ? attention : hidden; }
    /// The seed of one site in the use-th layer that is run (the decoder runs the last layer again, with new masks).
    std::uint64_t site_seed(DropoutSite site, Index use) const;
};

/// rows[i,j] *= 0 or 1 / (1 - share): inverted dropout (Srivastava et al. 2014, section 10).  The generator is Philox,
/// counter (i, j), key from the seed and `part`: 0, or b H + h of the probabilities of one head.
template <class Scalar>
void drop(std::uint64_t seed, Index part, double share, View<Scalar> rows);
/// The same on several threads, in blocks of rows.
template <class Scalar>
void drop(std::uint64_t seed, double share, View<Scalar> rows, ThreadPool& pool);

}  // namespace locus
