#include "core/fast/matrix_products.h"

#include <algorithm>

namespace locus {

namespace {

constexpr Index kRows = 96;  // of a per piece: whole groups of the kernel's six, and with a panel they fit the cache

std::string sides(const char* what, Index rows, Index cols) {
    return std::string(what) + " " + std::to_string(rows) + " x " + std::to_string(cols);
}

/// b as panels of kSimdBlock columns [p / block, m, block], so that the inner loop reads it from one end to the other.
template <class Scalar>
void lay_out(const ConstView<Scalar>& b, bool turned, Index depth, Index cols, Scalar* panels, ThreadPool& pool,
             const SimdKernels<Scalar>& kernels) {
    pool.parallel_for((cols + kSimdBlock - 1) / kSimdBlock, [&](Index panel, int) {
        const Index col = panel * kSimdBlock, some = std::min(kSimdBlock, cols - col);
        Scalar* out = panels + col * depth;
        if (turned)
            turn_rows<Scalar>(b.data() + col * b.outerStride(), b.outerStride(), some, depth, out, kSimdBlock, kernels);
        else
            for (Index k = 0; k < depth; ++k)
                std::copy_n(b.data() + k * b.outerStride() + col, some, out + k * kSimdBlock);
    });
}

}  // namespace

template <class Scalar>
void multiply_blocks(Product product, const ConstView<Scalar>& a, const ConstView<Scalar>& b, bool add, View<Scalar> c,
                     ProductBuffers<Scalar>& buffers, ThreadPool& pool, const SimdKernels<Scalar>& kernels) {
    const bool a_turned = product == Product::atb, b_turned = product == Product::abt;
    const Index rows = a_turned ? a.cols() : a.rows(), depth = a_turned ? a.rows() : a.cols();
    const Index cols = b_turned ? b.rows() : b.cols();
    LOCUS_CHECK((b_turned ? b.cols() : b.rows()) == depth && c.rows() == rows && c.cols() == cols,
                "multiply_blocks: " + sides("a", a.rows(), a.cols()) + sides(", b", b.rows(), b.cols()) +
                    sides(" and c", c.rows(), c.cols()) + " do not fit");
    if (rows == 0 || cols == 0) return;
    if (depth == 0) {
        if (!add) c.setZero();
        return;
    }
    const Index panels = (cols + kSimdBlock - 1) / kSimdBlock, groups = (rows + kRows - 1) / kRows;
    buffers.panels.resize(static_cast<std::size_t>(panels * kSimdBlock * depth));
    lay_out<Scalar>(b, b_turned, depth, cols, buffers.panels.data(), pool, kernels);
    const Scalar* left = a.data();
    Index left_stride = a.outerStride();
    if (a_turned) {
        // Behind the last row the kernel writes whole blocks; what lies there is never looked at.
        left_stride = (depth + kSimdBlock - 1) / kSimdBlock * kSimdBlock;
        buffers.turned.resize(static_cast<std::size_t>(rows * left_stride));
        pool.parallel_for(left_stride / kSimdBlock, [&](Index block, int) {
            const Index row = block * kSimdBlock;
            turn_rows<Scalar>(a.data() + row * a.outerStride(), a.outerStride(), std::min(kSimdBlock, depth - row),
                              rows, buffers.turned.data() + row, left_stride, kernels);
        });
        left = buffers.turned.data();
    }
    pool.parallel_for(panels * groups, [&](Index piece, int) {
        const Index panel = piece % panels, row = piece / panels * kRows, col = panel * kSimdBlock;
        kernels.multiply(left + row * left_stride, left_stride, buffers.panels.data() + col * depth, kSimdBlock,
                         std::min(kRows, rows - row), std::min(kSimdBlock, cols - col), depth,
                         c.data() + row * c.outerStride() + col, c.outerStride(), add);
    });
}

template void multiply_blocks<float>(Product, const ConstView<float>&, const ConstView<float>&, bool, View<float>,
                                     ProductBuffers<float>&, ThreadPool&, const SimdKernels<float>&);
template void multiply_blocks<double>(Product, const ConstView<double>&, const ConstView<double>&, bool, View<double>,
                                      ProductBuffers<double>&, ThreadPool&, const SimdKernels<double>&);

}  // namespace locus
