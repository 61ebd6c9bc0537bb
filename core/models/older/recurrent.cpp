#include "core/models/older/recurrent.h"

#include <cmath>

namespace locus {

namespace {

void check_recurrent(const char* who, const Shape& found, const Shape& expected) {
    LOCUS_CHECK(found == expected,
                std::string(who) + ": recurrent is " + to_string(found) + ", expected " + to_string(expected));
}

/// The initial state, or zeros where none is given.
template <class Scalar>
RowVector<Scalar> initial_state(const char* who, const RowVector<Scalar>& state, Index width) {
    LOCUS_CHECK(state.size() == 0 || state.cols() == width, std::string(who) + ": an initial state of " +
                                                                std::to_string(state.cols()) + " channels, expected " +
                                                                std::to_string(width));
    return state.size() == 0 ? RowVector<Scalar>::Zero(width).eval() : state;
}

/// Every matrix of a result, so that what is done to one is done to all.
template <class Scalar>
std::vector<Matrix<Scalar>*> all_rows(LstmResult<Scalar>& result) {
    return {&result.input_gate,  &result.forget_gate, &result.candidate,
            &result.output_gate, &result.cell,        &result.hidden};
}

}  // namespace

template <class Scalar>
RnnResult<Scalar> rnn(const ConstView<Scalar>& x, const RnnCell<Scalar>& cell, const RowVector<Scalar>& initial) {
    const Index width = cell.width();
    check_recurrent("rnn", {cell.recurrent.weight.rows(), cell.recurrent.weight.cols()}, {width, width});
    RowVector<Scalar> state = initial_state("rnn", initial, width);
    RnnResult<Scalar> result;
    result.from_input = dense<Scalar>(x, cell.input);  // no step waits for another here; only the state does
    result.from_state.resize(x.rows(), width);
    result.hidden.resize(x.rows(), width);
    for (Index t = 0; t < x.rows(); ++t) {
        result.from_state.row(t) = dense<Scalar>(state, cell.recurrent);
        state = (result.from_input.row(t) + result.from_state.row(t)).array().tanh();
        result.hidden.row(t) = state;
    }
    return result;
}

template <class Scalar>
LstmResult<Scalar> lstm(const ConstView<Scalar>& x, const LstmCell<Scalar>& cell, const LstmState<Scalar>& initial) {
    const Index steps = x.rows(), stacked = cell.input.weight.rows(), n = cell.width();
    LOCUS_CHECK(stacked > 0 && stacked % 4 == 0,
                "lstm: input has " + std::to_string(stacked) + " rows, expected four gates of the same width");
    check_recurrent("lstm", {cell.recurrent.weight.rows(), cell.recurrent.weight.cols()}, {stacked, n});
    LOCUS_CHECK(steps >= 1, "lstm: 0 steps, expected 1 or more");
    RowVector<Scalar> h = initial_state("lstm", initial.hidden, n), c = initial_state("lstm", initial.cell, n);
    const Matrix<Scalar> from_input = dense<Scalar>(x, cell.input);
    LstmResult<Scalar> result;
    for (Matrix<Scalar>* rows : all_rows(result)) rows->resize(steps, n);
    const auto sigmoid = [](Scalar v) { return Scalar(1) / (Scalar(1) + std::exp(-v)); };
    for (Index t = 0; t < steps; ++t) {
        // Four layers of the word and of the state before it, then their activations.
        const RowVector<Scalar> gates = from_input.row(t) + dense<Scalar>(h, cell.recurrent).row(0);
        const RowVector<Scalar> i = gates.segment(0, n).unaryExpr(sigmoid);
        const RowVector<Scalar> f = gates.segment(n, n).unaryExpr(sigmoid);
        const RowVector<Scalar> g = gates.segment(2 * n, n).array().tanh();
        const RowVector<Scalar> o = gates.segment(3 * n, n).unaryExpr(sigmoid);
        // The cell keeps a share f of itself and takes a share i of the candidate: a sum, so that its gradient lives.
        c = f.cwiseProduct(c) + i.cwiseProduct(g);
        h = o.array() * c.array().tanh();
        result.input_gate.row(t) = i;
        result.forget_gate.row(t) = f;
        result.candidate.row(t) = g;
        result.output_gate.row(t) = o;
        result.cell.row(t) = c;
        result.hidden.row(t) = h;
    }
    return result;
}

template <class Scalar>
BidirectionalLstmResult<Scalar> bidirectional_lstm(const ConstView<Scalar>& x, const LstmCell<Scalar>& forward,
                                                   const LstmCell<Scalar>& backward) {
    BidirectionalLstmResult<Scalar> result;
    result.forward = lstm<Scalar>(x, forward);
    result.backward = lstm<Scalar>(x.colwise().reverse().eval(), backward);
    for (Matrix<Scalar>* rows : all_rows(result.backward)) *rows = rows->colwise().reverse().eval();
    result.hidden.resize(x.rows(), forward.width() + backward.width());
    result.hidden << result.forward.hidden, result.backward.hidden;
    return result;
}

template RnnResult<float> rnn<float>(const ConstView<float>&, const RnnCell<float>&, const RowVector<float>&);
template RnnResult<double> rnn<double>(const ConstView<double>&, const RnnCell<double>&, const RowVector<double>&);
template LstmResult<float> lstm<float>(const ConstView<float>&, const LstmCell<float>&, const LstmState<float>&);
template LstmResult<double> lstm<double>(const ConstView<double>&, const LstmCell<double>&, const LstmState<double>&);
template BidirectionalLstmResult<float> bidirectional_lstm<float>(const ConstView<float>&, const LstmCell<float>&,
                                                                  const LstmCell<float>&);
template BidirectionalLstmResult<double> bidirectional_lstm<double>(const ConstView<double>&, const LstmCell<double>&,
                                                                    const LstmCell<double>&);

}  // namespace locus
