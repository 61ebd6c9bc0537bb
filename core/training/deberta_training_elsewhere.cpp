// Attention of a training step handed to an engine: our rows as its tensors, and back.
#include <algorithm>
#include <type_traits>

#include "core/models/layers.h"
#include "core/training/deberta_training_pass.h"

namespace locus {

namespace {

/// Rows [N,D] as [1,H,N,d], and back.
template <class Scalar>
Tensor<float> as_heads(const TrainingPass<Scalar>& pass, const ConstView<Scalar>& rows) {
    Tensor<float> joined({1, rows.rows(), rows.cols()});
    joined.rows() = rows.template cast<float>();
    return split_heads(joined, pass.heads());
}
template <class Scalar>
Matrix<Scalar> as_rows(const Tensor<float>& heads) {
    return join_heads(heads).rows().template cast<Scalar>();
}
/// A table [2k,D] as [H,2k,d]; nothing of an empty one.
template <class Scalar>
Tensor<float> as_head_tables(const TrainingPass<Scalar>& pass, const Matrix<Scalar>& table) {
    if (table.size() == 0) return {};
    const Tensor<float> split = as_heads<Scalar>(pass, table);
    return {{split.extent(1), split.extent(2), split.extent(3)}, split.values()};
}
template <class Scalar>
Matrix<Scalar> as_table(const Tensor<float>& heads) {
    if (heads.empty()) return {};
    return as_rows<Scalar>(Tensor<float>({1, heads.extent(0), heads.extent(1), heads.extent(2)}, heads.values()));
}

template <class Scalar>
PackedHeads packed_heads(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                         const LayerInside<Scalar>& inside) {
    PackedHeads heads{as_heads<Scalar>(pass, inside.q), as_heads<Scalar>(pass, inside.k),
                      as_heads<Scalar>(pass, inside.v), as_head_tables(pass, inside.k_r),
                      as_head_tables(pass, inside.q_r), {}};
    for (Index b = 0; b < pass.batch.sentences(); ++b) heads.lengths.push_back(pass.batch.length(b));
    heads.scale = static_cast<float>(1 / pass.divisor());
    heads.dropout = static_cast<float>(pass.dropout.attention);
    heads.seed = pass.dropout.site_seed(DropoutSite::probs, use.use);
    return heads;
}

template <class Scalar>
const RelativeBuckets& longest_line(const TrainingPass<Scalar>& pass) {
    Index longest = 0;
    for (Index b = 0; b < pass.batch.sentences(); ++b) longest = std::max(longest, pass.batch.length(b));
    return pass.lines.at(longest);
}

}  // namespace

template <class Scalar>
bool forward_on_backend(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use, LayerInside<Scalar>& inside) {
    if (!pass.engine || !pass.batch.masks.empty() || !std::is_same_v<Scalar, float>) return false;
    inside.elsewhere = std::make_shared<const PackedContext>(
        pass.engine->forward(packed_heads(pass, use, inside), longest_line(pass)));
    inside.context = as_rows<Scalar>(inside.elsewhere->context);
    return true;
}

template <class Scalar>
OperandGradients<Scalar> gradients_elsewhere(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                                             const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context) {
    const PackedGradients grad = pass.engine->backward(packed_heads(pass, use, inside), *inside.elsewhere,
                                                       as_heads<Scalar>(pass, d_context), longest_line(pass));
    return {as_rows<Scalar>(grad.q),    as_rows<Scalar>(grad.k),    as_rows<Scalar>(grad.v),
            as_table<Scalar>(grad.k_r), as_table<Scalar>(grad.q_r), {}};
}

template bool forward_on_backend<float>(const TrainingPass<float>&, const LayerUse<float>&, LayerInside<float>&);
template bool forward_on_backend<double>(const TrainingPass<double>&, const LayerUse<double>&, LayerInside<double>&);
template OperandGradients<float> gradients_elsewhere<float>(const TrainingPass<float>&, const LayerUse<float>&,
                                                            const LayerInside<float>&, const ConstView<float>&);
template OperandGradients<double> gradients_elsewhere<double>(const TrainingPass<double>&, const LayerUse<double>&,
                                                              const LayerInside<double>&, const ConstView<double>&);

}  // namespace locus
