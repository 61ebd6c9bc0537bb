#pragma once
// Dropout whose mask is a function of the place alone: backward draws it again, and every number of threads, and a GPU,
// draws the same.
#include <cstdint>

#include "core/fast/thread_pool.h"
#include "core/tensor.h"
#include "core/training/random.h"

namespace locus {

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
