// Lesson 05: Relative position matrix
//
// Question: how does a model say "three words to the left" without knowing where in the sentence it is?
#include "core/positions/relative_buckets.h"
#include "lessons/print.h"

using namespace locus;

int main(int argc, char** argv) {
    lesson::Lesson lesson("05", "Relative position matrix");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "You stand in a queue at the airport.  \"I am number 47\" says little.  \"Two people are in\n"
            "front of me\" says when it is your turn, and it stays true wherever the queue stands.\n"
            "So let query i ask about key j by the distance i \u2212 j: positive means j lies to the left.\n");

        // Distances are negative on one side, and rows of a table are not.  Adding k moves them up.
        const BucketLine seven = BucketLine::clamped(7, 7, 7);
        const Matrix<double> index = lesson::as_matrix(seven.matrix());
        lesson.show<double>("\u03b4(i,j) = i \u2212 j + 7 for seven words, a table of 2k = 14 rows:", index, "%4.0f");

        // Every diagonal holds one number, so a line of 2T - 1 numbers is the whole matrix.
        double unequal = 0;
        for (Index i = 1; i < 7; ++i)
            for (Index j = 1; j < 7; ++j) unequal += index(i, j) != index(i - 1, j - 1);
        lesson.prove_equal("the first row runs from 7 down to 1", index(0, 0) - index(0, 6), 6);
        lesson.prove_equal("the last row begins at 13", index(6, 0), 13);
        lesson.prove_equal("cells that differ from their neighbour on the diagonal", unequal, 0);
        lesson.prove_equal("numbers that replace the 49 cells", static_cast<double>(seven.rows().size()), 13);

        lesson.say(
            "\nWith more words than rows, far is just far: distances are clamped.  The clamp is not\n"
            "symmetric: row 0 serves i \u2212 j = \u2212k and beyond, row 2k \u2212 1 serves k \u2212 1 and beyond.\n");
        const BucketLine three = BucketLine::clamped(7, 7, 3);
        const Matrix<double> clamped = lesson::as_matrix(three.matrix());
        lesson.show<double>("the same seven words with k = 3:", clamped, "%4.0f");
        lesson.prove_equal("row 0 is used by so many pairs", static_cast<double>((clamped.array() == 0).count()), 10);
        lesson.prove_equal("row 2k \u2212 1 = 5 by so many", static_cast<double>((clamped.array() == 5).count()), 15);

        double mirror_inside = 0, mirror_clamped = 0;
        for (Index i = 0; i < 7; ++i)
            for (Index j = 0; j < 7; ++j) {
                mirror_inside += seven.row(j, i) != 14 - seven.row(i, j);
                mirror_clamped += three.row(j, i) != 6 - three.row(i, j);
            }
        lesson.prove_equal("without clamping \u03b4(j,i) = 2k \u2212 \u03b4(i,j); exceptions", mirror_inside, 0);
        lesson.prove_equal("with clamping that breaks, for so many cells", mirror_clamped, 20);
        lesson.say(
            "\nSource: the seed prints the first case as i \u2212 j \u2264 k \u2192 0; it must be i \u2212 j \u2264 "
            "\u2212k, else\n"
            "every near word would share row 0.  He et al. 2021, eq. 3; seed 000.");
        lesson.next("core/positions/relative_buckets.h (BucketLine), then locus lesson 7.");
    });
}
