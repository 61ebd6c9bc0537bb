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
    panels.values.resize(static_cast<std::size_t>(panels.count() * kSimdBlock * panels.depth));
    pool.parallel_for(panels.count(), [&](Index panel, int) {
        const Index col = panel * kSimdBlock, some = std::min(kSimdBlock, panels.cols - col);
        Scalar* out = panels.values.data() + col * panels.depth;
        if (transposed)
            transpose_padded<Scalar>(b.data() + col * b.outerStride(), b.outerStride(), some, panels.depth, out,
                                     kSimdBlock, kernels);
        else
            for (Index k = 0; k < panels.depth; ++k)
                std::copy_n(b.data() + k * b.outerStride() + col, some, out + k * kSimdBlock);
    });
}

/// Calls work(row, rows, panel) for every block of a product of `rows` rows.  One panel after the other: it comes from
/// memory once, and all rows pass while it is near.
template <class Work>
void for_each_block(Index rows, Index panels, ThreadPool& pool, Work work) {
    const Index groups = (rows + kBlockRows - 1) / kBlockRows;
    pool.parallel_for(panels * groups, [&](Index piece, int) {
        const Index row = piece % groups * kBlockRows;
        work(row, std::min(kBlockRows, rows - row), piece / groups);
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
    for_each_block(rows, buffers.panels.count(), pool, [&](Index row, Index some, Index panel) {
        const Index col = panel * kSimdBlock;
        kernels.multiply(x + row * x_stride, x_stride, buffers.panels.at(panel), kSimdBlock, some,
                         std::min(kSimdBlock, cols - col), depth, c.data() + row * c.outerStride() + col,
                         c.outerStride(), add);
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
    for_each_block(x.rows(), weight.count(), pool, [&](Index row, Index rows, Index panel) {
        const Index col = panel * kSimdBlock, cols = std::min(kSimdBlock, weight.cols - col);
        auto block = y.block(row, col, rows, cols);
        block.rowwise() = Eigen::Map<const RowVector<Scalar>>(layer.bias.data() + col, cols);
        kernels.multiply(x.data() + row * x.outerStride(), x.outerStride(), weight.at(panel), kSimdBlock, rows, cols,
                         weight.depth, &block(0, 0), y.outerStride(), true);
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
