// Lesson 09: The sign of p2c
//
// Question: the paper prints delta(j,i), every program computes delta(i,j).  Does it matter, and who would notice?
#include "core/attention/disentangled.h"
#include "core/attention/products.h"
#include "lessons/print.h"

using namespace locus;

namespace {

/// Seeded numbers between -1 and 1, the same on every machine.
Matrix<double> seeded(Index rows, Index cols, std::uint32_t state) {
    Matrix<double> values(rows, cols);
    for (Index n = 0; n < values.size(); ++n) {
        state = state * 1664525 + 1013904223;
        values.data()[n] = static_cast<double>(state >> 8) / (1 << 23) - 1;
    }
    return values;
}

Index cells_that_differ(Index tokens) {
    const Matrix<double> k = seeded(tokens, 4, 1), q_r = seeded(2 * tokens, 4, 2);
    const BucketLine line = BucketLine::clamped(tokens, tokens, tokens);
    return (position_to_content<double>(k, q_r, line).array() !=
            position_to_content<double>(k, q_r, line, P2cIndex::paper_ji).array())
        .count();
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("09", "The sign of p2c");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "i  love  deep  learning: four tokens, k = 4, no clamping.  Position to content multiplies key j\n"
            "with a row of the position queries.  Which row?\n");
        const Index tokens = 4;
        const BucketLine line = BucketLine::clamped(tokens, tokens, 4);
        Matrix<double> rows(4, 8);
        rows << lesson::as_matrix(line.mirrored().matrix()), lesson::as_matrix(line.matrix());
        lesson.show<double>("   paper \u03b4(j,i)          code \u03b4(i,j)", rows, "%4.0f", 4);

        const Matrix<double> k = seeded(tokens, 4, 1), q_r = seeded(8, 4, 2);
        const Matrix<double> code = position_to_content<double>(k, q_r, line);
        const Matrix<double> paper = position_to_content<double>(k, q_r, line, P2cIndex::paper_ji);
        lesson.show<double>("code:", code, "%8.3f");
        lesson.show<double>("paper:", paper, "%8.3f");
        lesson.prove_equal("cells of 16 that differ", static_cast<double>((code.array() != paper.array()).count()), 12);
        lesson.prove("the diagonal never does, so a one-token test cannot see it",
                     (code - paper).diagonal().cwiseAbs().maxCoeff(), 0);
        lesson.prove_equal("cells of 256 that differ for 16 tokens", static_cast<double>(cells_that_differ(16)), 240);

        // Microsoft gathers along the rows of Qr K^T with the index of c2p.
        Matrix<double> microsoft(tokens, tokens), hugging_face(tokens, tokens);
        const Matrix<double> by_row = products_of_rows<double>(q_r, k), by_key = by_row.transpose();
        for (Index i = 0; i < tokens; ++i)
            for (Index j = 0; j < tokens; ++j) microsoft(i, j) = by_row(line.row(i, j), j);
        // Hugging Face gathers K Qr^T with the index of -(a - b), then transposes: minus sign and transpose cancel.
        for (Index a = 0; a < tokens; ++a)
            for (Index b = 0; b < tokens; ++b) hugging_face(b, a) = by_key(a, line.row_of_offset(-(a - b)));
        lesson.prove("Microsoft's gather(dim=-2) is \u03b4(i,j)", (microsoft - code).cwiseAbs().maxCoeff(), 0);
        lesson.prove("transformers' negated index and transpose is \u03b4(i,j) too",
                     (hugging_face - code).cwiseAbs().maxCoeff(), 0);
        lesson.say(
            "\nReleased weights were trained with \u03b4(i,j).  A port that follows the paper runs, looks\n"
            "plausible and is wrong in every cell off the diagonal.  It has happened: nntrainer #3982\n"
            "shipped it, microsoft/DeBERTa #47 asked about it.  Source: He et al. 2021, eq. 4; seeds\n"
            "000 (code) and 002 (paper).");
        lesson.next("P2cIndex in core/attention/disentangled.h; locus view --dialect paper shows what it does.");
    });
}
