#include "core/models/older/recurrent.h"
#include "tests/files.h"
#include "tests/naive_reference.h"

namespace locus::test::test_rnn {

namespace {

const RnnCell<double> kCell{random_dense(4, 3, 1), random_dense(4, 4, 2)};
const Matrix<double> kX = random_rows(6, 3, 3);

}  // namespace

TEST_CASE("rnn: equals its loops, every intermediate", "[rnn][law]") {
    const RnnResult<double> result = rnn<double>(kX, kCell);
    const RnnResult<float> single =
        rnn<float>(kX.cast<float>(), {{kCell.input.weight.cast<float>(), kCell.input.bias.cast<float>()},
                                      {kCell.recurrent.weight.cast<float>(), kCell.recurrent.bias.cast<float>()}});
    Matrix<double> state = Matrix<double>::Zero(1, 4);
    for (Index t = 0; t < 6; ++t) {
        const Matrix<double> from_input = dumb_dense(kX.row(t), kCell.input);
        const Matrix<double> from_state = dumb_dense(state, kCell.recurrent);
        for (Index n = 0; n < 4; ++n) state(0, n) = std::tanh(from_input(0, n) + from_state(0, n));
        CHECK(distance(result.from_input.row(t), from_input) <= 1e-14);
        CHECK(distance(result.from_state.row(t), from_state) <= 1e-14);
        CHECK(distance(result.hidden.row(t), state) <= 1e-14);
        CHECK(distance(single.hidden.row(t), state) <= 1e-5);
    }
}

TEST_CASE("rnn: a later word never changes an earlier state, an earlier one changes all later", "[rnn][law]") {
    Matrix<double> other = kX;
    other.row(3) *= -1;
    const Matrix<double> a = rnn<double>(kX, kCell).hidden, b = rnn<double>(other, kCell).hidden;
    for (Index t = 0; t < 6; ++t) CHECK((a.row(t) == b.row(t)) == (t < 3));
}

TEST_CASE("rnn: reading in two parts with the state handed on is reading at once", "[rnn][law]") {
    const Matrix<double> whole = rnn<double>(kX, kCell).hidden;
    const RnnResult<double> rest = rnn<double>(kX.bottomRows(4), kCell, whole.row(1));
    CHECK(distance(rest.hidden, whole.bottomRows(4)) <= 1e-15);
}

TEST_CASE("rnn: what does not fit is refused with one sentence", "[rnn][bad input]") {
    RnnCell<double> cell = kCell;
    cell.recurrent = random_dense(4, 3, 5);
    CHECK(refusal([&] { rnn<double>(kX, cell); }, Fault::usage) == "rnn: recurrent is [4, 3], expected [4, 4]");
    CHECK(refusal([] { rnn<double>(kX, kCell, RowVector<double>::Zero(3)); }, Fault::usage) ==
          "rnn: an initial state of 3 channels, expected 4");
    CHECK(refusal([] { rnn<double>(random_rows(6, 2, 3), kCell); }, Fault::usage) ==
          "dense: input of width 2, expected 3");
}

}  // namespace locus::test::test_rnn
