#include "cuda/reference/word_logits.h"

#include "cuda/device_place.h"
#include "cuda/reference/word_logits_kernels.h"

namespace locus::cuda {

template <class Scalar>
Matrix<Scalar> word_logits(const Matrix<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias) {
    return twin::word_logits(Device(), x, table, words, bias);
}

template <class Scalar>
Scalar cross_entropy(const RowVector<Scalar>& logits, std::int64_t label) {
    return twin::cross_entropy(Device(), logits, label);
}

template Matrix<float> word_logits<float>(const Matrix<float>&, const WordBlock<float>&, Index,
                                          const RowVector<float>&);
template float cross_entropy<float>(const RowVector<float>&, std::int64_t);
template Matrix<double> word_logits<double>(const Matrix<double>&, const WordBlock<double>&, Index,
                                            const RowVector<double>&);
template double cross_entropy<double>(const RowVector<double>&, std::int64_t);

}  // namespace locus::cuda
