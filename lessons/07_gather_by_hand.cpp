// Lesson 07: Gather by hand
//
// Question: What does torch.gather do in DeBERTa, and why does nobody need it?
// Before: 05. Minutes: 10. Page: positions.
// Show: positions.kind=clamp&positions.length=7&positions.span=7&positions.cell=3,6&positions.locked=yes
#include "core/attention/disentangled.h"
#include "core/positions/relative_buckets.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// The numbers of qcqced123's review: seven queries against the fourteen rows of the relative table, q . k_r^T.
Matrix<double> products_of_the_review() {
    return Matrix<double>{{2.8118, 0.8449, -0.6240, -0.6516, 3.4009, 1.8296, 0.8304, 1.0164, 3.5664, -1.4208, -2.0821,
                           1.5752, -0.9469, -7.1767},
                          {-2.1907, -3.2801, -2.0628, 0.4443, 2.2272, -5.6653, -4.6036, 1.4134, -1.1742, -0.3361,
                           -0.4586, -1.1827, 1.0878, -2.5657},
                          {-4.8952, -1.5330, 0.0251, 3.5001, 4.1619, 1.7408, -0.5100, -3.4616, -1.6101, -1.8741, 1.1404,
                           4.9860, -2.5350, 1.0999},
                          {-3.3437, 4.2276, 0.4509, -1.8911, -1.1069, 0.9540, 1.2045, 2.2194, -2.6509, -1.4076, 5.1599,
                           1.6591, 3.8764, 2.5126},
                          {0.8164, -1.9171, 0.8217, 1.3953, 1.6260, 3.8104, -1.0303, -2.1631, 3.9008, 0.5856, -1.6212,
                           1.7220, 2.7997, -1.8802},
                          {3.4473, 0.9721, 3.9137, -3.2055, 0.6963, 1.2761, -0.2266, -3.7274, -1.4928, -1.9257, -5.4422,
                           -1.8544, 1.8749, -3.4923},
                          {2.6639, -1.4392, -3.8818, -1.4120, 1.7542, -0.8774, -3.0795, -1.2156, -1.0852, 3.7825,
                           -3.5581, -3.6989, -2.6705, -1.2262}};
}

/// What the review prints after its gather.
Matrix<double> printed_by_the_review() {
    return Matrix<double>{{1.0164, 0.8304, 1.8296, 3.4009, -0.6516, -0.6240, 0.8449},
                          {-1.1742, 1.4134, -4.6036, -5.6653, 2.2272, 0.4443, -2.0628},
                          {-1.8741, -1.6101, -3.4616, -0.5100, 1.7408, 4.1619, 3.5001},
                          {5.1599, -1.4076, -2.6509, 2.2194, 1.2045, 0.9540, -1.1069},
                          {1.7220, -1.6212, 0.5856, 3.9008, -2.1631, -1.0303, 3.8104},
                          {1.8749, -1.8544, -5.4422, -1.9257, -1.4928, -3.7274, -0.2266},
                          {-1.2262, -2.6705, -3.6989, -3.5581, 3.7825, -1.0852, -1.2156}};
}

/// torch.gather along the last axis: cell (i,j) takes column index(i,j) of row i.
Matrix<double> gathered(const Matrix<double>& products, const RelativeBuckets& buckets) {
    Matrix<double> picked(buckets.queries(), buckets.keys());
    for (Index i = 0; i < picked.rows(); ++i)
        for (Index j = 0; j < picked.cols(); ++j) picked(i, j) = products(i, buckets.row(i, j));
    return picked;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("07", "Gather by hand", "What does torch.gather do in DeBERTa, and why does nobody need it?");
    return lesson.run(argc, argv, [&] {
        const Matrix<double> table = products_of_the_review(), printed = printed_by_the_review();
        lesson.say(
            "The relative table gives rows of keys, k_r, and rows of queries, q_r. Content to position, c2p, asks for "
            "q_i \u00b7 k_r[\u03b4(i,j)]: what query i looks for, and how far away j is. First multiply every query "
            "with every row of the table, then pick for each pair the product that belongs to its distance: that is "
            "torch.gather(products, \u22121, \u03b4), where \u22121 means along each row.");
        lesson.show_signed("every query against every row (example of qcqced123, DeBERTa; rounded here):", table,
                           "%5.1f");

        const RelativeBuckets buckets = RelativeBuckets::clamped(7, 7, 7);
        const Matrix<double> picked = gathered(table, buckets);
        lesson.show_signed("picked: cell (i,j) takes column \u03b4(i,j) = i \u2212 j + 7 of row i:", picked, "%8.4f");
        lesson.prove("all 49 numbers are those the review prints; largest difference",
                     (picked - printed).cwiseAbs().maxCoeff(), 0);

        lesson.say(
            "Look at one row: the columns taken are neighbours, in falling order. No index table is needed; the row "
            "is a slice, read backwards. core/fast/ copies such slices; core/attention/ takes the row of each pair, "
            "as the formula does. To test core/ with these products, let q be the identity and k_r their transpose: "
            "then q \u00b7 k_r\u1d40 are the products.");
        const Matrix<double> slice = table.row(3).segment(4, 7).reverse();
        lesson.prove("row 3 is columns 4 \u2026 10 of the table, backwards; largest difference",
                     (picked.row(3) - slice).cwiseAbs().maxCoeff(), 0);
        const Matrix<double> identity = Matrix<double>::Identity(7, 7), k_r = table.transpose();
        const Matrix<double> c2p = content_to_position<double>(identity, k_r, buckets);
        lesson.prove("content_to_position against the gather", (c2p - printed).cwiseAbs().maxCoeff(), 0);
        lesson.say(
            "Position to content, p2c, is the other way round, k_j \u00b7 q_r[\u03b4(i,j)]: what key j offers, and how "
            "far away i is. Lesson 8 adds the two. In the test the keys are the identity, and k_r stands for q_r:");
        const Matrix<double> p2c = position_to_content<double>(identity, k_r, buckets);
        lesson.prove("p2c takes slices too: column 3 is columns 4 \u2026 10 of row 3, forwards",
                     (p2c.col(3) - table.row(3).segment(4, 7).transpose()).cwiseAbs().maxCoeff(), 0);

        lesson.say(
            "The code of that review gathers p2c rightly, from q_r \u00b7 k\u1d40 (lesson 9). A comment beside it says "
            "that k \u00b7 q_r\u1d40 with the same index matrix \u03b4 gives the same. But there row j belongs to key "
            "j, so the pair (i,j) stands in cell (j,i): its index \u03b4(i,j) must stand there too, and that matrix is "
            "\u03b4 transposed.");
        lesson.correct("qcqced123, comment", "p2c = gather(k \u00b7 q_r\u1d40, \u22121, \u03b4)",
                       "p2c = gather(k \u00b7 q_r\u1d40, \u22121, \u03b4\u1d40)\u1d40");
        // With k the identity, k . q_r^T is the same table as q . k_r^T above.
        const double differing = static_cast<double>((picked.array() != p2c.array()).count());
        lesson.prove_equal("cells of 49 where the printed gather is not p2c", differing, 42);
        lesson.prove("the gather with \u03b4\u1d40, transposed, against p2c",
                     (gathered(table, buckets.mirrored()).transpose() - p2c).cwiseAbs().maxCoeff(), 0);

        lesson.ask("Which column of row 2 does the cell (2, 5) take?", static_cast<double>(buckets.row(2, 5)), 0,
                   "2 \u2212 5 + 7.");
        lesson.ask("How many of the 14 columns does no cell take?",
                   static_cast<double>(table.cols() - static_cast<Index>(buckets.rows().size())), 0,
                   "13 offsets take 13 columns; row 0 of the table waits for i \u2212 j = \u22127.");

        lesson.exercise("Clamp with k = 3. Which cells of row 0 become copies of one number?", [&] {
            const RelativeBuckets three = RelativeBuckets::clamped(7, 7, 3);
            const Matrix<double> near = gathered(table, three);
            lesson.show_signed("picked with k = 3, columns 0 \u2026 5:", near, "%8.4f");
            lesson.prove_equal("cells of row 0 that hold the first column",
                               static_cast<double>((near.row(0).array() == table(0, 0)).count()), 4);
        });
        lesson.end(
            {{"core/fast/slices.h", "add_slices_by_query"}, {"core/attention/disentangled.h", "content_to_position"}},
            "He et al. 2021, eq. 4; microsoft/DeBERTa disentangled_attention.py; qcqced123, DeBERTa.", "08");
    });
}
