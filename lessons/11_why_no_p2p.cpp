// Lesson 11: Why no p2p
//
// Question: Content plus position, times content plus position, has four terms. Why does DeBERTa keep only three?
// Before: 10. Minutes: 10. Page: attention.
// Show: text=deep+learning+is+so+deep.&layer=2&head=5&cell=2,3&attention.c2c=no
#include <limits>
#include <set>

#include "core/attention/disentangled.h"
#include "core/io/model_request.h"
#include "core/models/deberta_weights.h"
#include "core/positions/offset_bias.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// What one head of layer 0 makes of a sentence: q and k [T,d], k_r and q_r [2k,d].
struct Sentence {
    Matrix<double> q, k, k_r, q_r;
};

Sentence read(const Deberta<double>& model, const Tokenizer& tokenizer, const std::string& text, Index head) {
    const Trace trace = model.forward(input_of_texts({text}, tokenizer, Family::deberta), DebertaOptions(),
                                      StageFilter("layer.0.q,layer.0.k,layer.0.k_r,layer.0.q_r"));
    const auto of = [&](const char* name) { return trace.at(name).as<double>().matrix(head); };
    return {of("layer.0.q"), of("layer.0.k"), of("layer.0.k_r"), of("layer.0.q_r")};
}

double cells_that_differ(const Matrix<double>& a, const Matrix<double>& b) {
    return static_cast<double>((a.array() != b.array()).count());
}

/// Pairs of rows (of q_r and of k_r) that p2p multiplies: as many different numbers can it hold.
double numbers_in_p2p(const RelativeBuckets& buckets) {
    std::set<std::pair<Index, Index>> pairs;
    for (Index i = 0; i < buckets.queries(); ++i)
        for (Index j = 0; j < buckets.keys(); ++j) pairs.insert({buckets.row(j, i), buckets.row(i, j)});
    return static_cast<double>(pairs.size());
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "11", "Why no p2p",
        "Content plus position, times content plus position, has four terms. Why does DeBERTa keep only three?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "Let token i be a content H_i plus a position P_i|j: where it stands, seen from j. Multiply out:\n"
            "  (H_i + P_i|j) · (H_j + P_j|i)  =  H_i · H_j      c2c\n"
            "                                  + H_i · P_j|i    c2p\n"
            "                                  + P_i|j · H_j    p2c\n"
            "                                  + P_i|j · P_j|i  p2p, position to position\n"
            "Below is one head of the built-in model tiny-v3 and two sentences, six tokens each with [CLS] and [SEP], "
            "which the model puts before and after every text. Row i is the query, column j the key:");
        const Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
        const auto tokenizer = open_tokenizer(checkpoint.folder);
        const Deberta<double> model = open_deberta<double>(checkpoint);
        const Index head = 0;
        const Sentence mall = read(model, *tokenizer, "a new mall opened", head);
        const Sentence paris = read(model, *tokenizer, "the capital of france", head);
        const Index tokens = mall.q.rows(), width = mall.q.cols();
        const RelativeBuckets buckets = model.relative_buckets(tokens, DebertaOptions());
        const Matrix<double> c2c = content_to_content<double>(mall.q, mall.k);
        const Matrix<double> other_c2c = content_to_content<double>(paris.q, paris.k);
        const Matrix<double> p2p = position_to_position<double>(mall.q_r, mall.k_r, buckets);
        const Matrix<double> other_p2p = position_to_position<double>(paris.q_r, paris.k_r, buckets);
        lesson.heatmaps(
            {{"c2c, a new mall opened", c2c}, {"c2c, the capital of france", other_c2c}, {"p2p, both", p2p}});
        const auto cells = static_cast<double>(tokens * tokens);
        lesson.prove_equal("cells of c2c that differ: all but the 4 of [CLS] and [SEP]",
                           cells_that_differ(c2c, other_c2c), cells - 4);
        lesson.prove_equal("cells of p2p that differ", cells_that_differ(p2p, other_p2p), 0);

        lesson.say(
            "No word enters p2p, so all inputs get the same stripes. One number per distance draws them too: a line of "
            "2·6 − 1 numbers, as in T5 (learned, by bucket) or ALiBi (fixed), instead of two projected tables:");
        const auto bias = make_offset_bias<double>("p2p", 1, tokens, tokens, [&](Index, Index distance) {
            return distance < 0 ? p2p(-distance, 0) : p2p(0, distance);
        });
        lesson.show("bias for j − i = −5 … 5:", bias.values, "%6.1f");
        lesson.prove_equal("cells in which the line, laid out, differs from p2p",
                           cells_that_differ(bias.matrix(0), p2p), 0);
        lesson.say(
            "Even that bias is there already. A query is h W\u1d40 + b with a learned b for all words, and c2p "
            "multiplies "
            "both parts with k_r. The share of b knows the distance alone:");
        const DebertaWeights<double> weights(model.config(), checkpoint.weights);
        const Matrix<double> b = weights.projection(0, 0).bias.segment(head * width, width).replicate(tokens, 1);
        const Matrix<double> c2p = content_to_position<double>(mall.q, mall.k_r, buckets);
        const Matrix<double> of_words = content_to_position<double>(mall.q - b, mall.k_r, buckets);
        const Matrix<double> of_bias = content_to_position<double>(b, mall.k_r, buckets);
        // Three sums of d products, each off by d epsilon |q| |k_r| at most.
        const double rounding = 3 * static_cast<double>(width) * std::numeric_limits<double>::epsilon() *
                                mall.q.rowwise().norm().maxCoeff() * mall.k_r.rowwise().norm().maxCoeff();
        lesson.prove("c2p minus c2p of W h minus c2p of b, largest cell",
                     (c2p - of_words - of_bias).cwiseAbs().maxCoeff(), rounding);
        lesson.prove_equal("cells of c2p of b that differ from their neighbour on the diagonal",
                           cells_that_differ(of_bias.bottomRightCorner(tokens - 1, tokens - 1),
                                             of_bias.topLeftCorner(tokens - 1, tokens - 1)),
                           0);

        // DeBERTa v3 base at full length: T = 512 tokens, a table of 2k = 512 rows, d = 64.
        const double T = 512, rows = 512, d = 64;
        const auto row = [](const char* name, double flops, double numbers) {
            return std::vector<std::string>{name, lesson::text_of(flops / 1e6, "%.3f"),
                                            lesson::text_of(4 * numbers, "%.0f")};
        };
        lesson.table("cost of one head of DeBERTa v3 base, 512 tokens, float:",
                     {{"term", "million operations", "bytes it makes"},
                      row("c2c  [T,T]", 2 * T * T * d, T * T),
                      row("c2p  [T,2k]", 2 * T * rows * d, T * rows),
                      row("p2p  all rows [2k,2k]", 2 * rows * rows * d, rows * rows),
                      row("p2p  as a line [2T−1]", 2 * (2 * T - 1) * d, 2 * T - 1)});
        lesson.say(
            "So cost is no reason: p2p as a line is almost free. It would matter without b, or for a head that follows "
            "distance and no word. No released model has it: the official code for p2p stops with an error and "
            "transformers removed it. It would also turn √(3d) into √(4d).");
        lesson.prove("operations of the line over those of c2c, at most 2 / T", (2 * T - 1) * d / (T * T * d), 2 / T);
        lesson.correct("joowan1108, DeBERTa", "{H_i, P_i|j} × {H_i, P_j|i}ᵀ", "{H_i, P_i|j} × {H_j, P_j|i}ᵀ");
        const Matrix<double> printed = c2c.diagonal().replicate(1, tokens);
        lesson.prove_equal("cells in which H_i · H_i is not H_i · H_j", cells_that_differ(printed, c2c),
                           cells - static_cast<double>(tokens));

        lesson.ask("How many biases replace p2p of one head for 100 tokens, if nothing is clamped?",
                   numbers_in_p2p(RelativeBuckets::clamped(100, 100, 100)), 0, "One for each distance −99 … 99.");
        lesson.choose("Which change of the sentence changes p2p of a pair (i, j)?",
                      {"another word at i", "a word inserted between i and j", "another word at j"}, 1,
                      "Only a new distance does; words never do.");
        lesson.exercise(
            "Clamp distances at k = 3. How many different numbers can p2p hold for 8 tokens, and for 80?", [&] {
                const double few = numbers_in_p2p(RelativeBuckets::clamped(8, 8, 3)),
                             many = numbers_in_p2p(RelativeBuckets::clamped(80, 80, 3));
                lesson.say(
                    "p2p multiplies row δ(j,i) of q_r and row δ(i,j) of k_r. Rows of the pairs, i − j = −4 … 4:");
                const RelativeBuckets clamped = RelativeBuckets::clamped(5, 5, 3);
                Matrix<double> pairs(2, 9);
                for (Index n = 0; n < 9; ++n) {
                    pairs(0, n) = double(clamped.row_of_offset(4 - n));
                    pairs(1, n) = double(clamped.row_of_offset(n - 4));
                }
                lesson.show("δ(j,i), and below it δ(i,j):", pairs, "%4.0f");
                lesson.say(
                    "The upper clamp begins at 2 and the lower at −3, so −3 … 3 are all told apart: 2k + 1 numbers.");
                lesson.prove_equal("numbers for 8 tokens", few, 2 * 3 + 1);
                lesson.prove_equal("numbers for 80 tokens", many, 2 * 3 + 1);
            });
        lesson.end(
            {{"core/attention/disentangled.h", "position_to_position"}, {"core/positions/offset_bias.h", "OffsetBias"}},
            "He et al. 2021, section 3.1; joowan1108, DeBERTa.", "12");
    });
}
