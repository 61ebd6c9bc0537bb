#pragma once
// The plain recurrent network: one state, handed from word to word.
// Used by lesson 03 (order is visible to it); held to PyTorch by tests/golden/test_oracle_older.cpp.
// Elman 1990; torch.nn.RNN (weight_ih_l0, weight_hh_l0 and their biases, tanh).
#include "core/models/layers.h"
#include "core/tensor.h"

namespace locus {

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

}  // namespace locus
