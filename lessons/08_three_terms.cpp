// Lesson 08: Three terms
//
// Question: "deep learning" belong together when they stand side by side.  How can a score know both?
#include "core/attention/disentangled.h"
#include "core/attention/microscope.h"
#include "lessons/print.h"

using namespace locus;

namespace {

/// Scores of one pair: the three terms and what they give.
RowVector<double> pair_of(const HeadTensors<double>& head, const BucketLine& line, Index i, Index j) {
    const auto cell = explain_cell<double>(head, line, P2cIndex::official_ij, 3, i, j);
    RowVector<double> row(6);
    row << static_cast<double>(cell.offset), cell.c2c.value, cell.c2p.value, cell.p2c.value, cell.score,
        cell.probability;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("08", "Three terms");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "A word has a content (what it is) and a position (where it stands from here).  DeBERTa keeps\n"
            "them apart and adds three products:\n"
            "  c2c  q_i \u00b7 k_j           what I look for, what you are\n"
            "  c2p  q_i \u00b7 k_r[\u03b4(i,j)]   what I look for, how far away you are\n"
            "  p2c  k_j \u00b7 q_r[\u03b4(i,j)]   what you are, how far away I am\n"
            "and divides their sum by \u221a(3d).\n");

        // Two channels are enough: channel 0 for meaning, channel 1 for "near and to my left".
        const double deep[] = {2, 0}, other[] = {0, 0.5}, learning[] = {2, 2};
        const Index tokens = 6, span = 4;
        HeadTensors<double> head;
        head.q = head.k = Matrix<double>(tokens, 2);
        // deep learning is so very deep: the second "deep" stands three words behind "learning".
        const double* words[] = {deep, learning, other, other, deep, other};
        for (Index t = 0; t < tokens; ++t) {
            head.q.row(t) << words[t][0], words[t][1];
            head.k.row(t) << words[t][0], 1;
        }
        head.k_r = head.q_r = Matrix<double>::Zero(2 * span, 2);
        head.k_r(span + 1, 1) = 3;   // one to the left: this is where "learning" wants its adjective
        head.k_r(span - 3, 1) = -2;  // three to the right: too far, and on the wrong side
        head.q_r(span + 1, 0) = 1;   // "deep" likes to be asked by its right neighbour
        const BucketLine line = BucketLine::clamped(tokens, tokens, span);

        Matrix<double> pairs(2, 6);
        pairs.row(0) = pair_of(head, line, 1, 0);
        pairs.row(1) = pair_of(head, line, 1, 4);
        lesson.say("\"deep learning is so deep .\": the query \"learning\" meets \"deep\" twice, near and far.\n");
        lesson.show<double>("     i\u2212j     c2c     c2p     p2c   score    prob", pairs, "%8.3f");
        lesson.prove_equal("the content term cannot tell them apart", pairs(0, 1) - pairs(1, 1), 0);
        lesson.prove_equal("c2p of the near one minus c2p of the far one", pairs(0, 2) - pairs(1, 2), 10);
        lesson.prove_equal("p2c of the near one minus p2c of the far one", pairs(0, 3) - pairs(1, 3), 2);
        lesson.prove("probability of the far \"deep\" over that of the near one", pairs(1, 5) / pairs(0, 5), 0.01);

        // The golden vector of the specification, small enough to check on paper.
        const Matrix<double> q{{1, 0}, {0, 1}, {1, 1}}, k{{1, 2}, {0, 1}, {-1, 1}};
        const Matrix<double> k_r{{1, 0}, {0, 1}, {1, 1}, {2, -1}}, q_r{{0, 1}, {1, 0}, {1, -1}, {2, 1}};
        const BucketLine three = BucketLine::clamped(3, 3, 2);
        Matrix<double> terms(3, 9);
        terms << content_to_content<double>(q, k), content_to_position<double>(q, k_r, three),
            position_to_content<double>(k, q_r, three);
        lesson.show<double>("\nOn paper, T = 3, d = 2, k = 2:\n    c2c                c2p                p2c", terms,
                            "%5.0f", 3);
        const Matrix<double> sum = terms.leftCols(3) + terms.middleCols(3, 3) + terms.rightCols(3);
        const Matrix<double> expected{{1, 0, 1}, {5, 1, 1}, {8, 3, 0}};
        lesson.prove("their sum is 1 0 1 / 5 1 1 / 8 3 0", (sum - expected).cwiseAbs().maxCoeff(), 0);
        const Matrix<double> probs = masked_softmax<double>(sum / score_divisor<double>(3, 2), Mask());
        lesson.prove("P(2,0) = 0.856145 after / \u221a6 and softmax", probs(2, 0) - 0.856145, 5e-7);
        lesson.say("\nSource: He et al. 2021, eq. 2 and 4; seeds 000 and 002.");
        lesson.next("core/attention/disentangled.h, locus view --page attention, then locus lesson 9.");
    });
}
