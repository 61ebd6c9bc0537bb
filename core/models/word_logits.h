#pragma once
// From vectors to words, and from words to a loss: logits against the word table, cross-entropy, label smoothing, each
// with its backward pass.
//
// Label smoothing is not in any model that Locus trains; its formulas serve the law about it in
// tests/laws/test_transformer_laws.cpp and the recorded losses in tests/golden/test_oracle_older.cpp.
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/tensor.h"

namespace locus {

// --- logits ---

/// Rows first ... first + count - 1 of the word table [count,E]; a table may be a large mapped file.
template <class Scalar>
using WordBlock = std::function<Matrix<Scalar>(Index first, Index count)>;

/// Words whose rows of the table are in memory at once.
inline constexpr Index kWordsAtOnce = 4096;

/// x E_word^T + bias, a block of words at a time.  x [N,E], words V, bias [V] or empty -> [N,V].
/// Throws Error(usage) for a bias or a block of another shape.
template <class Scalar>
Matrix<Scalar> word_logits(const ConstView<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias);

template <class Scalar>
struct WordLogitsGradients {
    Matrix<Scalar> x, table;  // [N,E], [V,E]
    RowVector<Scalar> bias;   // [V]
};

/// logits = x E_word^T + b, so d_x = d_logits E_word,  d_E_word = d_logits^T x,  d_b = the sum of the rows of d_logits.
/// The table is tied: the gradient of its rows as inputs is added to d_E_word by scatter_rows.
/// x [N,E], table [V,E], d_logits [N,V].  Throws Error(usage) that names what does not fit.
template <class Scalar>
WordLogitsGradients<Scalar> word_logits_backward(const ConstView<Scalar>& x, const ConstView<Scalar>& table,
                                                 const ConstView<Scalar>& d_logits);

/// The backward pass of every embedding (add_rows): d_table[ids[n]] += d_rows[n]; a row looked up twice gets both.
/// `dropped`: the id that learns nothing from being looked up (nn.Embedding's padding_idx; DeBERTa: word 0).
/// ids [N], d_rows [N,E] -> added to d_table [V,E].  Throws Error(usage) for an id outside the table.
template <class Scalar>
void scatter_rows(const std::vector<std::int64_t>& ids, const ConstView<Scalar>& d_rows, View<Scalar> d_table,
                  std::optional<std::int64_t> dropped = std::nullopt);

// --- cross-entropy ---

/// -log softmax(logits)[label].  Throws Error(usage) for a label outside the row.
template <class Scalar>
Scalar cross_entropy(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label);

/// loss = log sum over w of e^{logits_w} - logits_label, so d_logits = softmax(logits) - onehot(label): [V], sums to 0.
/// Of one target: a mean over N of them divides by N.  Throws Error(usage) for a label outside the row.
template <class Scalar>
RowVector<Scalar> cross_entropy_backward(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label);

/// Log-probabilities, row by row: given[n] + logits[n] - log sum over w of e^{logits[n][w]}.  `given`: the
/// log-probability of what all words of a row stand in, as a cluster of an adaptive softmax; empty: 0.
/// logits [N,V], given [N] or empty -> [N,V].  Throws Error(usage) for another `given`.
template <class Scalar>
Matrix<Scalar> log_softmax(const ConstView<Scalar>& logits, const RowVector<Scalar>& given);

// --- label smoothing ---
//
// The target is not one-hot, so no logit is pulled towards infinity.
// Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4 (epsilon = 0.1).

/// Which words share epsilon.
enum class SmoothingShare {
    all_words,    // epsilon / V to every word, the right one too: Szegedy et al., PyTorch
    other_words,  // epsilon / (V - 1) to every wrong word: tensor2tensor
};

struct LabelSmoothing {
    double epsilon = 0.1;
    SmoothingShare share = SmoothingShare::all_words;
};

/// The target distribution q' of one label over V words; it sums to 1.
/// Throws Error(usage) unless V >= 2, 0 <= label < V and 0 <= epsilon < 1.
RowVector<double> smoothed_target(Index words, std::int64_t label, const LabelSmoothing& smoothing);

/// -sum over w of q'[w] ln softmax(logits)[w], in nats, logits [V].  Throws as above.
template <class Scalar>
Scalar smoothed_loss(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label,
                     const LabelSmoothing& smoothing);

/// d_logits = softmax(logits) - q', because q' sums to 1: 0 where the answer is the smoothed target itself.  -> [V].
template <class Scalar>
RowVector<Scalar> smoothed_loss_backward(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label,
                                         const LabelSmoothing& smoothing);

/// What no logits can go below: the entropy of q', reached where softmax(logits) = q'.  0 for epsilon = 0.
double least_smoothed_loss(Index words, const LabelSmoothing& smoothing);

/// One loss per target: logits [B,T,V], labels [B,T], 0 = not a target -> [N], sample by sample.
/// Throws Error(usage) if labels are not one per row of logits.
template <class Scalar>
Tensor<Scalar> smoothed_losses(const Tensor<Scalar>& logits, const IndexTensor& labels,
                               const LabelSmoothing& smoothing);

}  // namespace locus
