// Lesson 09: The sign of p2c
//
// Question: The paper prints δ(j,i), the official programs compute δ(i,j). Does it matter, and who would notice?
// Before: 08. Minutes: 10. Page: attention.
// Show: text=deep+learning+is+so+deep.&dialect=paper&layer=0&head=1&cell=2,1
#include "core/attention/disentangled.h"
#include "core/io/model_request.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

double cells_that_differ(const Matrix<double>& one, const Matrix<double>& other) {
    return static_cast<double>((one.array() != other.array()).count());
}

/// p2c of seeded keys and position queries, no clamping.
Matrix<double> p2c_of(Index tokens, P2cIndex index) {
    lesson::Seeded seeded(1);
    const Matrix<double> k = seeded.matrix(tokens, 4), q_r = seeded.matrix(2 * tokens, 4);
    return position_to_content<double>(k, q_r, RelativeBuckets::clamped(tokens, tokens, tokens), index);
}

/// p2c of the first layer and the words of "the capital of france is [MASK]." in a trained DeBERTa.
struct Port {
    Tensor<double> p2c;             // [1,H,T,T]
    RowVector<double> probability;  // [V]
    std::int64_t paris = 0;         // id of the word
};

Port port_with(P2cIndex index) {
    const Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
    const auto tokenizer = open_tokenizer(checkpoint.folder);
    DebertaOptions options;
    options.p2c_index = index;
    const Trace trace = open_deberta<double>(checkpoint)
                            .forward(input_of_texts({"the capital of france is [MASK]."}, *tokenizer, Family::deberta),
                                     options, StageFilter("layer.0.p2c,mlm.logits_at_positions"));
    const Matrix<double> logits = trace.at("mlm.logits_at_positions").as<double>().rows();
    return {trace.at("layer.0.p2c").as<double>(), masked_softmax<double>(logits, Mask()).row(0),
            tokenizer->encode("paris").ids[tokenizer->frame().first]};
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("09", "The sign of p2c",
                          "The paper prints \u03b4(j,i), the official programs compute \u03b4(i,j). Does it matter, "
                          "and who would notice?");
    return lesson.run(argc, argv, [&] {
        const Index tokens = 4;
        const RelativeBuckets buckets = RelativeBuckets::clamped(tokens, tokens, tokens);
        lesson.say(
            "i love deep learning: four tokens, k = 4, no clamping. Position to content multiplies key j with a row "
            "of the position queries q_r. Which row?");
        Matrix<double> rows(4, 8);
        rows << lesson::as_matrix(buckets.mirrored().matrix()), lesson::as_matrix(buckets.matrix());
        lesson.show("   paper \u03b4(j,i)          code \u03b4(i,j)", rows, "%4.0f", 4);

        const Matrix<double> code = p2c_of(tokens, P2cIndex::official_ij);
        const Matrix<double> paper = p2c_of(tokens, P2cIndex::paper_ji);
        Matrix<double> both(4, 8);
        both << paper, code;
        lesson.show_signed("   p2c of the paper                      p2c of the code", both, "%8.3f", 4);
        lesson.prove_equal("cells of 16 that differ", cells_that_differ(code, paper), 12);
        lesson.prove("the diagonal never does, so a one-token test cannot see it; largest difference there",
                     (code - paper).diagonal().cwiseAbs().maxCoeff(), 0);
        lesson.prove_equal("cells of 256 that differ for 16 tokens",
                           cells_that_differ(p2c_of(16, P2cIndex::official_ij), p2c_of(16, P2cIndex::paper_ji)), 240);

        // Microsoft gathers along the rows of Qr K^T with the index of c2p.
        lesson::Seeded seeded(1);
        const Matrix<double> k = seeded.matrix(tokens, 4), q_r = seeded.matrix(2 * tokens, 4);
        Matrix<double> microsoft(tokens, tokens), hugging_face(tokens, tokens);
        const Matrix<double> by_row = products_of_rows<double>(q_r, k), by_key = by_row.transpose();
        for (Index i = 0; i < tokens; ++i)
            for (Index j = 0; j < tokens; ++j) microsoft(i, j) = by_row(buckets.row(i, j), j);
        // Hugging Face gathers K Qr^T with the index of -(a - b), then transposes: minus sign and transpose cancel.
        for (Index a = 0; a < tokens; ++a)
            for (Index b = 0; b < tokens; ++b) hugging_face(b, a) = by_key(a, buckets.row_of_offset(-(a - b)));
        lesson.say(
            "Released weights were trained by programs, and two programs gather in two ways. Both are \u03b4(i,j):");
        lesson.correct("eq. 4", "p2c = k_j \u00b7 q_r[\u03b4(j,i)]",
                       "p2c = k_j \u00b7 q_r[\u03b4(i,j)], as the weights expect");
        lesson.prove("Microsoft: gather(q_r \u00b7 k\u1d40, dim = \u22122); largest difference",
                     (microsoft - code).cwiseAbs().maxCoeff(), 0);
        lesson.prove("transformers: negated index, then transposed; largest difference",
                     (hugging_face - code).cwiseAbs().maxCoeff(), 0);

        const Port right = port_with(P2cIndex::official_ij), wrong = port_with(P2cIndex::paper_ji);
        const auto word = right.paris;
        lesson.say(
            "Who would notice? Not a user. [MASK] hides a word, and the model guesses it. In the built-in checkpoint "
            "\"the capital of france is [MASK].\" still ends in paris, with " +
            lesson.number("paris, paper", wrong.probability(word), "%.3f") + " instead of " +
            lesson.number("paris, code", right.probability(word), "%.3f") +
            ". Only the term itself tells. It has happened: nntrainer had \u03b4(j,i) until its pull "
            "request #3982, and microsoft/DeBERTa #47 asks about it.");
        Index best = 0;
        wrong.probability.maxCoeff(&best);
        lesson.prove_equal("best word of the port that follows the paper: id of \"paris\"", static_cast<double>(best),
                           static_cast<double>(word));
        const auto code_rows = right.p2c.rows(), paper_rows = wrong.p2c.rows();
        lesson.prove_at_least("largest error of its p2c over the largest p2c",
                              (code_rows - paper_rows).cwiseAbs().maxCoeff() / code_rows.cwiseAbs().maxCoeff(), 0.5);

        lesson.ask("T tokens, no clamping: how many cells differ for T = 5?",
                   cells_that_differ(p2c_of(5, P2cIndex::official_ij), p2c_of(5, P2cIndex::paper_ji)), 0,
                   "All but the diagonal.");
        const bool plain = cells_that_differ(hugging_face.transpose(), code) == 0;
        lesson.choose("transformers negates the index and transposes. What if the transpose is forgotten?",
                      {"nothing changes", "p2c is transposed: wrong off the diagonal"}, plain ? 0 : 1,
                      "Minus sign and transpose cancel only together.");
        lesson.exercise("Is the paper's p2c the transpose of the code's?", [&] {
            lesson.show_signed("paper minus the transposed p2c of the code:", paper - code.transpose(), "%8.3f");
            lesson.prove_equal("cells that differ: the row is the mirrored one, but the key stays key j",
                               cells_that_differ(paper, code.transpose()), 12);
        });
        lesson.end(
            {{"core/attention/disentangled.h", "P2cIndex"}, {"core/models/dialect.h", "Dialect"}},
            "He et al. 2021, eq. 4; qcqced123 (\u03b4(i,j), but for a comment: lesson 7), joowan1108 (\u03b4(j,i)).",
            "10");
    });
}
