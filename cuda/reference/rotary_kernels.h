#pragma once
// Rotation of queries and keys, one thread a channel, and the scores and attention made of it.
#include <cmath>

#include "core/positions/rotary.h"
#include "cuda/reference/disentangled_kernels.h"
#include "cuda/reference/elementwise_kernels.h"
#include "cuda/reference/softmax_kernels.h"

namespace locus::cuda {

/// direction: 1 turns, -1 turns back.
template <class Scalar>
struct RotateCell {
    const Scalar *x, *sin, *cos;
    int channels, planes;
    bool interleaved;
    int direction;
    Scalar* y;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, channels);
        if (cell.j >= 2 * planes) {
            y[n] = x[n];
            return;
        }
        const RotaryPlace place = rotary_place(cell.j, planes, interleaved);
        const long long angle = row_start(cell.i, planes) + place.plane;
        y[n] = x[n] * cos[angle] +
               x[row_start(cell.i, channels) + place.partner] * (Scalar(place.sign * direction) * sin[angle]);
    }
};

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> turn(const Place& place, const char* who, const Matrix<Scalar>& x, const RotaryTable<Scalar>& table,
                    RotaryLayout layout, int direction) {
    check_rows(who, x.rows(), table.length());
    LOCUS_CHECK(x.cols() >= table.width(), std::string("cuda::") + who + ": vectors of " + std::to_string(x.cols()) +
                                               " channels but angles for " + std::to_string(table.width()) +
                                               ", expected at most as many");
    const auto there = upload(place, x), sin = upload(place, table.sin), cos = upload(place, table.cos);
    auto y = room<Scalar>(place, x.rows(), x.cols());
    place.each(x.size(),
               RotateCell<Scalar>{there.data(), sin.data(), cos.data(), narrow(x.cols()), narrow(table.sin.cols()),
                                  layout == RotaryLayout::interleaved, direction, y.data()});
    return download(place, y, x.rows(), x.cols());
}

template <class Place, class Scalar>
Matrix<Scalar> rotate(const Place& place, const Matrix<Scalar>& x, const RotaryTable<Scalar>& table,
                      RotaryLayout layout) {
    return turn(place, "rotate", x, table, layout, 1);
}

template <class Place, class Scalar>
Matrix<Scalar> rotate_back(const Place& place, const Matrix<Scalar>& y, const RotaryTable<Scalar>& table,
                           RotaryLayout layout) {
    return turn(place, "rotate_back", y, table, layout, -1);
}

template <class Place, class Scalar>
Matrix<Scalar> rotary_scores(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                             const RotaryTable<Scalar>& q_table, const RotaryTable<Scalar>& k_table,
                             RotaryLayout layout) {
    Matrix<Scalar> scores =
        content_to_content(place, rotate(place, q, q_table, layout), rotate(place, k, k_table, layout));
    divide(place, std::sqrt(Scalar(q.cols())), scores);
    return scores;
}

template <class Place, class Scalar>
Matrix<Scalar> rotary_attention(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                const Matrix<Scalar>& v, const RotaryTable<Scalar>& table, RotaryLayout layout,
                                const Mask& mask) {
    const Matrix<Scalar> scores = rotary_scores(place, q, k, table, table, layout);
    return context(place, masked_softmax(place, scores, mask, MaskedRow::zero), v);
}

}  // namespace twin

}  // namespace locus::cuda
