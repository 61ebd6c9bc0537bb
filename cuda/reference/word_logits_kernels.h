#pragma once
// Logits against the word table, a block of words at a time, and the loss of one label.
#include <algorithm>
#include <cmath>

#include "core/models/word_logits.h"
#include "cuda/reference/layers_kernels.h"

namespace locus::cuda {

/// One thread for the whole row: there are few targets.
template <class Scalar>
struct CrossEntropy {
    const Scalar* logits;
    int words, label;
    Scalar* loss;
    constexpr void operator()(long long) const {
        Scalar maximum = logits[0];
        for (int w = 1; w < words; ++w)
            if (!(logits[w] <= maximum)) maximum = logits[w];
        Scalar sum = 0;
        for (int w = 0; w < words; ++w) sum += std::exp(logits[w] - maximum);
        *loss = std::log(sum) - (logits[label] - maximum);
    }
};

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> word_logits(const Place& place, const Matrix<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias) {
    if (bias.size() > 0) check_width("word_logits", bias.size(), words);
    Matrix<Scalar> logits(x.rows(), words);
    for (Index first = 0; first < words; first += kWordsAtOnce) {
        const Index count = std::min(kWordsAtOnce, words - first);
        Dense<Scalar> block{table(first, count), {}};
        if (bias.size() > 0) block.bias = bias.segment(first, count);
        logits.middleCols(first, count) = dense(place, x, block);
    }
    return logits;
}

template <class Place, class Scalar>
Scalar cross_entropy(const Place& place, const RowVector<Scalar>& logits, std::int64_t label) {
    LOCUS_CHECK(
        label >= 0 && label < logits.size(),
        "labels holds " + std::to_string(label) + ", expected ids from 0 to " + std::to_string(logits.size() - 1));
    const auto there = upload(place, logits);
    auto loss = room<Scalar>(place, 1, 1);
    place.each(1, CrossEntropy<Scalar>{there.data(), narrow(logits.size()), static_cast<int>(label), loss.data()});
    return download(place, loss, 1, 1)(0, 0);
}

}  // namespace twin

}  // namespace locus::cuda
