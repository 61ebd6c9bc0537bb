// Lesson 15: One rotation
//
// Question: How can a position mark a vector without making it longer or shorter?
// Before: 04. Minutes: 8. Page: rope.
// Show: rope.m=7&rope.n=2
#include <cmath>
#include <limits>
#include <numbers>

#include "core/positions/rotary.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

constexpr auto kLayout = RotaryLayout::interleaved;
constexpr double kEps = std::numeric_limits<double>::epsilon();

/// x at positions 0 ... count - 1, one rotated copy a row.
Matrix<double> rotated_copies(const RowVector<double>& x, double theta, Index count) {
    const Matrix<double> copies = x.replicate(count, 1);
    return rotate<double>(copies, rotary_table<double>({theta}, 0, count), kLayout);
}

/// R_m for one pair of channels and one radian a position; m may be negative.
Matrix<double> matrix_of(Index m) { return rotation_matrix<double>(rotary_table<double>({1.0}, m, 1), 0, kLayout); }

/// A column of a matrix as the numbers of a plot.
std::vector<double> column(const Matrix<double>& matrix, Index c) {
    std::vector<double> values;
    for (Index m = 0; m < matrix.rows(); ++m) values.push_back(matrix(m, c));
    return values;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("15", "One rotation",
                          "How can a position mark a vector without making it longer or shorter?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "Lesson 4 added a position to a word.  The sum has another length than the word, so the position also "
            "changes how much the word weighs in a score.  RoFormer multiplies instead: the word at position m is "
            "rotated by the "
            "angle mθ.  For a vector of two numbers (channels) that is a product with\n"
            "  R_m = | cos mθ  −sin mθ |        y1 = x1 cos mθ − x2 sin mθ\n"
            "        | sin mθ   cos mθ |        y2 = x2 cos mθ + x1 sin mθ\n"
            "θ is the angle of one step.  Here θ = 1 radian (57.3 degrees), and the word is x = (2, 1).");

        const Index count = 6;
        const RowVector<double> x{{2, 1}}, level{{2, 0}};  // `level` lies along the first axis
        const Matrix<double> y = rotated_copies(x, 1, count);
        const double length = x.norm();
        std::vector<std::vector<std::string>> rows = {{"m", "angle mθ", "y1", "y2", "length of y"}};
        double length_change = 0;
        for (Index m = 0; m < count; ++m) {
            length_change = std::max(length_change, std::abs(y.row(m).norm() - length));
            rows.push_back({std::to_string(m), lesson::text_of(static_cast<double>(m), "%.1f"),
                            lesson::text_of(y(m, 0), "%.3f"), lesson::text_of(y(m, 1), "%.3f"),
                            lesson::text_of(y.row(m).norm(), "%.3f")});
        }
        lesson.table("The same word at six positions", rows);
        // Sine and cosine carry one rounding, each product and the sum one: 4 half eps a channel, then the norm.
        lesson.prove("largest change of the length in the table", length_change, 5 * kEps * length);

        // Two rotations are one by the sum of the angles, and the transpose is the inverse.
        const Matrix<double> r_2 = matrix_of(2), r_3 = matrix_of(3), back = r_3.transpose();
        lesson.prove("a rotation by 3, then by 2, is one by 5: R_2 R_3 = R_5, largest difference",
                     (r_2 * r_3 - matrix_of(5)).cwiseAbs().maxCoeff(), 4 * kEps);
        lesson.prove("the transpose rotates back: R_3ᵀ R_3 changes nothing, largest difference",
                     (back * r_3 - Matrix<double>::Identity(2, 2)).cwiseAbs().maxCoeff(), 4 * kEps);

        lesson.say(
            "Which way round?  With the minus above the diagonal a larger m rotates counterclockwise.  The review "
            "prints "
            "it below first, and above when it comes to more channels.  Both in a plot:");
        lesson.correct("qcqced123, RoFormer", "−sin mθ below the diagonal, which is R_mᵀ",
                       "−sin mθ above the diagonal, which is R_m");
        Matrix<double> printed(4, 2);
        for (Index m = 0; m < 4; ++m) printed.row(m) = level * matrix_of(m);  // R_mᵀ as a product with a row
        const Matrix<double> right = rotated_copies(level, 1, 4);
        lesson.curves("The word (2, 0) at m = 0, 1, 2, 3, from the right end to the left", "y1", column(right, 0), "y2",
                      {{"R_m, counterclockwise", 'R', column(right, 1)}, {"R_mᵀ, clockwise", 'T', column(printed, 1)}},
                      14);
        const Matrix<double> printed_1 = matrix_of(1).transpose();
        lesson.prove("angle of (2, 0) at m = 1, right: radians away from +1", std::atan2(right(1, 1), right(1, 0)) - 1,
                     2 * kEps);
        lesson.prove("angle of (2, 0) at m = 1, printed: radians away from −1",
                     std::atan2(printed(1, 1), printed(1, 0)) + 1, 2 * kEps);
        lesson.prove_equal("cells of the printed matrix for m = 1 that differ from R of position −1",
                           static_cast<double>((printed_1.array() != matrix_of(-1).array()).count()), 0);
        lesson.say(
            "So the printed matrix counts positions backwards.  Used for all words it still makes a model that can "
            "learn, but weights trained with the other sign do not fit it (lesson 19).");

        const Matrix<double> quarter = rotated_copies(RowVector<double>{{0, 2}}, std::numbers::pi / 2, 2);
        lesson.ask("θ is a right angle, π/2.  The word (0, 2) stands at position 1.  What is its first channel?",
                   std::round(quarter(1, 0)), 1e-6, "Counterclockwise, up becomes left: (0, 2) becomes (−2, 0).");
        Index longest = 0;
        for (Index m = 1; m < count; ++m)
            if (y.row(m).norm() > y.row(longest).norm() + 5 * kEps * length) longest = m;
        lesson.choose("At which position of the table is the word longest?",
                      {"m = 5", "m = 1", "at none, they are the same"},
                      longest == 0   ? 2
                      : longest == 1 ? 1
                                     : 0,
                      "A rotation changes the direction and never the length.");
        lesson.exercise(
            "Take θ = π/2.  Where is the word (2, 1) at positions 0 to 5, and which position looks like 0?", [&] {
                const Matrix<double> path = rotated_copies(x, std::numbers::pi / 2, 6);
                lesson.show("y1 and y2 at m = 0 … 5, one position a row", path, "%8.3f");
                // The angle 2π itself is rounded to half an eps of 6.28.
                lesson.prove("position 4 and position 0: largest difference",
                             (path.row(4) - path.row(0)).cwiseAbs().maxCoeff(),
                             (5 + 6.3 / 2) * kEps * path.row(0).norm());
                lesson.say(
                    "One pair of channels repeats itself.  Lesson 16 therefore takes many, each with its own θ.");
            });
        lesson.end({{"core/positions/rotary.h", "rotate"}, {"core/positions/rotary.h", "rotation_matrix"}},
                   "Su et al. 2021, eq. 13 and 15; qcqced123, RoFormer.", "16");
    });
}
