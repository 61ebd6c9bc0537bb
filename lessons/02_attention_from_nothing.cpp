// Lesson 02: Attention from nothing
//
// Question: How does a word look at the other words, with nothing but products and one softmax?
// Before: 01. Minutes: 10. Page: attention.
// Show: text=the+capital+of+france+is+%5BMASK%5D.&layer=1&head=0&cell=6,4
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/attention/scaled_dot_product.h"
#include "core/models/older/seq2seq.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

/// "1×2 + 0×1 + 3×2": the products of two rows, written out.
std::string products_text(const RowVector<double>& a, const RowVector<double>& b, const char* format) {
    std::string text;
    for (Index c = 0; c < a.size(); ++c)
        text += (c ? " + " : "") + lesson::text_of(a[c], format) + "×" + lesson::text_of(b[c], "%.0f");
    return text;
}

/// Scores q·k of 400 random queries and 16 random keys, d wide.
Matrix<double> random_scores(Index d) {
    lesson::Seeded seeded(2);
    const Matrix<double> queries = seeded.gaussians(400, d), keys = seeded.gaussians(16, d);
    return products_of_rows<double>(queries, keys);
}

/// Mean over the queries of their largest weight.
double largest_weight(const Matrix<double>& scores) {
    return masked_softmax<double>(scores, {}).rowwise().maxCoeff().mean();
}

/// A translator from before queries and keys: an LSTM reads three words, another writes and looks back at its states.
Seq2SeqWeights<double> translator() {
    lesson::Seeded seeded(22);
    const auto dense = [&](Index rows, Index columns) -> Dense<double> {
        return {seeded.gaussians(rows, columns), RowVector<double>::Zero(rows)};
    };
    const auto cell = [&] { return LstmCell<double>{dense(16, 4), dense(16, 4)}; };
    return {seeded.gaussians(3, 4),
            seeded.gaussians(3, 4),
            cell(),
            cell(),
            MultiplicativeAlignment<double>{seeded.gaussians(4, 4)},
            dense(4, 8),
            dense(3, 4)};
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("02", "Attention from nothing",
                          "How does a word look at the other words, with nothing but products and one softmax?");
    return lesson.run(argc, argv, [&] {
        const std::vector<std::string> words{"muddy", "river", "bank"};
        const Matrix<double> x{{0, 0, 0, 2}, {2, 0, 1, 0}, {1, 1, 1, 0}};  // columns: water, money, place, look
        const Matrix<double> w_q{{1, 0, 0, 1}, {0, 1, 0, 0}, {1, 0, 1, 0}, {0, 0, 0, 1}};
        const Matrix<double> w_k{{1, 0, 1, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 1}};
        const Matrix<double> w_v{{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
        const Index d = 4, bank = 2;
        const Matrix<double> q = x * w_q, k = x * w_k, v = x * w_v;
        Matrix<double> side_by_side(3, 16);
        side_by_side << x, q, k, v;
        lesson.say(
            "A bank of a river or of money? Its neighbours know. Every word is a row x of four numbers (d = 4), "
            "here made up: water, money, place, look. Three matrices, which a model learns, make three rows of it: "
            "the query q = x W_q (what do I look for?), the key k = x W_k (what do I offer?), the value v = x W_v "
            "(what do I pass on?).");
        lesson.show("from left to right x, Q, K, V; a line each for muddy, river, bank", side_by_side, "%4.0f", d);

        // By hand, with loops over nothing but numbers: the row of the query "bank".
        lesson.say("The query of \"bank\" meets every key: the score s is the sum of the products, over √d = 2.");
        const RowVector<double> q_bank = q.row(bank);
        RowVector<double> score(3), power(3), weight(3);
        std::string lines;
        double sum = 0;
        for (Index j = 0; j < 3; ++j) {
            double product = 0;
            for (Index c = 0; c < d; ++c) product += q_bank[c] * k(j, c);
            score[j] = product / std::sqrt(static_cast<double>(d));
            power[j] = std::exp(score[j]);
            sum += power[j];
            lines += "  " + words[static_cast<std::size_t>(j)] + (j == bank ? "   (" : "  (") +
                     products_text(q_bank, k.row(j), "%.0f") + ")/2 = " + lesson::text_of(score[j], "%.1f") +
                     "   e^s = " + lesson::text_of(power[j], "%.3f") + "\n";
        }
        lesson.say(lines);
        for (Index j = 0; j < 3; ++j) weight[j] = power[j] / sum;
        lesson.say("Softmax makes weights of scores: w = e^s divided by the sum of all three, " +
                   lesson::text_of(sum, "%.3f") + ". So no weight is negative, and together they are 1.");
        lesson.bars("weights of the query \"bank\"", words, {weight.data(), weight.data() + 3}, "%.3f");

        RowVector<double> output = RowVector<double>::Zero(d);
        for (Index c = 0; c < d; ++c)
            for (Index j = 0; j < 3; ++j) output[c] += weight[j] * v(j, c);
        const auto printed = [](double value) { return std::stod(lesson::text_of(value, "%.5f")); };
        lesson.say("The output mixes the values in these shares. Its first number, \"water\":\n  " +
                   products_text(weight, v.col(0).transpose(), "%.5f") + " = " + lesson::text_of(output[0], "%.3f") +
                   "\nAll three rows at once are softmax(Q Kᵀ / √d) V, and core/ has that:");
        const Matrix<double> context = scaled_dot_product<double>(q, k, v, {});
        lesson.show("output of core/, a line each for muddy, river, bank", context, "%8.3f");

        // Each form rounds every exp, sum, quotient and product once: 5 epsilon of the largest value at most, so 10.
        const double epsilon = std::numeric_limits<double>::epsilon(), rounding = 10 * epsilon * v.maxCoeff();
        lesson.prove("the row by hand and the row of core/: largest difference, rounding",
                     (output - context.row(bank)).cwiseAbs().maxCoeff(), rounding);
        lesson.prove("water by the printed digits, minus the output",
                     weight.unaryExpr(printed).dot(v.col(0).transpose()) - output[0], 0.0005);
        lesson.prove("distance of the three weights' sum from 1", weight.sum() - 1, 3 * epsilon);
        double outside = 0;
        for (Index c = 0; c < d; ++c)
            for (Index i = 0; i < 3; ++i)
                outside +=
                    context(i, c) < v.col(c).minCoeff() - rounding || context(i, c) > v.col(c).maxCoeff() + rounding;
        lesson.prove_equal("outputs of 12 that leave the range of their column of V", outside, 0);
        lesson.prove_at_least("water over money in the output of \"bank\"; before it was 1", output[0] / output[1], 2);

        lesson.say(
            "Why √d? The products of d random numbers of standard deviation 1 add up to a score of standard deviation "
            "√d. If the scores are not divided and d is large, one key gets nearly all the weight, and nothing is "
            "learnt from the other keys. Measured for 16 keys:");
        std::vector<std::vector<std::string>> rows{{"d", "q·k", "largest weight", "q·k/√d", "largest weight"}};
        double worst = 0;
        for (const Index width : {4, 64, 1024}) {
            rows.push_back({std::to_string(width)});
            const Matrix<double> scores = random_scores(width),
                                 divided = scores / std::sqrt(static_cast<double>(width));
            for (const Matrix<double>& one : {scores, divided}) {
                rows.back().push_back(lesson::text_of(std::sqrt(one.cwiseAbs2().mean()), "%.2f"));
                rows.back().push_back(lesson::text_of(largest_weight(one), "%.2f"));
            }
            // The square of a divided score has mean 1 and variance 2 + 6/d; two that share a query (1/400 of all) or a
            // key (1/16) have covariance 2/d.
            const double d_wide = static_cast<double>(width), shared = 2 / d_wide * (1.0 / 16 + 1.0 / 400);
            const double error = std::sqrt((2 + 6 / d_wide) / 6400 + shared);
            worst = std::max(worst, std::abs(divided.cwiseAbs2().mean() - 1) / error);
        }
        lesson.table("size (root of the mean square) of scores, and the mean of the largest weight", rows);
        lesson.prove("mean square of q·k/√d minus 1, in standard errors, worst of three", worst, 5);

        // "muddy" is padding: column 0 is no key, and row 0 is a query that asks nobody.
        Mask mask = Mask::Ones(3, 3);
        mask.row(0).setZero(), mask.col(0).setZero();
        const Matrix<double> all_scores = products_of_rows<double>(q, k) / 2.0;
        const Matrix<double> hidden = masked_softmax<double>(all_scores, mask);
        lesson.say(
            "Texts of a batch are filled up to one length with padding, which no word may look at. A mask gives these "
            "keys the score \u2212\u221e, so e^s = 0. Were \"muddy\" padding:");
        lesson.show("weights with the mask, a line each for muddy, river, bank", hidden, "%8.3f");
        lesson.prove("river and bank: largest difference from the weights of a text of these two",
                     (hidden.bottomRightCorner(2, 2) - masked_softmax<double>(all_scores.bottomRightCorner(2, 2), {}))
                         .cwiseAbs()
                         .maxCoeff(),
                     0);
        lesson.say(
            "The padding's own query sees no key, and its softmax is 0/0: DeBERTa's code makes 0 of it, Hugging "
            "Face's library transformers 1/T for every key, and a port without care NaN.");
        const Matrix<double> uniform = masked_softmax<double>(all_scores, mask, MaskedRow::uniform);
        lesson.prove("muddy in transformers' way: largest difference of a weight from 1/3",
                     (uniform.row(0).array() - 1.0 / 3).abs().maxCoeff(), epsilon);

        const Seq2SeqWeights<double> learned = translator();
        const Seq2SeqResult<double> pass = Seq2Seq<double>(learned).forward({0, 1, 2}, {0});
        const Matrix<double>&h = pass.encoder.hidden, &state = pass.steps[0].lstm.hidden;
        const Matrix<double> asks = 2 * state * std::get<MultiplicativeAlignment<double>>(learned.alignment).weight;
        lesson.say(
            "Attention is older than these names (Bahdanau et al. 2015, with a small tanh network for the score). In "
            "the translators of Luong et al. 2015 one recurrent network (lesson 3) reads a sentence into states h_j; "
            "the state s of another weighs them by softmax(s W h_j): the formula above with q = √d · s W and "
            "K = V = h.");
        lesson.prove("a translator's context and attention: difference",
                     (scaled_dot_product<double>(asks, h, h, {}) - pass.steps[0].context).cwiseAbs().maxCoeff(),
                     20 * epsilon);

        lesson.ask("Which score s (divided by √d) do the query \"river\" and the key \"bank\" get?",
                   q.row(1).dot(k.row(bank)) / 2, 0.01, "The sum of four products, divided by 2.");
        Index most = 0;
        masked_softmax<double>(all_scores, {}).row(0).maxCoeff(&most);
        lesson.choose("At which word does \"muddy\" look most?", words, most,
                      "Its query asks for \"look\" alone, and only its own key offers any.");
        lesson.exercise("Add 800 to every score of \"bank\". What happens by hand, and what in core/?", [&] {
            const Matrix<double> raised = score.array() + 800;
            const Matrix<double> powers = raised.array().exp(), weights = masked_softmax<double>(raised, {});
            std::vector<std::vector<std::string>> cells{
                {"", "muddy", "river", "bank"}, {"e^s by hand"}, {"weight in core/"}};
            for (Index j = 0; j < 3; ++j) {
                cells[1].push_back(lesson::text_of(powers(0, j)));
                cells[2].push_back(lesson::text_of(weights(0, j), "%.3f"));
            }
            lesson.table("scores raised by 800", cells);
            lesson.prove("weights of core/, largest change", (weights - weight).cwiseAbs().maxCoeff(), 10 * epsilon);
            lesson.say(
                "e^(s + 800) = e^s · e^800 stands above and below the line of the fraction, so nothing changes. But "
                "e^800 is too large for a machine number. So core/ subtracts the largest score of the row first.");
        });
        lesson.end({{"core/attention/scaled_dot_product.h", "scaled_dot_product"},
                    {"core/attention/softmax.h", "masked_softmax"}},
                   "Vaswani et al. 2017, eq. 1; joowan1108; NLP 기초, section 12.", "03");
    });
}
