#include "core/training/product_blocks.h"

#include <algorithm>

namespace locus {

namespace {

constexpr Index kRows = 96;  // of a per piece: whole groups of the kernel's six, and with a panel they fit the cache

std::string sides(const char* what, Index rows, Index cols) {
    return std::string(what) + " " + std::to_string(rows) + " x " + std::to_string(cols);
}

/// b as panels of kLaneBlock columns [p / block, m, block], so that the inner loop reads it from one end to the other.
template <class Scalar>
void lay_out(const ConstView<Scalar>& b, bool turned, Index depth, Index cols, Scalar* panels, Workers& workers,
             const LaneKernels<Scalar>& lanes) {
    workers.each((cols + kLaneBlock - 1) / kLaneBlock, [&](Index panel, int) {
        const Index col = panel * kLaneBlock, some = std::min(kLaneBlock, cols - col);
        Scalar* out = panels + col * depth;
        if (turned)
            turn_rows<Scalar>(b.data() + col * b.outerStride(), b.outerStride(), some, depth, out, kLaneBlock, lanes);
        else
            for (Index k = 0; k < depth; ++k)
                std::copy_n(b.data() + k * b.outerStride() + col, some, out + k * kLaneBlock);
    });
}

}  // namespace

template <class Scalar>
void multiply_blocks(Product product, const ConstView<Scalar>& a, const ConstView<Scalar>& b, bool add, View<Scalar> c,
                     ProductBuffers<Scalar>& buffers, Workers& workers, const LaneKernels<Scalar>& lanes) {
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
    const Index panels = (cols + kLaneBlock - 1) / kLaneBlock, groups = (rows + kRows - 1) / kRows;
    buffers.panels.resize(static_cast<std::size_t>(panels * kLaneBlock * depth));
    lay_out<Scalar>(b, b_turned, depth, cols, buffers.panels.data(), workers, lanes);
    const Scalar* left = a.data();
    Index left_stride = a.outerStride();
    if (a_turned) {
        // Behind the last row the kernel writes whole blocks; what lies there is never looked at.
        left_stride = (depth + kLaneBlock - 1) / kLaneBlock * kLaneBlock;
        buffers.turned.resize(static_cast<std::size_t>(rows * left_stride));
        workers.each(left_stride / kLaneBlock, [&](Index block, int) {
            const Index row = block * kLaneBlock;
            turn_rows<Scalar>(a.data() + row * a.outerStride(), a.outerStride(), std::min(kLaneBlock, depth - row),
                              rows, buffers.turned.data() + row, left_stride, lanes);
        });
        left = buffers.turned.data();
    }
    workers.each(panels * groups, [&](Index piece, int) {
        const Index panel = piece % panels, row = piece / panels * kRows, col = panel * kLaneBlock;
        lanes.multiply(left + row * left_stride, left_stride, buffers.panels.data() + col * depth, kLaneBlock,
                       std::min(kRows, rows - row), std::min(kLaneBlock, cols - col), depth,
                       c.data() + row * c.outerStride() + col, c.outerStride(), add);
    });
}

template void multiply_blocks<float>(Product, const ConstView<float>&, const ConstView<float>&, bool, View<float>,
                                     ProductBuffers<float>&, Workers&, const LaneKernels<float>&);
template void multiply_blocks<double>(Product, const ConstView<double>&, const ConstView<double>&, bool, View<double>,
                                      ProductBuffers<double>&, Workers&, const LaneKernels<double>&);

}  // namespace locus
