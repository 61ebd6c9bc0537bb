// Lesson 08: Three terms
//
// Question: "deep learning" belong together when they stand side by side. How can a score know both?
// Before: 02, 05, 07. Minutes: 15. Page: attention.
// Show: text=deep+learning+is+so+deep.&layer=2&head=0&cell=2,1
#include <cmath>

#include "core/attention/disentangled.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// "deep learning is so deep .": channel 0 is meaning, channel 1 "near, and to my left".
HeadTensors<double> deep_learning(Index span) {
    HeadTensors<double> head;
    head.q = Matrix<double>{{2, 0}, {2, 2}, {0, 0.5}, {0, 0.5}, {2, 0}, {0, 0.5}};
    head.k = Matrix<double>{{2, 1}, {2, 1}, {0, 1}, {0, 1}, {2, 1}, {0, 1}};
    head.k_r = head.q_r = Matrix<double>::Zero(2 * span, 2);
    head.k_r(span + 1, 1) = 3;   // one to the left: this is where "learning" wants its adjective
    head.k_r(span - 3, 1) = -2;  // three to the right: too far, and on the wrong side
    head.q_r(span + 1, 0) = 1;   // "deep" likes to be asked by its right neighbour
    return head;
}

/// One row of the table: the terms of one pair, and what becomes of them.
std::vector<std::string> row_of(const std::string& name, const CellExplanation<double>& cell) {
    return {name,
            std::to_string(cell.offset),
            lesson::text_of(cell.c2c.value),
            lesson::text_of(cell.c2p.value),
            lesson::text_of(cell.p2c.value),
            lesson::text_of(cell.score, "%.3f"),
            lesson::text_of(cell.probability, "%.3f")};
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("08", "Three terms",
                          "\"deep learning\" belong together when they stand side by side. How can a score know both?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "You send somebody shopping. \"Garlic\" on the list and \"garlic\" on the shelf match: content to content. "
            "The word beside it on your list says which garlic you want; the word beside it on the shelf says which "
            "one it is. DeBERTa keeps content and position apart and adds three products:\n"
            "  c2c  q_i \u00b7 k_j           what I look for, what you are\n"
            "  c2p  q_i \u00b7 k_r[\u03b4(i,j)]   what I look for, how far away you are\n"
            "  p2c  k_j \u00b7 q_r[\u03b4(i,j)]   what you are, how far away I am\n"
            "and divides their sum by \u221a(3d). k_r and q_r are the relative table seen as keys and as queries.");

        const Index tokens = 6, span = 4;
        const HeadTensors<double> head = deep_learning(span);
        const RelativeBuckets buckets = RelativeBuckets::clamped(tokens, tokens, span);
        const auto cell = [&](Index i, Index j) {
            return explain_cell<double>(head, buckets, P2cIndex::official_ij, 3, i, j);
        };
        const CellExplanation<double> near = cell(1, 0), far = cell(1, 4);
        lesson.table(
            "\"deep learning is so deep .\": the query \"learning\" meets \"deep\" twice, near and far (d = 2).",
            {{"pair", "i \u2212 j", "c2c", "c2p", "p2c", "score", "probability"},
             row_of("learning \u2192 first deep", near),
             row_of("learning \u2192 second deep", far)});
        lesson.prove_equal("c2c of the near one minus c2c of the far one: content cannot tell",
                           near.c2c.value - far.c2c.value, 0);
        lesson.prove_equal("c2p of the near one minus c2p of the far one", near.c2p.value - far.c2p.value, 10);
        lesson.prove_equal("p2c of the near one minus p2c of the far one", near.p2c.value - far.p2c.value, 2);
        lesson.prove("p(far) / p(near) minus e to the difference of the scores",
                     far.probability / near.probability - std::exp(far.score - near.score), 1e-15);

        // The golden vector of the specification, small enough to check on paper.
        const Matrix<double> q{{1, 0}, {0, 1}, {1, 1}}, k{{1, 2}, {0, 1}, {-1, 1}};
        const Matrix<double> k_r{{1, 0}, {0, 1}, {1, 1}, {2, -1}}, q_r{{0, 1}, {1, 0}, {1, -1}, {2, 1}};
        const RelativeBuckets three = RelativeBuckets::clamped(3, 3, 2);
        Matrix<double> terms(3, 9);
        terms << content_to_content<double>(q, k), content_to_position<double>(q, k_r, three),
            position_to_content<double>(k, q_r, three);
        lesson.say(
            "Once on paper: T = 3, d = 2, k = 2; q = 1 0 / 0 1 / 1 1, k = 1 2 / 0 1 / \u22121 1, "
            "k_r = 1 0 / 0 1 / 1 1 / 2 \u22121, q_r = 0 1 / 1 0 / 1 \u22121 / 2 1.");
        lesson.show_signed("        c2c                c2p                p2c", terms, "%5.0f", 3);
        const Matrix<double> sum = terms.leftCols(3) + terms.middleCols(3, 3) + terms.rightCols(3);
        const Matrix<double> expected{{1, 0, 1}, {5, 1, 1}, {8, 3, 0}};
        lesson.prove("their sum is 1 0 1 / 5 1 1 / 8 3 0; largest difference", (sum - expected).cwiseAbs().maxCoeff(),
                     0);
        const Matrix<double> probs = masked_softmax<double>(sum / score_divisor<double>(3, 2), Mask());
        lesson.prove("probability (2,0), after / \u221a6 and softmax, against 0.856145", probs(2, 0) - 0.856145, 5e-7);

        lesson.say(
            "The paper gets the terms from a product. H_i is the content of token i, P_i|j its position seen from j, "
            "and each token is the two together:");
        lesson.correct("joowan1108, DeBERTa", "A(i,j) = {H_i, P_i|j} \u00d7 {H_i, P_j|i}\u1d40",
                       "A(i,j) = {H_i, P_i|j} \u00d7 {H_j, P_j|i}\u1d40");
        const double printed = q.row(2).dot(k.row(2));  // content of i with content of i
        lesson.prove_equal("c2c(2,0) by the right formula; the printed one gives " + lesson.number("printed", printed),
                           terms(2, 0), 3);

        lesson.ask("By how much does the score of the near \"deep\" exceed the far one's, before / \u221a6?",
                   near.sum - far.sum, 1e-9, "10 from c2p and 2 from p2c.");
        lesson.ask("Which row of the relative table serves learning \u2192 first deep (k = 4)?",
                   static_cast<double>(near.c2p.row), 0, "i \u2212 j + k = 1 + 4.");
        lesson.exercise("Leave p2c out and divide by \u221a(2d). Does \"learning\" still find the near \"deep\"?", [&] {
            HeadTensors<double> without = head;
            without.q_r.setZero();
            const auto left = [&](Index j) {
                return explain_cell<double>(without, buckets, P2cIndex::official_ij, 2, 1, j);
            };
            lesson.table("without p2c:", {{"pair", "i \u2212 j", "c2c", "c2p", "p2c", "score", "probability"},
                                          row_of("learning \u2192 first deep", left(0)),
                                          row_of("learning \u2192 second deep", left(4))});
            lesson.prove_at_least("times as probable as the far one", left(0).probability / left(4).probability, 100);
        });
        lesson.end({{"core/attention/disentangled.h", "position_to_content"},
                    {"core/attention/disentangled.h", "explain_cell"}},
                   "He et al. 2021, eq. 2 and 4; qcqced123 and joowan1108, DeBERTa.", "09");
    });
}
