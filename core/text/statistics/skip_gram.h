#pragma once
// Word vectors from neighbours alone: words in like company get like vectors (the distribution hypothesis).
// Skip-gram with negative sampling, Mikolov et al. 2013.
#include <cstdint>

#include "core/cancel.h"
#include "core/text/statistics/word_vectors.h"

namespace locus {

struct SkipGramOptions {
    Index width = 16;
    Index window = 2;     // neighbours on each side
    Index negatives = 5;  // words drawn from noise for each neighbour
    Index epochs = 50;
    double learning_rate = 0.05;  // falls to 0 in a straight line
    std::uint64_t seed = 1;
};

struct SkipGram {
    WordVectors vectors;         // of the words as centres: what is used afterwards
    Matrix<double> contexts;     // [words, width] of the words as neighbours
    std::vector<double> losses;  // [epochs] mean loss of a pair
};

/// -log s(u_0.v) - sum_n log s(-u_n.v), s(x) = 1 / (1 + exp(-x)): the neighbour is row 0 of contexts [1 + negatives,
/// width], the noise the others.  Gradients have the shapes of what they belong to.
struct PairLoss {
    double loss = 0;
    RowVector<double> centre_gradient;
    Matrix<double> contexts_gradient;
};
PairLoss negative_sampling_loss(const RowVector<double>& centre, const ConstView<double>& contexts);

/// Trains on every pair of words at most `window` apart, in order.  Noise is drawn from counts^(3/4), and may hit the
/// neighbour itself.  One seed gives the same vectors on every run.
/// Throws Error(usage) unless a document has two words, the sizes are 1 or more, and the rate is above 0 and finite.
/// `stop` is asked every 1000 pairs and ends this by throwing Cancelled.
SkipGram train_skip_gram(const std::vector<Document>& documents, const SkipGramOptions& options = {},
                         const CancelToken& stop = {});

}  // namespace locus
