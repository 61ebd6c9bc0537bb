#include "core/fast/matrix_products.h"

#include <algorithm>

namespace locus {

namespace {

constexpr Index kBlockRows =
    96;  // of a per piece: whole groups of the kernel's six, and with a panel they fit the cache

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

/// c [rows,cols] = or (add) += a b for the columns of b from `first` on, kSimdBlock at most.
template <class Scalar>
void multiply_group(const Scalar* a, Index a_stride, const Panels<Scalar>& b, Index first, Index rows, Scalar* c,
                    Index c_stride, bool add, const SimdKernels<Scalar>& kernels) {
    constexpr Index kDepth = 512;  // so much of kBlockRows rows of a stays in the second cache for all panels
    const Index end = std::min(first + kSimdBlock, b.cols);
    for (Index k = 0; k < b.depth; k += kDepth)
        for (Index col = first; col < end; col += b.width)
            kernels.multiply(a + k, a_stride, b.at(col) + k * b.width, b.width, rows, std::min(b.width, end - col),
                             std::min(kDepth, b.depth - k), c + col - first, c_stride, add || k > 0);
}

/// Calls work(row, rows, column) for every block of a product of `rows` rows.  One group of columns after the other: it
/// comes from memory once, and all rows pass while it is near.
template <class Work>
void for_each_block(Index rows, Index groups, ThreadPool& pool, Work work) {
    const Index blocks = (rows + kBlockRows - 1) / kBlockRows;
    pool.parallel_for(groups * blocks, [&](Index piece, int) {
        const Index row = piece % blocks * kBlockRows;
        work(row, std::min(kBlockRows, rows - row), piece / blocks * kSimdBlock);
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
    if (depth == 0) {
        if (!add) c.setZero();
        return;
    }
    lay_out<Scalar>(b, right, buffers.panels, pool, kernels);
    const Scalar* x = a.data();
    Index x_stride = a.outerStride();
    if (left) {
        x_stride = (depth + kSimdBlock - 1) / kSimdBlock * kSimdBlock;
        transpose_left<Scalar>(a, x_stride, buffers.transposed, pool, kernels);
        x = buffers.transposed.data();
    }
    for_each_block(rows, buffers.panels.groups(), pool, [&](Index row, Index some, Index col) {
        multiply_group(x + row * x_stride, x_stride, buffers.panels, col, some, c.data() + row * c.outerStride() + col,
                       c.outerStride(), add, kernels);
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
    for_each_block(x.rows(), weight.groups(), pool, [&](Index row, Index rows, Index col) {
        const Index cols = std::min(kSimdBlock, weight.cols - col);
        auto block = y.block(row, col, rows, cols);
        block.rowwise() = Eigen::Map<const RowVector<Scalar>>(layer.bias.data() + col, cols);
        multiply_group(x.data() + row * x.outerStride(), x.outerStride(), weight, col, rows, &block(0, 0),
                       y.outerStride(), true, kernels);
        if (following == Following::gelu)
            for (Index r = 0; r < rows; ++r) kernels.gelu(&block(r, 0), cols);
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
