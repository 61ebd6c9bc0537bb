#pragma once
// Masked softmax, one thread a row, and the values it weighs, one thread an element.
#include <cmath>

#include "cuda/reference/backend.h"

namespace locus::cuda {

/// Hidden keys are told by mask[i * keys + j] == 0, or mask == nullptr: none is.
template <class Scalar>
struct MaskedSoftmaxKernel {
    const Scalar* scores;
    const unsigned char* mask;
    int keys;
    bool uniform;
    Scalar* probs;
    constexpr void operator()(long long i) const {
        const Scalar* scores_i = scores + i * keys;
        const unsigned char* mask_i = mask ? mask + i * keys : nullptr;
        Scalar* probs_i = probs + i * keys;
        bool any = false;
        Scalar maximum = 0;
        for (int j = 0; j < keys; ++j) {
            if (mask_i && !mask_i[j]) continue;
            // A NaN score becomes the maximum and shows in the whole row, as on the CPU.
            if (!any || !(scores_i[j] <= maximum)) maximum = scores_i[j];
            any = true;
        }
        Scalar denominator = 0;
        for (int j = 0; j < keys; ++j) {
            const bool visible = !mask_i || mask_i[j];
            probs_i[j] = visible ? std::exp(scores_i[j] - maximum) : Scalar(0);
            denominator += probs_i[j];
        }
        for (int j = 0; j < keys; ++j)
            probs_i[j] = any ? probs_i[j] / denominator : uniform ? Scalar(1) / Scalar(keys) : Scalar(0);
    }
};

template <class Scalar>
struct ContextKernel {
    const Scalar *probs, *v;
    int keys, channels;
    Scalar* context;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, channels);
        const Scalar* probs_i = probs + row_start(cell.i, keys);
        Scalar sum = 0;
        for (int j = 0; j < keys; ++j) sum += probs_i[j] * v[row_start(j, channels) + cell.j];
        context[n] = sum;
    }
};

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> masked_softmax(const Backend& backend, const Matrix<Scalar>& scores, const Mask& mask,
                              MaskedRow masked_row) {
    LOCUS_CHECK(mask.size() == 0 || (mask.rows() == scores.rows() && mask.cols() == scores.cols()),
                "cuda::masked_softmax: a mask of [" + std::to_string(mask.rows()) + ", " + std::to_string(mask.cols()) +
                    "] for scores of [" + std::to_string(scores.rows()) + ", " + std::to_string(scores.cols()) +
                    "], expected the same");
    const auto there = upload(backend, scores);
    const auto there_mask = upload(backend, mask);
    auto probs = allocate<Scalar>(backend, scores.rows(), scores.cols());
    backend.parallel_for(scores.rows(), MaskedSoftmaxKernel<Scalar>{
                                            there.data(), mask.size() > 0 ? there_mask.data() : nullptr,
                                            narrow(scores.cols()), masked_row == MaskedRow::uniform, probs.data()});
    return download(backend, probs, scores.rows(), scores.cols());
}

template <class Backend, class Scalar>
Matrix<Scalar> context(const Backend& backend, const Matrix<Scalar>& probs, const Matrix<Scalar>& v) {
    check_rows("context", v.rows(), probs.cols());
    const auto there_probs = upload(backend, probs), there_v = upload(backend, v);
    auto result = allocate<Scalar>(backend, probs.rows(), v.cols());
    backend.parallel_for(
        probs.rows() * v.cols(),
        ContextKernel<Scalar>{there_probs.data(), there_v.data(), narrow(v.rows()), narrow(v.cols()), result.data()});
    return download(backend, result, probs.rows(), v.cols());
}

}  // namespace reference

}  // namespace locus::cuda
