// Lesson 19: Two RoPE layouts
//
// Question: Two RoPE programs pair channels differently. Why does a port with the wrong one pass its tests?
// Before: 17. Minutes: 10. Page: rope.
// Show: rope.layout=half-split
#include <cmath>
#include <functional>
#include <limits>

#include "core/positions/rotary.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

constexpr auto kInterleaved = RotaryLayout::interleaved, kHalf = RotaryLayout::half_split;
constexpr double kEps = std::numeric_limits<double>::epsilon();

using Rotation = std::function<Matrix<double>(const Matrix<double>& x, Index first)>;

/// Rotates row m by position first + m, or with the sign of every sine wrong.
Rotation rotation(RotaryLayout layout, bool wrong_sign = false) {
    return [=](const Matrix<double>& x, Index first) {
        const auto table = rotary_table<double>(inverse_frequencies(x.cols()), first, x.rows());
        return wrong_sign ? rotate_back<double>(x, table, layout) : rotate<double>(x, table, layout);
    };
}

/// A program: how it rotates queries and keys, and the words that it has made into both.
struct Port {
    Rotation rotate_q, rotate_k;
    Matrix<double> q, k;

    Matrix<double> scores(Index first) const {
        return products_of_rows<double>(rotate_q(q, first), rotate_k(k, first));
    }
};

double largest(const Matrix<double>& difference) { return difference.cwiseAbs().maxCoeff(); }

/// Largest change of a score when all words move on by 100 positions.
double shift_change(const Port& port) { return largest(port.scores(100) - port.scores(0)); }

/// Largest change of the length of a query.
double length_change(const Port& port) {
    return largest(port.rotate_q(port.q, 100).rowwise().norm() - port.q.rowwise().norm());
}

/// Hugging Face's conversion of Meta's Llama weights (convert_llama_weights_to_hf.py, permute): the d rows of a head
/// are viewed as [d/2, 2] and transposed.  How many rows does half_split_order put elsewhere?
double rows_moved_otherwise(Index d) {
    const std::vector<Index> order = half_split_order(d);
    double count = 0;
    for (Index side = 0; side < 2; ++side)
        for (Index t = 0; t < d / 2; ++t) count += order[static_cast<std::size_t>(side * (d / 2) + t)] != 2 * t + side;
    return count;
}

/// "0, 2, 4"
std::string listed(const std::vector<Index>& order) {
    std::string text;
    for (const Index c : order) text += (text.empty() ? "" : ", ") + std::to_string(c);
    return text;
}

std::string verdict(bool passes) { return passes ? "passes" : "FAILS"; }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "19", "Two RoPE layouts",
        "Two RoPE programs pair channels differently. Why does a port with the wrong one pass its tests?");
    return lesson.run(argc, argv, [&] {
        const Index d = 8, tokens = 5;
        lesson.say(
            "RoFormer, GPT-J and Meta's own Llama rotate neighbours together: channels 0 and 1, 2 and 3 "
            "(interleaved).  GPT-NeoX pairs the channels t and t + d/2 (half split), and so does Llama at Hugging "
            "Face, whose conversion moves the rows of the weights.  Both are rotations.  One row at position 1:");
        Matrix<double> ramp(3, d);
        for (Index c = 0; c < d; ++c) ramp(0, c) = static_cast<double>(c + 1);
        ramp.row(1) = rotation(kInterleaved)(ramp.row(0), 1);
        ramp.row(2) = rotation(kHalf)(ramp.row(0), 1);
        lesson.show("x, then x interleaved, then x half split", ramp, "%8.3f");

        // y = W x, so the rows of W are the channels of y; half split wants them in another order.
        const std::vector<Index> order = half_split_order(d);
        lesson::Seeded seeded(19);
        const Matrix<double> words = seeded.matrix(tokens, d), w_q = seeded.matrix(d, d), w_k = seeded.matrix(d, d);
        const Matrix<double> q = products_of_rows<double>(words, w_q), k = products_of_rows<double>(words, w_k);
        const Matrix<double> q_half = products_of_rows<double>(words, Matrix<double>(w_q(order, Eigen::all)));
        const Matrix<double> k_half = products_of_rows<double>(words, Matrix<double>(w_k(order, Eigen::all)));
        const Rotation inter = rotation(kInterleaved), half = rotation(kHalf), back = rotation(kInterleaved, true);
        const Port right{inter, inter, q, k}, moved{half, half, q_half, k_half}, wrong{half, half, q, k},
            sign{back, back, q, k}, mixed{inter, half, q, k};
        lesson.say(
            "Weights belong to one layout.  To run those of the first with the second, put the rows of W_q and W_k in "
            "the order " +
            listed(order) + ".  Five words, weights made for the first, three programs:");
        const Matrix<double> golden = right.scores(0);
        lesson.heatmaps(
            {{"interleaved: right", golden}, {"half, rows moved", moved.scores(0)}, {"half: wrong", wrong.scores(0)}});

        // Rounding of a score: sums of d, 12 half eps for rotating, one for each radian of angles up to 104; both
        // sides.
        const double size = q.rowwise().norm().maxCoeff() * k.rowwise().norm().maxCoeff();
        const double rounding = kEps * (d + 12 + 2 * 104) * size;
        const Matrix<double> in_order = inter(q, 0)(Eigen::all, order);
        lesson.prove_equal("d = 128: rows that Hugging Face's conversion of Llama does not move as this order says",
                           rows_moved_otherwise(128), 0);
        lesson.prove_equal("rows moved: rotated queries that are not the right ones in that order, of 40 cells",
                           static_cast<double>((half(q_half, 0).array() != in_order.array()).count()), 0);
        lesson.prove("rows moved: largest difference from the right scores", largest(moved.scores(0) - golden),
                     rounding);
        lesson.prove_equal("rows not moved: scores of 25 that are wrong",
                           static_cast<double>(((wrong.scores(0) - golden).array().abs() > rounding).count()), 20);
        lesson.say(
            "The five that are right are the diagonal: there both are rotated alike.  Now the tests that people "
            "write:");
        std::vector<std::vector<std::string>> table = {{"test", "right", "half", "−sine", "q, k differ"},
                                                       {"every length is kept"},
                                                       {"position 0 changes nothing"},
                                                       {"moved by 100: same scores"},
                                                       {"scores as in the golden file"}};
        for (const Port* port : {&right, &wrong, &sign, &mixed}) {
            table[1].push_back(verdict(length_change(*port) <= rounding));
            table[2].push_back(
                verdict(port->rotate_q(q, 0).row(0) == q.row(0) && port->rotate_k(k, 0).row(0) == k.row(0)));
            table[3].push_back(verdict(shift_change(*port) <= rounding));
            table[4].push_back(verdict(largest(port->scores(0) - golden) <= rounding));
        }
        lesson.table("Four programs with the same weights (−sine: the sign of every sine is wrong)", table);
        lesson.prove("half, rows not moved: change by the shift", shift_change(wrong), rounding);
        lesson.prove("sine with the wrong sign: change by the shift", shift_change(sign), rounding);
        lesson.prove_at_least("q and k rotated differently: change by the shift, as a multiple of that bound",
                              shift_change(mixed) / rounding, 1e6);
        lesson.prove_at_least("half, rows not moved: largest error of a score, as a multiple of that bound",
                              largest(wrong.scores(0) - golden) / rounding, 1e6);
        lesson.say(
            "Only numbers of somebody else's program see the first two mistakes.  That is what golden files are for.");

        RowVector<double> one = RowVector<double>::Zero(64);
        one[5] = 1;
        Matrix<double> rotated = half(one, 1);
        rotated(0, 5) = 0;  // what remains lies in the other channel
        Index partner = 0;
        rotated.row(0).cwiseAbs().maxCoeff(&partner);
        lesson.ask("d = 64, half split: which channel is rotated together with channel 5?",
                   static_cast<double>(partner), 0, "t and t + d/2: 5 and 37.");
        Index seeing = 0;
        while (seeing < 3 && table[static_cast<std::size_t>(seeing) + 1][2] != "FAILS") ++seeing;
        lesson.choose("Which test sees interleaved weights in a half-split program?",
                      {table[1][0], table[2][0], table[3][0], table[4][0]}, seeing,
                      "The others are true for every rotation by mθ, whatever it pairs.");
        lesson.exercise("Two heads of 4 channels share one W_q of 8 rows.  Which rows move where?", [&] {
            const std::vector<Index> one_head = half_split_order(4);
            std::vector<Index> by_head, whole = half_split_order(8);
            for (const Index head : {0, 4})
                for (const Index c : one_head) by_head.push_back(head + c);
            lesson.say("  head by head      " + listed(by_head) + "\n  not all at once   " + listed(whole));
            double right_error = 0, wrong_error = 0;
            for (const Index head : {0, 4}) {
                const Matrix<double> expected = inter(q.middleCols(head, 4), 0)(Eigen::all, one_head);
                const Matrix<double> good = q(Eigen::all, by_head), bad = q(Eigen::all, whole);
                right_error = std::max(right_error, largest(half(good.middleCols(head, 4), 0) - expected));
                wrong_error = std::max(wrong_error, largest(half(bad.middleCols(head, 4), 0) - expected));
            }
            lesson.prove_equal("head by head: largest difference", right_error, 0);
            lesson.prove_at_least("all at once: largest difference, as a multiple of rounding", wrong_error / rounding,
                                  1e6);
        });
        lesson.end({{"core/positions/rotary.h", "half_split_order"}, {"core/positions/rotary.h", "rotate"}},
                   "Su et al. 2021, eq. 34; qcqced123, RoFormer (code); transformers #25199.", "20");
    });
}
