#include "core/training/absolute_positions.h"

#include "core/training/deberta_parameters.h"

namespace locus {

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
