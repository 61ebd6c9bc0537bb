#pragma once
// Recurrent networks: the plain one (Elman 1990; torch.nn.RNN) and long short-term memory (Hochreiter & Schmidhuber
// 1997, forget gate by Gers et al. 2000; torch.nn.LSTM).  Weights carry PyTorch's names: weight_ih_l0, weight_hh_l0.
//
// Where they are used: the LSTM is the encoder and the decoder of core/models/older/seq2seq.h; both networks are
// compared with PyTorch in tests/golden/test_oracle_older.cpp; lesson 03 shows that both see the order of words.
#include "core/models/layers.h"
#include "core/tensor.h"

namespace locus {

// --- the plain recurrent network: one state, handed from word to word ---

/// h_t = tanh(input(x_t) + recurrent(h_{t-1})).
template <class Scalar>
struct RnnCell {
    Dense<Scalar> input;      // [n,E]: weight_ih_l0, bias_ih_l0
    Dense<Scalar> recurrent;  // [n,n]: weight_hh_l0, bias_hh_l0

    Index width() const { return input.weight.rows(); }
};

template <class Scalar>
struct RnnResult {
    Matrix<Scalar> from_input;  // [T,n]: input(x_t)
    Matrix<Scalar> from_state;  // [T,n]: recurrent(h_{t-1})
    Matrix<Scalar> hidden;      // [T,n]: tanh of their sum
};

/// x [T,E], initial [n] (empty: zeros).  Throws Error(usage) if the cell is not [n,E] and [n,n], or the initial state
/// is not n wide.
template <class Scalar>
RnnResult<Scalar> rnn(const ConstView<Scalar>& x, const RnnCell<Scalar>& cell, const RowVector<Scalar>& initial = {});

// --- long short-term memory: a cell that is kept or overwritten channel by channel, and three gates that decide ---

/// Four layers stacked in PyTorch's order: rows 0 ... n-1 are the input gate i's, then forget f, candidate g, output o
/// (TensorFlow has i, g, f, o).
template <class Scalar>
struct LstmCell {
    Dense<Scalar> input;      // [4n,E]: weight_ih_l0, bias_ih_l0
    Dense<Scalar> recurrent;  // [4n,n]: weight_hh_l0, bias_hh_l0

    Index width() const { return input.weight.rows() / 4; }
};

/// What one step gives to the next; both empty: zeros.
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

/// One LSTM reads from the left, one from the right; row t is what both have read at word t: [T,2n], the left one's
/// first.
template <class Scalar>
struct BidirectionalLstmResult {
    LstmResult<Scalar> forward, backward;  // backward in the order of the words: row t has read words T-1 ... t
    Matrix<Scalar> hidden;                 // [T,2n]
};
template <class Scalar>
BidirectionalLstmResult<Scalar> bidirectional_lstm(const ConstView<Scalar>& x, const LstmCell<Scalar>& forward,
                                                   const LstmCell<Scalar>& backward);

}  // namespace locus
