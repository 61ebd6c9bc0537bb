#pragma once
// The index arithmetic of the kernels, alone: constexpr, so that it runs on the device and in tests on the host, and a
// mistake in it is found without a GPU.

namespace locus::cuda {

/// A cell of a row-major matrix.
struct CellIndex {
    int i, j;
};

/// The cell that thread n of a matrix with so many columns computes.
constexpr CellIndex cell_of(long long n, int columns) {
    return {static_cast<int>(n / columns), static_cast<int>(n % columns)};
}

/// Where offset i - j stands in the rows of a bucket line for so many keys.
constexpr int line_place(int i, int j, int keys) { return i - j + keys - 1; }

}  // namespace locus::cuda
