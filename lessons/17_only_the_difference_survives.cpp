// Lesson 17: Only n − m survives
//
// Question: Each word is rotated by its own position. Why does a score know only the distance of two?
// Before: 16. Minutes: 10. Page: rope.
// Show: rope.m=7&rope.n=2&rope.shift=6
#include <cmath>
#include <limits>

#include "core/positions/rotary.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

constexpr auto kLayout = RotaryLayout::interleaved;
constexpr double kEps = std::numeric_limits<double>::epsilon();

/// Scores of the same query with the same key, both at every position of the table.
template <class Scalar>
Matrix<double> scores_with(const RotaryTable<Scalar>& table, const RowVector<double>& q, const RowVector<double>& k) {
    const Matrix<Scalar> queries = q.replicate(table.length(), 1).template cast<Scalar>();
    const Matrix<Scalar> keys = k.replicate(table.length(), 1).template cast<Scalar>();
    return products_of_rows<Scalar>(rotate<Scalar>(queries, table, kLayout), rotate<Scalar>(keys, table, kLayout))
        .template cast<double>();
}

/// The angles computed in float, as hurried programs do; core computes them in double and rounds sine and cosine once.
RotaryTable<float> hurried_table(const std::vector<double>& theta, Index first, Index count) {
    RotaryTable<float> table = rotary_table<float>(theta, first, count);
    for (Index m = 0; m < count; ++m)
        for (Index t = 0; t < table.sin.cols(); ++t) {
            const float angle = static_cast<float>(first + m) * static_cast<float>(theta[static_cast<std::size_t>(t)]);
            table.sin(m, t) = std::sin(angle);
            table.cos(m, t) = std::cos(angle);
        }
    return table;
}

/// R_p as a matrix; p may be negative.
Matrix<double> matrix_of(Index p, Index width) {
    return rotation_matrix<double>(rotary_table<double>(inverse_frequencies(width), p, 1), 0, kLayout);
}

/// q^T R_{n-m} k for every m and n: one rotation, by the distance.
Matrix<double> scores_by_distance(const RowVector<double>& q, const RowVector<double>& k, Index count) {
    Matrix<double> scores(count, count);
    for (Index m = 0; m < count; ++m)
        for (Index n = 0; n < count; ++n)
            scores(m, n) = times_transposed<double>(q, times_transposed<double>(k, matrix_of(n - m, q.size())))(0, 0);
    return scores;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("17", "Only n − m survives",
                          "Each word is rotated by its own position. Why does a score know only the distance of two?");
    return lesson.run(argc, argv, [&] {
        const Index count = 6, d = 8;
        const std::vector<double> theta = inverse_frequencies(d);
        lesson::Seeded seeded(17);
        const RowVector<double> q = seeded.matrix(1, d), k = seeded.matrix(1, d);
        lesson.say(
            "A score is the product of a query q and a key k.  Rotate the query by its position m and the key by its "
            "position n.  The transpose of a rotation rotates back (lesson 15), so\n"
            "  (R_m q)·(R_n k) = qᵀ R_mᵀ R_n k = qᵀ R_{n−m} k\n"
            "and m and n are gone but for their difference.  The same q and k (d = 8) at six positions each; on the "
            "right the sinusoids of lesson 4 are added to them instead:");
        const Matrix<double> rotated = scores_with(rotary_table<double>(theta, 0, count), q, k);
        const Matrix<double> positions = sinusoidal_table<double>(count, d, SinusoidLayout::interleaved);
        const Matrix<double> added = products_of_rows<double>(q.replicate(count, 1) + positions,  //
                                                              k.replicate(count, 1) + positions);
        Matrix<double> both(count, 2 * count);
        both << rotated, added;
        lesson.show_signed("  rotated: rows m, columns n" + std::string(14, ' ') + "added: rows m, columns n", both,
                           "%6.2f", count);

        // Half eps each: 12 for rotating two vectors, d for the sum, one for each radian of the angles; on both sides.
        const double rounding = kEps * (d + 2 * count + 12) * q.norm() * k.norm();
        const Matrix<double> by_distance = scores_by_distance(q, k, count);
        lesson.prove("one rotation by n − m gives the table on the left: largest difference",
                     (rotated - by_distance).cwiseAbs().maxCoeff(), rounding);
        lesson.prove("the same in float",
                     (scores_with(rotary_table<float>(theta, 0, count), q, k) - by_distance).cwiseAbs().maxCoeff(),
                     1e-6);
        const Matrix<double> steps = added.bottomRightCorner(5, 5) - added.topLeftCorner(5, 5);
        lesson.prove_at_least("largest step along a diagonal on the right, as a multiple of the first bound",
                              steps.cwiseAbs().maxCoeff() / rounding, 1e6);

        lesson.say(
            "In a pair of channels the upper left cell of R_mᵀ R_n is cos a cos b + sin a sin b with a = mθ, b = nθ, "
            "and that is cos(b − a).  qcqced123 has a minus there, which makes it cos(a + b).  From position 0 both "
            "are the same number, so look further:");
        lesson.correct("qcqced123, R_{n−m}", "cos a cos b − sin a sin b", "cos a cos b + sin a sin b");
        std::vector<std::vector<std::string>> rows = {{"m", "n", "n − m", "as printed", "right", "cell of R_{n−m}"}};
        double right_error = 0, sum_error = 0;
        for (Index m = 0; m < 4; ++m) {
            const auto a = static_cast<double>(m), b = a + 2;  // two steps apart; the first θ is 1
            const double printed = std::cos(a) * std::cos(b) - std::sin(a) * std::sin(b);
            const double right = std::cos(a) * std::cos(b) + std::sin(a) * std::sin(b);
            const double cell = matrix_of(2, d)(0, 0);
            right_error = std::max(right_error, std::abs(right - cell));
            sum_error = std::max(sum_error, std::abs(printed - std::cos(a + b)));
            rows.push_back({std::to_string(m), std::to_string(m + 2), "2", lesson::text_of(printed, "%.4f"),
                            lesson::text_of(right, "%.4f"), lesson::text_of(cell, "%.4f")});
        }
        lesson.table("Four pairs of words, two steps apart each", rows);
        // Four values of sine and cosine, two products and a sum, each at most 1: 8 half eps.
        lesson.prove("right minus the cell, largest of the four", right_error, 4 * kEps);
        lesson.prove("printed minus cos((m + n)θ), largest of the four", sum_error, 4 * kEps);

        const Matrix<double> w_q = seeded.matrix(d, d), w_k = seeded.matrix(d, d);
        const Matrix<double> x_m = seeded.matrix(d, 1), x_n = seeded.matrix(d, 1);
        const Matrix<double> r_3 = matrix_of(3, d);
        const Matrix<double> q_m = times<double>(w_q, x_m), k_n = times<double>(w_k, x_n);
        const double left =
            transposed_times<double>(times<double>(matrix_of(2, d), q_m), times<double>(matrix_of(5, d), k_n))(0, 0);
        const double right = transposed_times<double>(q_m, times<double>(r_3, k_n))(0, 0);
        const double printed = transposed_times<double>(x_m, times<double>(w_q, times<double>(r_3, k_n)))(0, 0);
        lesson.say(
            "A query is made from a word x_m by a matrix, q = W_q x_m (x_m is a column here; in other lessons a row, q "
            "= x W_q\u1d40).  qcqced123's eq. (6) forgets an index and a "
            "transpose.  One pair, m = 2, n = 5: the score (R_m W_q x_m) · (R_n W_k x_n) (eq. 5) is " +
            lesson::text_of(left, "%.3f") + ", as printed (with x_m) " + lesson::text_of(printed, "%.3f") + ".");
        lesson.correct("qcqced123, eq. (6)", "xᵀ W_q R_{n−m} W_k x_n", "x_mᵀ W_qᵀ R_{n−m} W_k x_n");
        // Four products with sums of d follow one another, each at most as large as the product of all sizes.
        const double bound = kEps * (4 * d + 12 + 10) * x_m.norm() * w_q.norm() * w_k.norm() * x_n.norm();
        lesson.prove("right minus eq. (5)", right - left, bound);
        lesson.prove_at_least("printed minus eq. (5), as a multiple of that bound", std::abs(printed - left) / bound,
                              1e6);

        Index others = 0, equal = 0;
        for (Index m = 0; m < count; ++m)
            others += m != 1 && std::abs(rotated(m, (m + 2) % count) - rotated(1, 3)) <= 2 * rounding;
        lesson.ask("How many other cells of the left table equal the one of m = 1, n = 3?", static_cast<double>(others),
                   0, "All with n − m = 2: (0, 2), (2, 4) and (3, 5).");
        const double shifts[] = {rotated(1, 4), rotated(4, 1), rotated(4, 5)};
        while (std::abs(shifts[equal] - rotated(2, 5)) > 2 * rounding) ++equal;
        lesson.choose("Which score equals that of m = 2, n = 5?", {"m = 1, n = 4", "m = 4, n = 1", "m = 4, n = 5"},
                      equal, "Three steps to the right; a score for three steps to the left is another one.");
        lesson.exercise(
            "Move both words on by 100000 or 1000000 positions.  Scores are float.  What changes if angles are float "
            "too?",
            [&] {
                std::vector<std::vector<std::string>> moved = {{"moved by", "angles in double", "angles in float"}};
                double largest = 0;
                for (const Index first : {Index(100000), Index(1000000)}) {
                    const Matrix<double> fine = scores_with(rotary_table<float>(theta, first, count), q, k);
                    const Matrix<double> hurried = scores_with(hurried_table(theta, first, count), q, k);
                    largest = std::max(largest, (fine - by_distance).cwiseAbs().maxCoeff());
                    moved.push_back({std::to_string(first),
                                     lesson::text_of((fine - by_distance).cwiseAbs().maxCoeff(), "%.4f"),
                                     lesson::text_of((hurried - by_distance).cwiseAbs().maxCoeff(), "%.4f")});
                }
                lesson.table("Largest change of a score", moved);
                lesson.prove("angles in double: largest change", largest, 1e-6);
            });
        lesson.end({{"core/attention/rotary.h", "rotary_scores"}, {"core/positions/rotary.h", "rotary_table"}},
                   "Su et al. 2021, eq. 16; qcqced123, RoFormer, eq. (5) and (6).", "18");
    });
}
