#pragma once
// Sums, scales, hidden rows, mixed heads: one thread a cell.
#include <cstdint>
#include <vector>

#include "cuda/reference/backend.h"

namespace locus::cuda {

template <class Scalar>
struct AddCell {
    const Scalar* x;
    Scalar* sum;
    constexpr void operator()(long long n) const { sum[n] += x[n]; }
};

template <class Scalar>
struct AddRowsCell {
    const Scalar* table;
    const int* ids;
    int channels;
    Scalar* sum;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, channels);
        sum[n] += table[row_start(ids[cell.i], channels) + cell.j];
    }
};

template <class Scalar>
struct MultiplyCell {
    Scalar factor;
    Scalar* x;
    constexpr void operator()(long long n) const { x[n] *= factor; }
};

template <class Scalar>
struct DivideCell {
    Scalar divisor;
    Scalar* x;
    constexpr void operator()(long long n) const { x[n] /= divisor; }
};

template <class Scalar>
struct MultiplyRowsCell {
    const Scalar* factors;
    int channels;
    Scalar* x;
    constexpr void operator()(long long n) const { x[n] *= factors[cell_of(n, channels).i]; }
};

/// scores [B,H,cells], n counts them.
template <class Scalar>
struct MixHeadsCell {
    const Scalar *scores, *weight;
    int heads;
    long long cells;
    Scalar* mixed;
    constexpr void operator()(long long n) const {
        const CellIndex head = cell_of(n / cells, heads);  // sample, head g
        const Scalar* sample = scores + head.i * (heads * cells);
        Scalar sum = 0;
        for (int h = 0; h < heads; ++h) sum += weight[row_start(head.j, heads) + h] * sample[h * cells + n % cells];
        mixed[n] = sum;
    }
};

namespace twin {

/// Runs cells that change x where it lies.
template <class Place, class Scalar, class MakeCell>
void change(const Place& place, Matrix<Scalar>& x, MakeCell make_cell) {
    auto there = upload(place, x);
    place.each(x.size(), make_cell(there.data()));
    place.download(there, x.data());
}

template <class Place, class Scalar>
void add(const Place& place, const Matrix<Scalar>& x, Matrix<Scalar>& sum) {
    check_rows("add", x.rows(), sum.rows());
    check_width("add", x.cols(), sum.cols());
    const auto there = upload(place, x);
    change(place, sum, [&](Scalar* data) { return AddCell<Scalar>{there.data(), data}; });
}

template <class Place, class Scalar>
void add_rows(const Place& place, const Matrix<Scalar>& table, const std::vector<std::int64_t>& ids,
              Matrix<Scalar>& sum) {
    check_rows("add_rows", sum.rows(), static_cast<Index>(ids.size()));
    check_width("add_rows", table.cols(), sum.cols());
    for (const std::int64_t id : ids)
        LOCUS_CHECK(id >= 0 && id < table.rows(), "cuda::add_rows: row " + std::to_string(id) + ", expected 0 to " +
                                                      std::to_string(table.rows() - 1));
    const auto there = upload(place, table);
    const auto there_ids = upload_as_int(place, ids);
    change(place, sum, [&](Scalar* data) {
        return AddRowsCell<Scalar>{there.data(), there_ids.data(), narrow(sum.cols()), data};
    });
}

template <class Place, class Scalar>
void multiply(const Place& place, Scalar factor, Matrix<Scalar>& x) {
    change(place, x, [&](Scalar* data) { return MultiplyCell<Scalar>{factor, data}; });
}

template <class Place, class Scalar>
void divide(const Place& place, Scalar divisor, Matrix<Scalar>& x) {
    change(place, x, [&](Scalar* data) { return DivideCell<Scalar>{divisor, data}; });
}

template <class Place, class Scalar>
void multiply_rows(const Place& place, const RowVector<Scalar>& factors, Matrix<Scalar>& x) {
    check_rows("multiply_rows", x.rows(), factors.size());
    const auto there = upload(place, factors);
    change(place, x, [&](Scalar* data) { return MultiplyRowsCell<Scalar>{there.data(), narrow(x.cols()), data}; });
}

template <class Place, class Scalar>
Tensor<Scalar> mix_heads(const Place& place, const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) {
    const Index heads = scores.extent(1);
    check_rows("mix_heads", weight.rows(), heads);
    check_width("mix_heads", weight.cols(), heads);
    const auto there = upload(place, scores.values()), there_weight = upload(place, weight);
    auto mixed = room<Scalar>(place, scores.size(), 1);
    place.each(scores.size(), MixHeadsCell<Scalar>{there.data(), there_weight.data(), narrow(heads),
                                                   scores.extent(2) * scores.extent(3), mixed.data()});
    Tensor<Scalar> result(scores.shape());
    place.download(mixed, result.data());
    return result;
}

}  // namespace twin

}  // namespace locus::cuda
