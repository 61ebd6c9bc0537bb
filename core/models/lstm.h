#pragma once
// Long short-term memory: a cell that is kept or overwritten channel by channel, and three gates that decide.
// Used by seq2seq.h and by lesson 03; held to PyTorch by tests/golden/test_oracle_older.cpp.
// Hochreiter & Schmidhuber 1997, forget gate by Gers et al. 2000; torch.nn.LSTM.
// Gate order of the stacked weights, as in PyTorch: input i, forget f, candidate g, output o (TensorFlow has i, g, f,
// o).
#include "core/models/layers.h"
#include "core/tensor.h"

namespace locus {

/// Four layers stacked: rows 0 ... n-1 are the input gate's, then forget, candidate, output.
template <class Scalar>
struct LstmCell {
    Dense<Scalar> input;      // [4n,E]: weight_ih_l0, bias_ih_l0
    Dense<Scalar> recurrent;  // [4n,n]: weight_hh_l0, bias_hh_l0

    Index width() const { return input.weight.rows() / 4; }
};

/// What one step hands to the next; both empty: zeros.
template <class Scalar>
struct LstmState {
    RowVector<Scalar> hidden, cell;  // [n] each
};

/// Every channel of every step, [T,n] each.
template <class Scalar>
struct LstmResult {
    Matrix<Scalar> input_gate, forget_gate, candidate, output_gate;  // sigma, sigma, tanh, sigma
    Matrix<Scalar> cell;                                             // c_t = f_t c_{t-1} + i_t g_t
    Matrix<Scalar> hidden;                                           // h_t = o_t tanh(c_t)

    /// The state after the last step.
    LstmState<Scalar> last() const { return {hidden.bottomRows(1), cell.bottomRows(1)}; }
};

/// x [T,E], T >= 1.  Throws Error(usage) if the cell is not [4n,E] and [4n,n], or a state is not n wide.
template <class Scalar>
LstmResult<Scalar> lstm(const ConstView<Scalar>& x, const LstmCell<Scalar>& cell,
                        const LstmState<Scalar>& initial = {});

/// One LSTM reads from the left, one from the right; row t is what both know at word t: [T,2n], the left one's first.
template <class Scalar>
struct BidirectionalLstmResult {
    LstmResult<Scalar> forward, backward;  // backward in the order of the words: row t has read words T-1 ... t
    Matrix<Scalar> hidden;                 // [T,2n]
};
template <class Scalar>
BidirectionalLstmResult<Scalar> bidirectional_lstm(const ConstView<Scalar>& x, const LstmCell<Scalar>& forward,
                                                   const LstmCell<Scalar>& backward);

}  // namespace locus
