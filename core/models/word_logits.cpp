#include "core/models/word_logits.h"

#include <algorithm>
#include <cmath>

namespace locus {

template <class Scalar>
Matrix<Scalar> word_logits(const ConstView<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias) {
    Matrix<Scalar> logits(x.rows(), words);
    for (Index first = 0; first < words; first += kWordsAtOnce) {
        const Index count = std::min(kWordsAtOnce, words - first);
        logits.middleCols(first, count) = x * table(first, count).transpose();
    }
    if (bias.size() > 0) logits.rowwise() += bias;
    return logits;
}

template <class Scalar>
Scalar cross_entropy(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label) {
    LOCUS_CHECK(
        label >= 0 && label < logits.size(),
        "labels holds " + std::to_string(label) + ", expected ids from 0 to " + std::to_string(logits.size() - 1));
    const Scalar maximum = logits.maxCoeff();
    return std::log((logits.array() - maximum).exp().sum()) - (logits[label] - maximum);
}

template Matrix<float> word_logits<float>(const ConstView<float>&, const WordBlock<float>&, Index,
                                          const RowVector<float>&);
template float cross_entropy<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t);
template Matrix<double> word_logits<double>(const ConstView<double>&, const WordBlock<double>&, Index,
                                            const RowVector<double>&);
template double cross_entropy<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t);

}  // namespace locus
