#include "core/attention/products.h"

#include <algorithm>

namespace locus {

namespace {

constexpr Index kTile = 32;  // columns whose sums stay in registers while the channels go by

/// One row of a against kTile columns of b: sums[n] over all channels in order.
template <class Scalar>
void add_channels(const Scalar* a_m, const Scalar* b_columns, Index channels, Index stride, Scalar* products,
                  Index count) {
    using Sums = Eigen::Array<Scalar, 1, kTile>;
    Sums sums = Sums::Zero();
    for (Index c = 0; c < channels; ++c) sums += a_m[c] * Eigen::Map<const Sums>(b_columns + c * stride);
    std::copy_n(sums.data(), count, products);
}

}  // namespace

template <class Scalar>
Matrix<Scalar> products_of_rows(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    LOCUS_CHECK(a.cols() == b.cols(), "products_of_rows: rows of " + std::to_string(a.cols()) + " and of " +
                                          std::to_string(b.cols()) + " channels, expected the same width");
    const Index channels = a.cols();
    const Index stride = (b.rows() + kTile - 1) / kTile * kTile;
    Matrix<Scalar> b_columns = Matrix<Scalar>::Zero(channels, stride);
    b_columns.leftCols(b.rows()) = b.transpose();

    Matrix<Scalar> products(a.rows(), b.rows());
    for (Index n = 0; n < b.rows(); n += kTile)
        for (Index m = 0; m < a.rows(); ++m)
            add_channels<Scalar>(a.row(m).data(), b_columns.data() + n, channels, stride, &products(m, n),
                                 std::min(kTile, b.rows() - n));
    return products;
}

template Matrix<float> products_of_rows<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<double> products_of_rows<double>(const ConstView<double>&, const ConstView<double>&);

}  // namespace locus
