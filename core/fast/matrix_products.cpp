#include "core/fast/matrix_products.h"

#include <algorithm>

namespace locus {

namespace {

/// What one thread takes at once of a product: `rows` of a and `cols` columns of b.
struct Piece {
    Index rows, cols;
};

/// The largest piece whose rows of a stay in the second cache while all panels of its columns pass; smaller where the
/// threads would not find four pieces each.  Rows in whole groups of the kernel's six, and about equally many in each.
Piece piece_of(Index rows, Index cols, Index threads) {
    constexpr Index kRows = 192, kCols = 2 * kSimdBlock, kGroup = 6;
    const auto parts = [](Index all, Index some) { return (all + some - 1) / some; };
    Piece piece{kRows, kCols};
    const auto too_few = [&] { return parts(rows, piece.rows) * parts(cols, piece.cols) < 4 * threads; };
    if (too_few()) piece.cols = kSimdBlock;
    while (too_few() && piece.rows > 4 * kGroup) piece.rows /= 2;
    piece.rows = parts(parts(rows, parts(rows, piece.rows)), kGroup) * kGroup;
    return piece;
}

std::string sides(const char* what, Index rows, Index cols) {
    return std::string(what) + " " + std::to_string(rows) + " x " + std::to_string(cols);
}

/// Lays out b [depth,cols], or its transpose where it is stored as [cols,depth].
template <class Scalar>
void lay_out(const ConstView<Scalar>& b, bool transposed, Panels<Scalar>& panels, ThreadPool& pool,
             const SimdKernels<Scalar>& kernels) {
    panels.depth = transposed ? b.cols() : b.rows();
    panels.cols = transposed ? b.rows() : b.cols();
    panels.width = kernels.columns;
    panels.values.resize(static_cast<std::size_t>(panels.groups() * kSimdBlock * panels.depth));
    const Index count = (panels.cols + panels.width - 1) / panels.width;
    pool.parallel_for(count, [&](Index panel, int) {
        const Index col = panel * panels.width, some = std::min(panels.width, panels.cols - col);
        Scalar* out = panels.values.data() + col * panels.depth;
        if (!transposed) {
            for (Index k = 0; k < panels.depth; ++k)
                std::copy_n(b.data() + k * b.outerStride() + col, some, out + k * panels.width);
            return;
        }
        Index which[kSimdBlock];
        for (Index n = 0; n < panels.width; ++n) which[n] = std::min(n, some - 1);
        kernels.transpose_rows(b.data() + col * b.outerStride(), b.outerStride(), which, panels.width, panels.depth,
                               out, panels.width);
    });
}

/// c [rows,cols] = start + a b for the columns of b from `first` on; start as SimdKernels::multiply takes it.
template <class Scalar>
void multiply_piece(const Scalar* a, Index a_stride, const Panels<Scalar>& b, Index first, Index rows, Index cols,
                    Scalar* c, Index c_stride, const Scalar* start, Index start_stride,
                    const SimdKernels<Scalar>& kernels) {
    constexpr Index kDepth = 512;  // so much of a piece's rows of a stays in the second cache for all panels
    for (Index k = 0; k == 0 || k < b.depth; k += kDepth) {  // once without inputs too: c becomes start
        for (Index col = 0; col < cols; col += b.width)
            kernels.multiply(a + k, a_stride, b.at(first + col) + k * b.width, b.width, rows,
                             std::min(b.width, cols - col), std::min(kDepth, b.depth - k), c + col, c_stride,
                             start ? start + col : nullptr, start_stride);
        start = c, start_stride = c_stride;
    }
}

/// Calls work(row, rows, column, columns) for every piece of a product [rows,cols].  Some columns of b after the
/// others: they come from memory once, and all rows pass while they are near.
template <class Work>
void for_each_piece(Index rows, Index cols, ThreadPool& pool, Work work) {
    if (rows == 0 || cols == 0) return;
    const Piece piece = piece_of(rows, cols, pool.threads());
    const Index down = (rows + piece.rows - 1) / piece.rows, across = (cols + piece.cols - 1) / piece.cols;
    pool.parallel_for(down * across, [&](Index which, int) {
        const Index row = which % down * piece.rows, col = which / down * piece.cols;
        work(row, std::min(piece.rows, rows - row), col, std::min(piece.cols, cols - col));
    });
}

/// a^T [n,stride] of a [m,n].  After column m the kernel writes whole blocks; what stands there is never looked at.
template <class Scalar>
void transpose_left(const ConstView<Scalar>& a, Index stride, std::vector<Scalar>& transposed, ThreadPool& pool,
                    const SimdKernels<Scalar>& kernels) {
    transposed.resize(static_cast<std::size_t>(a.cols() * stride));
    pool.parallel_for(stride / kSimdBlock, [&](Index block, int) {
        const Index row = block * kSimdBlock;
        transpose_padded<Scalar>(a.data() + row * a.outerStride(), a.outerStride(),
                                 std::min(kSimdBlock, a.rows() - row), a.cols(), transposed.data() + row, stride,
                                 kernels);
    });
}

}  // namespace

template <class Scalar>
void multiply_blocks(Product product, const ConstView<Scalar>& a, const ConstView<Scalar>& b, bool add, View<Scalar> c,
                     ProductBuffers<Scalar>& buffers, ThreadPool& pool, const SimdKernels<Scalar>& kernels) {
    const bool left = product == Product::atb, right = product == Product::abt;  // which operand is transposed
    const Index rows = left ? a.cols() : a.rows(), depth = left ? a.rows() : a.cols();
    const Index cols = right ? b.rows() : b.cols();
    LOCUS_CHECK((right ? b.cols() : b.rows()) == depth && c.rows() == rows && c.cols() == cols,
                "multiply_blocks: " + sides("a", a.rows(), a.cols()) + sides(", b", b.rows(), b.cols()) +
                    sides(" and c", c.rows(), c.cols()) + " do not fit");
    if (rows == 0 || cols == 0) return;
    lay_out<Scalar>(b, right, buffers.panels, pool, kernels);
    const Scalar* x = a.data();
    Index x_stride = a.outerStride();
    if (left) {
        x_stride = (depth + kSimdBlock - 1) / kSimdBlock * kSimdBlock;
        transpose_left<Scalar>(a, x_stride, buffers.transposed, pool, kernels);
        x = buffers.transposed.data();
    }
    for_each_piece(rows, cols, pool, [&](Index row, Index some, Index col, Index wide) {
        Scalar* out = c.data() + row * c.outerStride() + col;
        multiply_piece(x + row * x_stride, x_stride, buffers.panels, col, some, wide, out, c.outerStride(),
                       add ? out : nullptr, c.outerStride(), kernels);
    });
}

template <class Scalar>
PackedDense<Scalar> pack_dense(const std::vector<StoredDense<Scalar>>& layers, ThreadPool& pool,
                               const SimdKernels<Scalar>& kernels) {
    Index in = 0, out = 0;
    for (const StoredDense<Scalar>& layer : layers) {
        LOCUS_CHECK(in == 0 || layer.weight.cols() == in, "pack_dense: inputs of width " + std::to_string(in) +
                                                              " and " + std::to_string(layer.weight.cols()) +
                                                              ", expected the same");
        in = layer.weight.cols();
        out += layer.weight.rows();
    }
    PackedDense<Scalar> packed;
    packed.bias.resize(static_cast<std::size_t>(out));
    Matrix<Scalar> joined(layers.size() == 1 ? 0 : out, in);  // a layer alone is laid out from where it is
    Index first = 0;
    for (const StoredDense<Scalar>& layer : layers) {
        if (joined.rows() > 0) joined.middleRows(first, layer.weight.rows()) = layer.weight;
        std::copy_n(layer.bias.data(), layer.bias.size(), packed.bias.data() + first);
        first += layer.weight.rows();
    }
    lay_out<Scalar>(layers.size() == 1 ? layers.front().weight : joined, true, packed.weight, pool, kernels);
    return packed;
}

template <class Scalar>
void dense_blocks(const ConstView<Scalar>& x, const PackedDense<Scalar>& layer, Following following, View<Scalar> y,
                  ThreadPool& pool, const SimdKernels<Scalar>& kernels) {
    const Panels<Scalar>& weight = layer.weight;
    LOCUS_CHECK(x.cols() == weight.depth && y.rows() == x.rows() && y.cols() == weight.cols,
                "dense_blocks: " + sides("input", x.rows(), x.cols()) + sides(" and output", y.rows(), y.cols()) +
                    " do not fit a layer from " + std::to_string(weight.depth) + " to " + std::to_string(weight.cols));
    for_each_piece(x.rows(), weight.cols, pool, [&](Index row, Index rows, Index col, Index cols) {
        Scalar* out = y.data() + row * y.outerStride() + col;
        multiply_piece<Scalar>(x.data() + row * x.outerStride(), x.outerStride(), weight, col, rows, cols, out,
                               y.outerStride(), layer.bias.data() + col, 0, kernels);
        if (following == Following::gelu)
            for (Index r = 0; r < rows; ++r) kernels.gelu(out + r * y.outerStride(), cols);
    });
}

template void multiply_blocks<float>(Product, const ConstView<float>&, const ConstView<float>&, bool, View<float>,
                                     ProductBuffers<float>&, ThreadPool&, const SimdKernels<float>&);
template void multiply_blocks<double>(Product, const ConstView<double>&, const ConstView<double>&, bool, View<double>,
                                      ProductBuffers<double>&, ThreadPool&, const SimdKernels<double>&);
template PackedDense<float> pack_dense<float>(const std::vector<StoredDense<float>>&, ThreadPool&,
                                              const SimdKernels<float>&);
template PackedDense<double> pack_dense<double>(const std::vector<StoredDense<double>>&, ThreadPool&,
                                                const SimdKernels<double>&);
template void dense_blocks<float>(const ConstView<float>&, const PackedDense<float>&, Following, View<float>,
                                  ThreadPool&, const SimdKernels<float>&);
template void dense_blocks<double>(const ConstView<double>&, const PackedDense<double>&, Following, View<double>,
                                   ThreadPool&, const SimdKernels<double>&);

}  // namespace locus
