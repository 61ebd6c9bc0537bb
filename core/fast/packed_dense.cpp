#include "core/fast/packed_dense.h"

#include <algorithm>

namespace locus {

namespace {

// Of x per piece: whole groups of the kernel's six, and a slice of them fits the second cache.
constexpr Index kDenseRows = 96;

}  // namespace

template <class Scalar>
PackedDense<Scalar> pack_dense(const std::vector<const Dense<Scalar>*>& layers, const SimdKernels<Scalar>& kernels) {
    PackedDense<Scalar> packed;
    for (const Dense<Scalar>* layer : layers) {
        LOCUS_CHECK(packed.in == 0 || layer->weight.cols() == packed.in,
                    "pack_dense: inputs of width " + std::to_string(packed.in) + " and " +
                        std::to_string(layer->weight.cols()) + ", expected the same");
        packed.in = layer->weight.cols();
        packed.out += layer->weight.rows();
    }
    Matrix<Scalar> weight(packed.out, packed.in);
    const Index count = (packed.out + kSimdBlock - 1) / kSimdBlock;
    packed.bias.resize(static_cast<std::size_t>(count * kSimdBlock));
    Index first = 0;
    for (const Dense<Scalar>* layer : layers) {
        weight.middleRows(first, layer->weight.rows()) = layer->weight;
        std::copy_n(layer->bias.data(), layer->bias.size(), packed.bias.data() + first);
        first += layer->weight.rows();
    }
    packed.panels.resize(static_cast<std::size_t>(count * kSimdBlock * packed.in));
    for (Index row = 0; row < packed.out; row += kSimdBlock)
        turn_rows(weight.data() + row * packed.in, packed.in, std::min(kSimdBlock, packed.out - row), packed.in,
                  packed.panels.data() + row * packed.in, kSimdBlock, kernels);
    return packed;
}

template <class Scalar>
void dense_blocks(const ConstView<Scalar>& x, const PackedDense<Scalar>& layer, const Activation* activation,
                  Matrix<Scalar>& out, ThreadPool& pool, const SimdKernels<Scalar>& kernels) {
    LOCUS_CHECK(x.cols() == layer.in,
                "dense_blocks: input of width " + std::to_string(x.cols()) + ", expected " + std::to_string(layer.in));
    out.resize(x.rows(), layer.out);
    const Index panels = static_cast<Index>(layer.bias.size()) / kSimdBlock,
                groups = (x.rows() + kDenseRows - 1) / kDenseRows;
    pool.parallel_for(panels * groups, [&](Index piece, int) {
        // One panel of the weight after the other: it comes from memory once, and all rows of x pass while it is near.
        const Index panel = piece / groups, row = piece % groups * kDenseRows;
        const Index rows = std::min(kDenseRows, x.rows() - row), col = panel * kSimdBlock;
        const Index cols = std::min(kSimdBlock, layer.out - col);
        auto y = out.block(row, col, rows, cols);
        y.rowwise() = Eigen::Map<const RowVector<Scalar>>(layer.bias.data() + col, cols);
        kernels.multiply(x.row(row).data(), x.outerStride(), layer.panels.data() + col * layer.in, kSimdBlock, rows,
                         cols, layer.in, &y(0, 0), out.outerStride(), true);
        if (!activation) return;
        if (*activation == Activation::gelu)
            for (Index r = 0; r < rows; ++r) kernels.gelu(&y(r, 0), cols);
        else
            y = activate<Scalar>(y, *activation).eval();
    });
}

template PackedDense<float> pack_dense<float>(const std::vector<const Dense<float>*>&, const SimdKernels<float>&);
template PackedDense<double> pack_dense<double>(const std::vector<const Dense<double>*>&, const SimdKernels<double>&);
template void dense_blocks<float>(const ConstView<float>&, const PackedDense<float>&, const Activation*, Matrix<float>&,
                                  ThreadPool&, const SimdKernels<float>&);
template void dense_blocks<double>(const ConstView<double>&, const PackedDense<double>&, const Activation*,
                                   Matrix<double>&, ThreadPool&, const SimdKernels<double>&);

}  // namespace locus
