// Lesson 05: Relative position matrix
//
// Question: How does a model say "three words to the left" without knowing where in the sentence it is?
// Before: 04. Minutes: 10. Page: positions.
// Show: positions.kind=clamp&positions.length=8&positions.span=4&positions.cell=5,2&positions.locked=yes
#include "core/positions/relative_buckets.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// Cells of an index matrix that hold this row of the table.
double cells_of_row(const Matrix<double>& index, double row) {
    return static_cast<double>((index.array() == row).count());
}

/// Pairs of `tokens` words for which a rule about i - j holds.
template <class Rule>
double pairs_where(Index tokens, Rule rule) {
    double count = 0;
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j < tokens; ++j) count += rule(i - j);
    return count;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "05", "Relative position matrix",
        "How does a model say \"three words to the left\" without knowing where in the sentence it is?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "You stand in a queue at the airport. \"I am number 47\" says little. \"Two people are in front of me\" "
            "says when it is your turn, and it stays true wherever the queue stands. So let query i ask about key j "
            "by the distance i \u2212 j: positive means j lies to the left. The model learns a table of 2k rows, one "
            "vector for each distance from \u2212k to k \u2212 1; k is called the span, and \u03b4(i,j) is the row "
            "that a "
            "pair uses.");

        // Distances are negative on one side, and rows of a table are not.  Adding k moves them up.
        const RelativeBuckets seven = RelativeBuckets::clamped(7, 7, 7);
        const Matrix<double> index = lesson::as_matrix(seven.matrix());
        lesson.show("\u03b4(i,j) = i \u2212 j + k for seven words and k = 7, rows 0 \u2026 13 of the table:", index,
                    "%4.0f");

        // Every diagonal holds one number, so a line of 2T - 1 numbers is the whole matrix.
        const Matrix<double> here = index.bottomRightCorner(6, 6), before = index.topLeftCorner(6, 6);
        lesson.prove_equal("largest minus smallest of the first row; the review calls this k, which is 7",
                           index(0, 0) - index(0, 6), 6);
        lesson.prove_equal("cells that differ from their neighbour on the diagonal",
                           static_cast<double>((here.array() != before.array()).count()), 0);
        lesson.prove_equal("numbers in a line that replace the 49 cells", static_cast<double>(seven.rows().size()), 13);

        lesson.say(
            "With more than k words, far distances share a row: they are clamped. The clamp is not symmetric: row 0 "
            "serves i \u2212 j = \u2212k and beyond, row 2k \u2212 1 serves k \u2212 1 and beyond.");
        const RelativeBuckets three = RelativeBuckets::clamped(7, 7, 3);
        const Matrix<double> clamped = lesson::as_matrix(three.matrix());
        lesson.show("the same seven words with k = 3, a table of 6 rows:", clamped, "%4.0f");
        lesson.prove_equal("cells that share row 2k \u2212 1 = 5", cells_of_row(clamped, 5),
                           pairs_where(7, [](Index offset) { return offset >= 2; }));
        const std::string printed =
            lesson.number("printed rule", pairs_where(7, [](Index offset) { return offset <= 3; }));
        lesson.correct("qcqced123, DeBERTa", "\u03b4(i,j) = 0 where i \u2212 j \u2264 k",
                       "\u03b4(i,j) = 0 where i \u2212 j \u2264 \u2212k");
        lesson.prove_equal("cells of row 0, of 49; the printed rule gives " + printed, cells_of_row(clamped, 0),
                           pairs_where(7, [](Index offset) { return offset <= -3; }));

        double mirror = 0;
        for (Index i = 0; i < 7; ++i)
            for (Index j = 0; j < 7; ++j) mirror += three.row(j, i) != 6 - three.row(i, j);
        lesson.prove_equal("cells where \u03b4(j,i) = 2k \u2212 \u03b4(i,j) fails because of the clamp", mirror, 20);

        lesson.ask("k = 3. Which row serves the query at word 5 and the key at word 2?",
                   static_cast<double>(three.row(5, 2)), 0,
                   "5 \u2212 2 + 3 = 6 is one too many, so the last row serves.");
        lesson.ask("512 words, k = 512: how many numbers replace the index matrix?",
                   static_cast<double>(RelativeBuckets::clamped(512, 512, 512).rows().size()), 0,
                   "One per offset from \u2212511 to 511.");
        lesson.ask("Seven words, k = 3: how many cells of 49 would the printed rule send to row 0?",
                   pairs_where(7, [](Index offset) { return offset <= 3; }), 0, "All but the six with i \u2212 j > 3.");

        lesson.exercise(
            "With seven words and k = 2, how many different offsets does each row serve, and which rows serve "
            "one only?",
            [&] {
                const RelativeBuckets two = RelativeBuckets::clamped(7, 7, 2);
                lesson.show("k = 2:", lesson::as_matrix(two.matrix()), "%4.0f");
                std::vector<double> offsets(4);
                for (const Index row : two.rows()) ++offsets[static_cast<std::size_t>(row)];
                lesson.bars("offsets per row:", {"row 0", "row 1", "row 2", "row 3"}, offsets, "%.0f");
                lesson.prove_equal("offsets of the two middle rows together", offsets[1] + offsets[2], 2);
                lesson.prove_equal("offsets of all rows", offsets[0] + offsets[1] + offsets[2] + offsets[3], 13);
            });
        lesson.end({{"core/positions/relative_buckets.h", "RelativeBuckets"}},
                   "He et al. 2021, eq. 3; qcqced123 and joowan1108, DeBERTa.", "06");
    });
}
