#include "core/models/older/recurrent.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_lstm {

namespace {

const LstmCell<double> kCell{random_dense(16, 3, 1), random_dense(16, 4, 2)};
const Matrix<double> kX = random_rows(6, 3, 3);

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

/// A cell whose gates are what `bias` [16] says, whatever is read.
LstmCell<double> gates_fixed(double input, double forget, double output) {
    LstmCell<double> cell{{Matrix<double>::Zero(16, 3), RowVector<double>::Zero(16)},
                          {Matrix<double>::Zero(16, 4), RowVector<double>::Zero(16)}};
    cell.input.bias << RowVector<double>::Constant(4, input), RowVector<double>::Constant(4, forget),
        RowVector<double>::Constant(4, 0.7), RowVector<double>::Constant(4, output);
    return cell;
}

}  // namespace

TEST_CASE("lstm: equals its loops, every gate", "[lstm][law]") {
    const LstmState<double> initial{random_rows(1, 4, 4).row(0), random_rows(1, 4, 5).row(0)};
    const LstmResult<double> result = lstm<double>(kX, kCell, initial);
    std::vector<double> h(4), c(4);
    for (Index n = 0; n < 4; ++n) h[n] = initial.hidden[n], c[n] = initial.cell[n];
    for (Index t = 0; t < 6; ++t) {
        double gates[16];
        for (Index r = 0; r < 16; ++r) {
            gates[r] = kCell.input.bias[r] + kCell.recurrent.bias[r];
            for (Index e = 0; e < 3; ++e) gates[r] += kCell.input.weight(r, e) * kX(t, e);
            for (Index n = 0; n < 4; ++n) gates[r] += kCell.recurrent.weight(r, n) * h[n];
        }
        for (Index n = 0; n < 4; ++n) {
            const double i = sigmoid(gates[n]), f = sigmoid(gates[4 + n]), g = std::tanh(gates[8 + n]);
            const double o = sigmoid(gates[12 + n]);
            c[n] = f * c[n] + i * g;
            h[n] = o * std::tanh(c[n]);
            CHECK(std::abs(result.input_gate(t, n) - i) <= 1e-14);
            CHECK(std::abs(result.forget_gate(t, n) - f) <= 1e-14);
            CHECK(std::abs(result.candidate(t, n) - g) <= 1e-14);
            CHECK(std::abs(result.output_gate(t, n) - o) <= 1e-14);
            CHECK(std::abs(result.cell(t, n) - c[n]) <= 1e-14);
            CHECK(std::abs(result.hidden(t, n) - h[n]) <= 1e-14);
        }
    }
    CHECK(result.last().hidden == result.hidden.row(5));
    CHECK(result.last().cell == result.cell.row(5));
}

TEST_CASE("lstm: with forget gate 1 and input gate 0 the cell is kept for ever", "[lstm][law]") {
    // sigma(800) is exactly 1 and sigma(-800) exactly 0 in double.
    const LstmState<double> initial{RowVector<double>::Zero(4), random_rows(1, 4, 6).row(0)};
    const LstmResult<double> kept = lstm<double>(random_rows(200, 3, 7), gates_fixed(-800, 800, 0), initial);
    for (Index t = 0; t < 200; ++t) CHECK(kept.cell.row(t) == initial.cell);
    CHECK(kept.hidden.row(199) == (0.5 * initial.cell.array().tanh()).matrix());
}

TEST_CASE("lstm: with forget gate 0 and input gate 1 the cell is the candidate, with output gate 0 silent",
          "[lstm][law]") {
    const LstmState<double> initial{RowVector<double>::Zero(4), random_rows(1, 4, 6).row(0)};
    const LstmResult<double> fresh = lstm<double>(kX, gates_fixed(800, -800, -800), initial);
    CHECK(fresh.cell == fresh.candidate);
    CHECK(fresh.hidden.isZero(0));
}

TEST_CASE("lstm: reading in two parts with the state handed on is reading at once", "[lstm][law]") {
    const LstmResult<double> whole = lstm<double>(kX, kCell), first = lstm<double>(kX.topRows(2), kCell);
    const LstmResult<double> rest = lstm<double>(kX.bottomRows(4), kCell, first.last());
    CHECK(distance(rest.hidden, whole.hidden.bottomRows(4)) <= 1e-15);
    CHECK(distance(rest.cell, whole.cell.bottomRows(4)) <= 1e-15);
}

TEST_CASE("lstm: both directions of a text are those of the reversed text, exchanged", "[lstm][law]") {
    const LstmCell<double> other{random_dense(16, 3, 8), random_dense(16, 4, 9)};
    const auto there = bidirectional_lstm<double>(kX, kCell, other);
    const auto back = bidirectional_lstm<double>(kX.colwise().reverse().eval(), other, kCell);
    REQUIRE(there.hidden.cols() == 8);
    CHECK(distance(there.hidden.leftCols(4), back.hidden.rightCols(4).colwise().reverse()) <= 1e-15);
    CHECK(distance(there.hidden.rightCols(4), back.hidden.leftCols(4).colwise().reverse()) <= 1e-15);
    CHECK(there.hidden.leftCols(4) == there.forward.hidden);
    CHECK(there.hidden.rightCols(4) == there.backward.hidden);
    // The right one's first row has read everything, its last row one word.
    CHECK(distance(there.backward.cell.row(5), lstm<double>(kX.bottomRows(1), other).cell) <= 1e-15);
}

TEST_CASE("lstm: what does not fit is refused with one sentence", "[lstm][bad input]") {
    const auto sentence = [](const LstmCell<double>& cell, const Matrix<double>& x,
                             const LstmState<double>& initial = {}) {
        return refusal([&] { lstm<double>(x, cell, initial); }, Fault::usage);
    };
    CHECK(sentence({random_dense(15, 3, 1), kCell.recurrent}, kX) ==
          "lstm: input has 15 rows, expected four gates of the same width");
    CHECK(sentence({Dense<double>{}, kCell.recurrent}, kX) ==
          "lstm: input has 0 rows, expected four gates of the same width");
    CHECK(sentence({kCell.input, random_dense(16, 5, 1)}, kX) == "lstm: recurrent is [16, 5], expected [16, 4]");
    CHECK(sentence(kCell, kX, {RowVector<double>::Zero(3), {}}) == "lstm: an initial state of 3 channels, expected 4");
    CHECK(sentence(kCell, random_rows(0, 3, 1)) == "lstm: 0 steps, expected 1 or more");
    CHECK(sentence(kCell, random_rows(6, 2, 1)) == "dense: input of width 2, expected 3");
}

}  // namespace locus::test::test_lstm
