#include "core/training/training_context.h"

#include <algorithm>

#include "core/models/layers.h"
#include "core/training/parameters.h"

namespace locus {

namespace {

constexpr Index kPieceRows = 64;  // per piece; sums over rows are made piece by piece, so that threads change no bit

template <class Scalar>
Norm<Scalar> norm_of(const TrainingContext<Scalar>& pass, const std::string& name) {
    return {pass.values.row(name + ".weight"), pass.values.row(name + ".bias")};
}

/// work(first row, rows) for pieces of [0, rows).
template <class Work>
void by_rows(ThreadPool& pool, Index rows, Work work) {
    pool.parallel_for((rows + kPieceRows - 1) / kPieceRows, [&](Index piece, int) {
        work(piece * kPieceRows, std::min(kPieceRows, rows - piece * kPieceRows));
    });
}

}  // namespace

template <class Scalar>
Matrix<Scalar> TrainingContext<Scalar>::dense(const ConstView<Scalar>& x, const std::string& name) const {
    const auto weight = values.matrix(name + ".weight");
    Matrix<Scalar> y(x.rows(), weight.rows());
    const bool biased = values.has(name + ".bias");
    if (biased)
        by_rows(pool, x.rows(),
                [&](Index row, Index rows) { y.middleRows(row, rows).rowwise() = values.row(name + ".bias"); });
    multiply_blocks<Scalar>(Product::abt, x, weight, biased, y, buffers, pool);
    return y;
}

template <class Scalar>
Matrix<Scalar> TrainingContext<Scalar>::dense_backward(const ConstView<Scalar>& x, const std::string& name,
                                                       const ConstView<Scalar>& d_y,
                                                       Parameters<Scalar>& gradients) const {
    Matrix<Scalar> d_x(x.rows(), x.cols());
    multiply_blocks<Scalar>(Product::ab, d_y, values.matrix(name + ".weight"), false, d_x, buffers, pool);
    add_weight_gradients(x, name, d_y, gradients);
    return d_x;
}

template <class Scalar>
void TrainingContext<Scalar>::dense_backward(const ConstView<Scalar>& x, const std::string& name,
                                             const ConstView<Scalar>& d_y, Parameters<Scalar>& gradients,
                                             Matrix<Scalar>& d_x) const {
    multiply_blocks<Scalar>(Product::ab, d_y, values.matrix(name + ".weight"), true, d_x, buffers, pool);
    add_weight_gradients(x, name, d_y, gradients);
}

template <class Scalar>
void TrainingContext<Scalar>::add_weight_gradients(const ConstView<Scalar>& x, const std::string& name,
                                                   const ConstView<Scalar>& d_y, Parameters<Scalar>& gradients) const {
    if (gradients.has(name + ".weight"))
        multiply_blocks<Scalar>(Product::atb, d_y, x, true, gradients.matrix(name + ".weight"), buffers, pool);
    if (!gradients.has(name + ".bias")) return;
    Matrix<Scalar> sums((d_y.rows() + kPieceRows - 1) / kPieceRows, d_y.cols());
    by_rows(pool, d_y.rows(),
            [&](Index row, Index rows) { sums.row(row / kPieceRows) = d_y.middleRows(row, rows).colwise().sum(); });
    gradients.row(name + ".bias") += sums.colwise().sum();
}

template <class Scalar>
Matrix<Scalar> TrainingContext<Scalar>::norm(const ConstView<Scalar>& x, const std::string& name) const {
    const Norm<Scalar> parts = norm_of(*this, name);
    Matrix<Scalar> y(x.rows(), x.cols());
    by_rows(pool, x.rows(), [&](Index row, Index rows) {
        y.middleRows(row, rows) = layer_norm<Scalar>(x.middleRows(row, rows), parts, config.layer_norm_eps);
    });
    return y;
}

template <class Scalar>
Matrix<Scalar> TrainingContext<Scalar>::norm_backward(const ConstView<Scalar>& x, const std::string& name,
                                                      const ConstView<Scalar>& d_y,
                                                      Parameters<Scalar>& gradients) const {
    const Norm<Scalar> parts = norm_of(*this, name);
    Matrix<Scalar> d_x(x.rows(), x.cols());
    const Index pieces = (x.rows() + kPieceRows - 1) / kPieceRows;
    Matrix<Scalar> weight(pieces, x.cols()), bias(pieces, x.cols());
    by_rows(pool, x.rows(), [&](Index row, Index rows) {
        const NormGradients<Scalar> piece = layer_norm_backward<Scalar>(
            x.middleRows(row, rows), parts, config.layer_norm_eps, d_y.middleRows(row, rows));
        d_x.middleRows(row, rows) = piece.x;
        weight.row(row / kPieceRows) = piece.weight;
        bias.row(row / kPieceRows) = piece.bias;
    });
    if (gradients.has(name + ".weight")) gradients.row(name + ".weight") += weight.colwise().sum();
    if (gradients.has(name + ".bias")) gradients.row(name + ".bias") += bias.colwise().sum();
    return d_x;
}

template <class Scalar>
Matrix<Scalar> TrainingContext<Scalar>::activate(const ConstView<Scalar>& x, Activation activation) const {
    Matrix<Scalar> y(x.rows(), x.cols());
    by_rows(pool, x.rows(), [&](Index row, Index rows) {
        if (activation != Activation::gelu) {
            y.middleRows(row, rows) = locus::activate<Scalar>(x.middleRows(row, rows), activation);
            return;
        }
        y.middleRows(row, rows) = x.middleRows(row, rows);
        best_simd_kernels<Scalar>().gelu(&y(row, 0), rows * y.cols());
    });
    return y;
}

template <class Scalar>
void TrainingContext<Scalar>::activate_backward(const ConstView<Scalar>& x, Activation activation,
                                                View<Scalar> d_y) const {
    by_rows(pool, x.rows(), [&](Index row, Index rows) {
        if (activation == Activation::gelu)
            for (Index r = row; r < row + rows; ++r)
                best_simd_kernels<Scalar>().gelu_backward(x.data() + r * x.outerStride(), x.cols(),
                                                          d_y.data() + r * d_y.outerStride());
        else
            d_y.middleRows(row, rows) =
                locus::activate_backward<Scalar>(x.middleRows(row, rows), activation, d_y.middleRows(row, rows));
    });
}

template <class Scalar>
void TrainingContext<Scalar>::drop(DropoutSite site, Index use, View<Scalar> rows) const {
    locus::drop<Scalar>(dropout.site_seed(site, use), dropout.share(site), rows, pool);
}

template <class Scalar>
void TrainingContext<Scalar>::hide(View<Scalar> rows) const {
    for (Index n = 0; n < static_cast<Index>(batch.visible.size()); ++n)
        if (!batch.visible[static_cast<std::size_t>(n)]) rows.row(n).setZero();
}

template <class Scalar>
void StageGradients<Scalar>::keep(const char* stage, const ConstView<Scalar>& rows) const {
    if (!wants(stage)) return;
    Tensor<Scalar> values({batch, rows.rows() / batch, rows.cols()});
    values.rows() = rows;
    trace->add("grad." + prefix + stage, std::move(values));
}

template <class Scalar>
void StageGradients<Scalar>::keep_heads(const char* stage, const ConstView<Scalar>& rows) const {
    if (!wants(stage)) return;
    Tensor<Scalar> joined({batch, rows.rows() / batch, rows.cols()});
    joined.rows() = rows;
    trace->add("grad." + prefix + stage, split_heads(joined, heads));
}

template <class Scalar>
void StageGradients<Scalar>::keep_scores(const char* stage, const std::vector<Matrix<Scalar>>& scores) const {
    if (!wants(stage)) return;
    Tensor<Scalar> values({batch, heads, scores.front().rows(), scores.front().cols()});
    for (Index at = 0; at < batch * heads; ++at) values.matrix(at) = scores[static_cast<std::size_t>(at)];
    trace->add("grad." + prefix + stage, std::move(values));
}

template <class Scalar>
void StageGradients<Scalar>::keep_table(const char* stage, const ConstView<Scalar>& table) const {
    if (!wants(stage)) return;
    Tensor<Scalar> joined({1, table.rows(), table.cols()});
    joined.rows() = table;
    const Tensor<Scalar> split = split_heads(joined, heads);
    trace->add("grad." + prefix + stage,
               Tensor<Scalar>({split.extent(1), split.extent(2), split.extent(3)}, split.values()));
}

template struct TrainingContext<float>;
template struct TrainingContext<double>;
template struct StageGradients<float>;
template struct StageGradients<double>;

void check_positions(const DebertaConfig& config, const PackedBatch& batch) {
    for (Index b = 0; b < batch.sentences(); ++b)
        if (batch.length(b) > config.max_position_embeddings)
            throw Error(Fault::unsupported, "a sentence has " + std::to_string(batch.length(b)) + " tokens but " +
                                                kAbsoluteTable + " has " +
                                                std::to_string(config.max_position_embeddings) + " rows");
}

template <class Scalar>
void add_positions(const Parameters<Scalar>& values, const PackedBatch& batch, Matrix<Scalar>& rows) {
    const auto table = values.matrix(kAbsoluteTable);
    for (Index b = 0; b < batch.sentences(); ++b)
        rows.middleRows(batch.starts[static_cast<std::size_t>(b)], batch.length(b)) += table.topRows(batch.length(b));
}

template <class Scalar>
void add_positions_backward(const PackedBatch& batch, const ConstView<Scalar>& d_rows, Parameters<Scalar>& gradients) {
    if (!gradients.has(kAbsoluteTable)) return;
    auto table = gradients.matrix(kAbsoluteTable);
    for (Index b = 0; b < batch.sentences(); ++b)
        table.topRows(batch.length(b)) += d_rows.middleRows(batch.starts[static_cast<std::size_t>(b)], batch.length(b));
}

template void add_positions<float>(const Parameters<float>&, const PackedBatch&, Matrix<float>&);
template void add_positions_backward<float>(const PackedBatch&, const ConstView<float>&, Parameters<float>&);
template void add_positions<double>(const Parameters<double>&, const PackedBatch&, Matrix<double>&);
template void add_positions_backward<double>(const PackedBatch&, const ConstView<double>&, Parameters<double>&);

}  // namespace locus
