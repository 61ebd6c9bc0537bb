#pragma once
// From the loss of a word back to the vectors, the tied word table and the rows that were looked up in it.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// loss = log sum over w of e^{logits_w} - logits_label, so d_logits = softmax(logits) - onehot(label): [V], sums to 0.
/// Of one target: a mean over N of them divides by N.  Throws Error(usage) for a label outside the row.
template <class Scalar>
RowVector<Scalar> cross_entropy_backward(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label);

template <class Scalar>
struct WordLogitsGradients {
    Matrix<Scalar> x, table;  // [N,E], [V,E]
    RowVector<Scalar> bias;   // [V]
};

/// logits = x E_word^T + b, so d_x = d_logits E_word,  d_E_word = d_logits^T x,  d_b = the sum of the rows of d_logits.
/// The table is tied: what its lookups as input bring is added to d_E_word by scatter_rows.
/// x [N,E], table [V,E], d_logits [N,V].  Throws Error(usage) that names what does not fit.
template <class Scalar>
WordLogitsGradients<Scalar> word_logits_backward(const ConstView<Scalar>& x, const ConstView<Scalar>& table,
                                                 const ConstView<Scalar>& d_logits);

/// d_table[ids[n]] += d_rows[n], add_rows and every embedding backwards: a row looked up twice gets both.
/// `dropped`: the id that learns nothing from being looked up (nn.Embedding's padding_idx; DeBERTa: word 0).
/// ids [N], d_rows [N,E] -> added to d_table [V,E].  Throws Error(usage) for an id outside the table.
template <class Scalar>
void scatter_rows(const std::vector<std::int64_t>& ids, const ConstView<Scalar>& d_rows, View<Scalar> d_table,
                  std::optional<std::int64_t> dropped = std::nullopt);

}  // namespace locus
