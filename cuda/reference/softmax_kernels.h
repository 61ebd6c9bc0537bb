#pragma once
// Masked softmax, one thread a row, and the values it weighs, one thread a cell.
#include <cmath>

#include "cuda/reference/backend.h"

namespace locus::cuda {

/// Hidden keys are told by mask[i * keys + j] == 0, or mask == nullptr: none is.
template <class Scalar>
struct MaskedSoftmaxRow {
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
struct ContextCell {
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

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> masked_softmax(const Place& place, const Matrix<Scalar>& scores, const Mask& mask,
                              MaskedRow masked_row) {
    LOCUS_CHECK(mask.size() == 0 || (mask.rows() == scores.rows() && mask.cols() == scores.cols()),
                "cuda::masked_softmax: a mask of [" + std::to_string(mask.rows()) + ", " + std::to_string(mask.cols()) +
                    "] for scores of [" + std::to_string(scores.rows()) + ", " + std::to_string(scores.cols()) + "]");
    const auto there = upload(place, scores);
    const auto there_mask = upload(place, mask);
    auto probs = room<Scalar>(place, scores.rows(), scores.cols());
    place.each(scores.rows(),
               MaskedSoftmaxRow<Scalar>{there.data(), mask.size() > 0 ? there_mask.data() : nullptr,
                                        narrow(scores.cols()), masked_row == MaskedRow::uniform, probs.data()});
    return download(place, probs, scores.rows(), scores.cols());
}

template <class Place, class Scalar>
Matrix<Scalar> context(const Place& place, const Matrix<Scalar>& probs, const Matrix<Scalar>& v) {
    check_rows("context", v.rows(), probs.cols());
    const auto there_probs = upload(place, probs), there_v = upload(place, v);
    auto result = room<Scalar>(place, probs.rows(), v.cols());
    place.each(probs.rows() * v.cols(), ContextCell<Scalar>{there_probs.data(), there_v.data(), narrow(v.rows()),
                                                            narrow(v.cols()), result.data()});
    return download(place, result, probs.rows(), v.cols());
}

}  // namespace twin

}  // namespace locus::cuda
