#include "core/models/word_logits_backward.h"

#include "core/tensor.h"

namespace locus {

template <class Scalar>
RowVector<Scalar> cross_entropy_backward(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label) {
    LOCUS_CHECK(
        label >= 0 && label < logits.size(),
        "labels holds " + std::to_string(label) + ", expected ids from 0 to " + std::to_string(logits.size() - 1));
    RowVector<Scalar> d_logits = (logits.array() - logits.maxCoeff()).exp();
    d_logits /= d_logits.sum();
    d_logits[label] -= Scalar(1);
    return d_logits;
}

template <class Scalar>
WordLogitsGradients<Scalar> word_logits_backward(const ConstView<Scalar>& x, const ConstView<Scalar>& table,
                                                 const ConstView<Scalar>& d_logits) {
    check_shape("word_logits_backward", "x", x, x.rows(), table.cols());
    check_shape("word_logits_backward", "d_logits", d_logits, x.rows(), table.rows());
    return {d_logits * table, d_logits.transpose() * x, d_logits.colwise().sum()};
}

template <class Scalar>
void scatter_rows(const std::vector<std::int64_t>& ids, const ConstView<Scalar>& d_rows, View<Scalar> d_table,
                  std::optional<std::int64_t> dropped) {
    check_shape("scatter_rows", "d_rows", d_rows, static_cast<Index>(ids.size()), d_table.cols());
    for (Index n = 0; n < d_rows.rows(); ++n) {
        const std::int64_t id = ids[static_cast<std::size_t>(n)];
        LOCUS_CHECK(id >= 0 && id < d_table.rows(), "scatter_rows: row " + std::to_string(id) + ", expected 0 to " +
                                                        std::to_string(d_table.rows() - 1));
        if (id != dropped) d_table.row(id) += d_rows.row(n);
    }
}

template RowVector<float> cross_entropy_backward<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t);
template WordLogitsGradients<float> word_logits_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                                const ConstView<float>&);
template void scatter_rows<float>(const std::vector<std::int64_t>&, const ConstView<float>&, View<float>,
                                  std::optional<std::int64_t>);
template RowVector<double> cross_entropy_backward<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t);
template WordLogitsGradients<double> word_logits_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                                  const ConstView<double>&);
template void scatter_rows<double>(const std::vector<std::int64_t>&, const ConstView<double>&, View<double>,
                                   std::optional<std::int64_t>);

}  // namespace locus
