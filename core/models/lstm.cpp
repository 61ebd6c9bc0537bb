#include "core/models/lstm.h"

#include <cmath>

namespace locus {

namespace {

template <class Scalar>
void check_cell(const LstmCell<Scalar>& cell, const LstmState<Scalar>& initial) {
    const Index rows = cell.input.weight.rows(), width = cell.width();
    LOCUS_CHECK(rows > 0 && rows % 4 == 0,
                "lstm: input has " + std::to_string(rows) + " rows, expected four gates of the same width");
    LOCUS_CHECK(cell.recurrent.weight.rows() == rows && cell.recurrent.weight.cols() == width,
                "lstm: recurrent is [" + std::to_string(cell.recurrent.weight.rows()) + ", " +
                    std::to_string(cell.recurrent.weight.cols()) + "], expected [" + std::to_string(rows) + ", " +
                    std::to_string(width) + "]");
    for (const RowVector<Scalar>* state : {&initial.hidden, &initial.cell})
        LOCUS_CHECK(state->size() == 0 || state->cols() == width, "lstm: an initial state of " +
                                                                      std::to_string(state->cols()) +
                                                                      " channels, expected " + std::to_string(width));
}

template <class Scalar>
RowVector<Scalar> or_zeros(const RowVector<Scalar>& state, Index width) {
    return state.size() == 0 ? RowVector<Scalar>::Zero(width).eval() : state;
}

template <class Scalar>
void turn_rows(LstmResult<Scalar>& result) {
    for (Matrix<Scalar>* rows : {&result.input_gate, &result.forget_gate, &result.candidate, &result.output_gate,
                                 &result.cell, &result.hidden})
        *rows = rows->colwise().reverse().eval();
}

}  // namespace

template <class Scalar>
LstmResult<Scalar> lstm(const ConstView<Scalar>& x, const LstmCell<Scalar>& cell, const LstmState<Scalar>& initial) {
    check_cell(cell, initial);
    LOCUS_CHECK(x.rows() >= 1, "lstm: 0 steps, expected 1 or more");
    const Index steps = x.rows(), n = cell.width();
    const Matrix<Scalar> from_input = dense<Scalar>(x, cell.input);
    LstmResult<Scalar> result;
    for (Matrix<Scalar>* rows : {&result.input_gate, &result.forget_gate, &result.candidate, &result.output_gate,
                                 &result.cell, &result.hidden})
        rows->resize(steps, n);
    const auto sigmoid = [](Scalar v) { return Scalar(1) / (Scalar(1) + std::exp(-v)); };
    RowVector<Scalar> h = or_zeros(initial.hidden, n), c = or_zeros(initial.cell, n);
    for (Index t = 0; t < steps; ++t) {
        const RowVector<Scalar> gates = from_input.row(t) + dense<Scalar>(h, cell.recurrent).row(0);
        const RowVector<Scalar> i = gates.segment(0, n).unaryExpr(sigmoid);
        const RowVector<Scalar> f = gates.segment(n, n).unaryExpr(sigmoid);
        const RowVector<Scalar> g = gates.segment(2 * n, n).array().tanh();
        const RowVector<Scalar> o = gates.segment(3 * n, n).unaryExpr(sigmoid);
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
    turn_rows(result.backward);
    result.hidden.resize(x.rows(), forward.width() + backward.width());
    result.hidden << result.forward.hidden, result.backward.hidden;
    return result;
}

template LstmResult<float> lstm<float>(const ConstView<float>&, const LstmCell<float>&, const LstmState<float>&);
template LstmResult<double> lstm<double>(const ConstView<double>&, const LstmCell<double>&, const LstmState<double>&);
template BidirectionalLstmResult<float> bidirectional_lstm<float>(const ConstView<float>&, const LstmCell<float>&,
                                                                  const LstmCell<float>&);
template BidirectionalLstmResult<double> bidirectional_lstm<double>(const ConstView<double>&, const LstmCell<double>&,
                                                                    const LstmCell<double>&);

}  // namespace locus
