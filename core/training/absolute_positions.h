#pragma once
// Absolute positions in training: with the embeddings, or with the first query of the mask decoder.
#include "core/models/deberta_config.h"
#include "core/training/batch.h"
#include "core/training/parameters.h"

namespace locus {

/// Throws Error(unsupported) where a sentence is longer than the absolute table.
void check_positions(const DebertaConfig& config, const PackedBatch& batch);

/// rows[t] += table[t] in every sentence.  rows [N,E].
template <class Scalar>
void add_positions(const Parameters<Scalar>& values, const PackedBatch& batch, Matrix<Scalar>& rows);

/// d_table[t] += d_rows[t] of every sentence, unless the table is frozen.
template <class Scalar>
void add_positions_backward(const PackedBatch& batch, const ConstView<Scalar>& d_rows, Parameters<Scalar>& gradients);

}  // namespace locus
