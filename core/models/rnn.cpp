#include "core/models/rnn.h"

namespace locus {

template <class Scalar>
RnnResult<Scalar> rnn(const ConstView<Scalar>& x, const RnnCell<Scalar>& cell, const RowVector<Scalar>& initial) {
    const Index width = cell.width();
    LOCUS_CHECK(cell.recurrent.weight.rows() == width && cell.recurrent.weight.cols() == width,
                "rnn: recurrent is [" + std::to_string(cell.recurrent.weight.rows()) + ", " +
                    std::to_string(cell.recurrent.weight.cols()) + "], expected [" + std::to_string(width) + ", " +
                    std::to_string(width) + "] like the state");
    LOCUS_CHECK(
        initial.size() == 0 || initial.cols() == width,
        "rnn: an initial state of " + std::to_string(initial.cols()) + " channels, expected " + std::to_string(width));
    RnnResult<Scalar> result;
    result.from_input = dense<Scalar>(x, cell.input);  // no step waits for another here; only the state does
    result.from_state.resize(x.rows(), width);
    result.hidden.resize(x.rows(), width);
    RowVector<Scalar> state = initial.size() == 0 ? RowVector<Scalar>::Zero(width).eval() : initial;
    for (Index t = 0; t < x.rows(); ++t) {
        result.from_state.row(t) = dense<Scalar>(state, cell.recurrent);
        state = (result.from_input.row(t) + result.from_state.row(t)).array().tanh();
        result.hidden.row(t) = state;
    }
    return result;
}

template RnnResult<float> rnn<float>(const ConstView<float>&, const RnnCell<float>&, const RowVector<float>&);
template RnnResult<double> rnn<double>(const ConstView<double>&, const RnnCell<double>&, const RowVector<double>&);

}  // namespace locus
