#include "viewer/plots/learned_curve.h"

#include "core/check.h"

namespace locus {

Matrix<float> distance_products(const ConstView<float>& contents, const ConstView<float>& table,
                                const RelativeBuckets& line, Index reach) {
    LOCUS_CHECK(contents.cols() == table.cols(), "vectors have " + std::to_string(contents.cols()) +
                                                     " channels, the relative table " + std::to_string(table.cols()) +
                                                     ", expected the same number");
    LOCUS_CHECK(reach >= 0 && reach < line.queries() && reach < line.keys() && table.rows() == 2 * line.span(),
                "distances reach to " + std::to_string(reach) + ", the line of rows to " +
                    std::to_string(std::min(line.queries(), line.keys()) - 1));
    const Matrix<float> by_row = contents * table.transpose();
    Matrix<float> products(contents.rows(), 2 * reach + 1);
    for (Index offset = -reach; offset <= reach; ++offset)
        products.col(offset + reach) = by_row.col(line.row_of_offset(offset));
    return products;
}

std::vector<double> mean_of_rows(const ConstView<float>& values) {
    std::vector<double> means(static_cast<std::size_t>(values.cols()));
    for (Index c = 0; c < values.cols(); ++c)
        means[static_cast<std::size_t>(c)] =
            values.col(c).template cast<double>().sum() / static_cast<double>(values.rows());
    return means;
}

}  // namespace locus
