#pragma once
// Sums, scales, hidden rows, mixed heads: one thread an element.
#include <cstdint>
#include <vector>

#include "cuda/reference/backend.h"

namespace locus::cuda {

template <class Scalar>
struct AddKernel {
    const Scalar* x;
    Scalar* sum;
    constexpr void operator()(long long n) const { sum[n] += x[n]; }
};

template <class Scalar>
struct AddRowsKernel {
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
struct MultiplyKernel {
    Scalar factor;
    Scalar* x;
    constexpr void operator()(long long n) const { x[n] *= factor; }
};

template <class Scalar>
struct DivideKernel {
    Scalar divisor;
    Scalar* x;
    constexpr void operator()(long long n) const { x[n] /= divisor; }
};

template <class Scalar>
struct MultiplyRowsKernel {
    const Scalar* factors;
    int channels;
    Scalar* x;
    constexpr void operator()(long long n) const { x[n] *= factors[cell_of(n, channels).i]; }
};

/// scores [B,H,cells], n counts them.
template <class Scalar>
struct MixHeadsKernel {
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

namespace reference {

/// Runs kernels that change x in place.
template <class Backend, class Scalar, class MakeKernel>
void change(const Backend& backend, Matrix<Scalar>& x, MakeKernel make_kernel) {
    auto there = upload(backend, x);
    backend.parallel_for(x.size(), make_kernel(there.data()));
    backend.download(there, x.data());
}

template <class Backend, class Scalar>
void add(const Backend& backend, const Matrix<Scalar>& x, Matrix<Scalar>& sum) {
    check_rows("add", x.rows(), sum.rows());
    check_width("add", x.cols(), sum.cols());
    const auto there = upload(backend, x);
    change(backend, sum, [&](Scalar* data) { return AddKernel<Scalar>{there.data(), data}; });
}

template <class Backend, class Scalar>
void add_rows(const Backend& backend, const Matrix<Scalar>& table, const std::vector<std::int64_t>& ids,
              Matrix<Scalar>& sum) {
    check_rows("add_rows", sum.rows(), static_cast<Index>(ids.size()));
    check_width("add_rows", table.cols(), sum.cols());
    for (const std::int64_t id : ids)
        LOCUS_CHECK(id >= 0 && id < table.rows(), "cuda::add_rows: row " + std::to_string(id) + ", expected 0 to " +
                                                      std::to_string(table.rows() - 1));
    const auto there = upload(backend, table);
    const auto there_ids = upload_as_int(backend, ids);
    change(backend, sum, [&](Scalar* data) {
        return AddRowsKernel<Scalar>{there.data(), there_ids.data(), narrow(sum.cols()), data};
    });
}

template <class Backend, class Scalar>
void multiply(const Backend& backend, Scalar factor, Matrix<Scalar>& x) {
    change(backend, x, [&](Scalar* data) { return MultiplyKernel<Scalar>{factor, data}; });
}

template <class Backend, class Scalar>
void divide(const Backend& backend, Scalar divisor, Matrix<Scalar>& x) {
    change(backend, x, [&](Scalar* data) { return DivideKernel<Scalar>{divisor, data}; });
}

template <class Backend, class Scalar>
void multiply_rows(const Backend& backend, const RowVector<Scalar>& factors, Matrix<Scalar>& x) {
    check_rows("multiply_rows", x.rows(), factors.size());
    const auto there = upload(backend, factors);
    change(backend, x, [&](Scalar* data) { return MultiplyRowsKernel<Scalar>{there.data(), narrow(x.cols()), data}; });
}

template <class Backend, class Scalar>
Tensor<Scalar> mix_heads(const Backend& backend, const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) {
    const Index heads = scores.extent(1);
    check_rows("mix_heads", weight.rows(), heads);
    check_width("mix_heads", weight.cols(), heads);
    const auto there = upload(backend, scores.values()), there_weight = upload(backend, weight);
    auto mixed = allocate<Scalar>(backend, scores.size(), 1);
    backend.parallel_for(scores.size(), MixHeadsKernel<Scalar>{there.data(), there_weight.data(), narrow(heads),
                                                               scores.extent(2) * scores.extent(3), mixed.data()});
    Tensor<Scalar> result(scores.shape());
    backend.download(mixed, result.data());
    return result;
}

}  // namespace reference

// Embedding rows: one thread a channel copies it.

template <class Scalar>
struct GatherKernel {
    const Scalar* table;
    const int* positions;
    int channels;
    Scalar* rows;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, channels);
        rows[n] = table[row_start(positions[cell.i], channels) + cell.j];
    }
};

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> learned_rows(const Backend& backend, const Matrix<Scalar>& table,
                            const std::vector<std::int64_t>& positions) {
    for (const std::int64_t position : positions) {
        LOCUS_CHECK(position >= 0, "cuda::learned_rows: position " + std::to_string(position) + ", expected 0 or more");
        if (position >= table.rows())
            throw Error(Fault::unsupported, "cuda::learned_rows: position " + std::to_string(position) +
                                                " is past the end of a table of " + std::to_string(table.rows()) +
                                                " rows, expected 0 to " + std::to_string(table.rows() - 1));
    }
    const auto count = static_cast<Index>(positions.size());
    const auto there = upload(backend, table);
    const auto there_positions = upload_as_int(backend, positions);
    auto rows = allocate<Scalar>(backend, count, table.cols());
    backend.parallel_for(count * table.cols(),
                         GatherKernel<Scalar>{there.data(), there_positions.data(), narrow(table.cols()), rows.data()});
    return download(backend, rows, count, table.cols());
}

}  // namespace reference

}  // namespace locus::cuda
