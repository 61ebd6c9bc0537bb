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

/// Where row i of a row-major matrix begins.
constexpr long long row_start(int i, int columns) { return static_cast<long long>(i) * columns; }

/// Where offset i - j stands in the rows of RelativeBuckets for so many keys.
constexpr int bucket_index(int i, int j, int keys) { return i - j + keys - 1; }

/// Where offset j - i stands in the bias of one head by offset for so many queries.
constexpr int bias_index(int i, int j, int queries) { return queries - 1 + j - i; }

/// The column of the position term whose row of R serves query i and key j; may lie outside (no such distance).
constexpr int shift_column(int first, int memory, int i, int j) { return first - (memory + i - j); }

/// How rotation makes one channel: y = x[channel] cos[plane] + x[partner] (sign sin[plane]).
struct RotaryChannel {
    int plane, partner, sign;
};

/// channel < 2 * planes.  interleaved: planes are (2t, 2t + 1); otherwise (t, t + planes).
constexpr RotaryChannel rotary_channel(int channel, int planes, bool interleaved) {
    if (interleaved)
        return channel % 2 == 0 ? RotaryChannel{channel / 2, channel + 1, -1}
                                : RotaryChannel{channel / 2, channel - 1, 1};
    return channel < planes ? RotaryChannel{channel, channel + planes, -1}
                            : RotaryChannel{channel - planes, channel - planes, 1};
}

/// The row that tap `tap` of a "same" convolution reads for row t; may lie outside, where there are zeros.
constexpr int tap_row(int t, int tap, int kernel) { return t + tap - (kernel - 1) / 2; }

/// Where the weight of output `out`, input `in` of its group and tap `tap` stands in [out, inputs * kernel].
constexpr long long tap_index(int out, int in, int tap, int inputs, int kernel) {
    return (row_start(out, inputs) + in) * kernel + tap;
}

}  // namespace locus::cuda
