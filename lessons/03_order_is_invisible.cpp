// Lesson 03: Order is invisible
//
// Question: What does attention know about the order of the words?
// Before: 02. Minutes: 8. Page: attention.
// Show: text=dog+bites+man&layer=0&head=0&cell=1,3&attention.c2p=no&attention.p2c=no
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/attention/scaled_dot_product.h"
#include "core/models/older/recurrent.h"
#include "core/positions/position_rows.h"
#include "core/products.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/words.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

/// Self-attention as in lesson 02: queries, keys and values all come from the same rows x.
struct SelfAttention {
    Matrix<double> w_q, w_k, w_v;  // stored transposed, one row per output channel

    Matrix<double> values(const Matrix<double>& x) const { return products_of_rows<double>(x, w_v); }
    Matrix<double> operator()(const Matrix<double>& x, const Mask& mask = {}) const {
        return scaled_dot_product<double>(products_of_rows<double>(x, w_q), products_of_rows<double>(x, w_k), values(x),
                                          mask);
    }
};

/// The rows in another order: row n of the result is row order[n].
Matrix<double> reordered(const Matrix<double>& rows, const std::vector<Index>& order) {
    return rows(order, Eigen::all);
}

/// The numbers of a row as one cell of a table.
std::string row_text(const RowVector<double>& row) {
    std::string text;
    for (const double value : row) text += lesson::text_of(value, text.empty() ? "%6.3f" : "%7.3f");
    return text;
}

double largest_difference(const Matrix<double>& a, const Matrix<double>& b) { return (a - b).cwiseAbs().maxCoeff(); }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("03", "Order is invisible", "What does attention know about the order of the words?");
    return lesson.run(argc, argv, [&] {
        const Document bitten = split_words("the dog bit the man"), biter = split_words("the man bit the dog");
        lesson::Seeded seeded(3);
        const WordList words = bag_of_words({bitten}).words;
        const Matrix<double> word_vectors = seeded.matrix(words.size(), 4);
        const SelfAttention attention{2 * seeded.matrix(4, 4), 2 * seeded.matrix(4, 4), 2 * seeded.matrix(4, 4)};
        Matrix<double> x(5, 4), x_swapped(5, 4);
        for (Index n = 0; n < 5; ++n) {
            x.row(n) = word_vectors.row(*words.find(bitten[static_cast<std::size_t>(n)]));
            x_swapped.row(n) = word_vectors.row(*words.find(biter[static_cast<std::size_t>(n)]));
        }
        lesson.say(
            "A position is where a word stands: 0, 1, 2 … Attention (lesson 2) never used it. Here every word has a "
            "random row x of 4 numbers, the three matrices W are random too, and two sentences of the same words go "
            "through the same attention. What comes out, a row of 4 numbers for every word:");
        const Matrix<double> out = attention(x), out_swapped = attention(x_swapped);
        std::vector<std::vector<std::string>> rows{{"word", "output", "word", "output"}};
        for (Index n = 0; n < 5; ++n)
            rows.push_back({bitten[static_cast<std::size_t>(n)], row_text(out.row(n)),
                            biter[static_cast<std::size_t>(n)], row_text(out_swapped.row(n))});
        lesson.table("\"the dog bit the man\" on the left, \"the man bit the dog\" on the right", rows);
        lesson.say("Look for \"dog\": second on the left, last on the right. It took its output along.");

        // The same five terms, added in another order below the line of the softmax and above it.
        const double rounding =
            2 * 5 * std::numeric_limits<double>::epsilon() * attention.values(x).cwiseAbs().maxCoeff();
        lesson.prove("\"dog\" bites or is bitten: largest difference of its output, rounding",
                     largest_difference(out.row(1), out_swapped.row(4)), rounding);
        lesson.prove("\"the\" and \"the\" in one sentence: largest difference, rounding",
                     largest_difference(out.row(0), out.row(3)), rounding);
        lesson.prove("mean of all outputs, both names swapped: largest difference, rounding",
                     largest_difference(out.colwise().mean(), out_swapped.colwise().mean()), rounding);

        double worst = 0, orders = 0;
        std::vector<Index> order(5);
        std::iota(order.begin(), order.end(), 0);
        do {
            worst = std::max(worst, largest_difference(attention(reordered(x, order)), reordered(out, order)));
            ++orders;
        } while (std::next_permutation(order.begin(), order.end()));
        lesson.say(
            "It is no accident of this pair. With P a matrix that permutes rows, the scores P Q (P K)ᵀ are P (Q Kᵀ) "
            "Pᵀ: rows and columns move, no number changes. Softmax works row by row, and a sum does not depend on "
            "the order of its terms. So attention(P x) = P attention(x), for all " +
            lesson::text_of(orders) + " orders of five words:");
        lesson.prove("all orders: largest difference of P attention(x) and attention(P x)", worst, rounding);

        const auto dense = [&](Index rows_out) -> Dense<double> {
            return {seeded.matrix(rows_out, 4), RowVector<double>::Zero(rows_out)};
        };
        const RnnCell<double> plain{dense(4), dense(4)};
        const LstmCell<double> gated{dense(16), dense(16)};
        lesson.say(
            "Older networks, before attention, knew the order, because they read one word after the other: the "
            "recurrent network "
            "(Elman 1990) keeps h_t = tanh(W x_t + U h_{t−1}), the LSTM (1997) a gated cell as well. The price: word "
            "9 hears of word 1 through eight steps, one after the other. Their last states, for the same sentences:");
        lesson.prove_at_least(
            "recurrent network: largest difference, as a multiple of the rounding above",
            largest_difference(rnn<double>(x, plain).hidden.row(4), rnn<double>(x_swapped, plain).hidden.row(4)) /
                rounding,
            1e6);
        lesson.prove_at_least(
            "LSTM: the same",
            largest_difference(lstm<double>(x, gated).hidden.row(4), lstm<double>(x_swapped, gated).hidden.row(4)) /
                rounding,
            1e6);

        lesson.say(
            "So the bag of words of lesson 1 is back: attention alone reads a bag. The cure is to tell every word "
            "where it stands, for example by adding a row p that differs from position to position (lesson 4):");
        const Matrix<double> p = sinusoidal_table<double>(5, 4, SinusoidLayout::interleaved);
        const Matrix<double> placed = attention(x + p), placed_swapped = attention(x_swapped + p);
        lesson.table("output of \"dog\" with positions", {{"sentence", "output"},
                                                          {"the dog bit the man", row_text(placed.row(1))},
                                                          {"the man bit the dog", row_text(placed_swapped.row(4))}});
        // A difference of a million roundings is no rounding.
        lesson.prove_at_least("difference of these two rows, as a multiple of the rounding above",
                              largest_difference(placed.row(1), placed_swapped.row(4)) / rounding, 1e6);

        double different = 0;
        for (Index n = 0; n < 5; ++n) {
            bool seen = false;
            for (Index m = 0; m < n; ++m) seen = seen || largest_difference(out.row(n), out.row(m)) <= rounding;
            different += !seen;
        }
        lesson.ask("Without positions: how many different rows come out of \"the dog bit the man\"?", different, 0,
                   "One for every different word; both \"the\" get the same.");
        const std::vector<std::string> choices{"bit dog the man the", "the dog bit the dog", "man the the dog bit"};
        Index other = -1;
        for (Index n = 0; n < 3; ++n) {
            const Document sentence = split_words(choices[static_cast<std::size_t>(n)]);
            Matrix<double> rows_n(5, 4);
            for (Index at = 0; at < 5; ++at)
                rows_n.row(at) = word_vectors.row(*words.find(sentence[static_cast<std::size_t>(at)]));
            const Index dog = std::find(sentence.begin(), sentence.end(), "dog") - sentence.begin();
            if (largest_difference(attention(rows_n).row(dog), out.row(1)) > rounding) other = n;
        }
        lesson.choose("Without positions, where does \"dog\" get another output than in \"the dog bit the man\"?",
                      choices, other, "Only another bag of words gives another output.");
        lesson.exercise(
            "Hide from every word those after it, as a model must that writes from left to right. Still invisible?",
            [&] {
                Mask mask = Mask::Zero(5, 5);
                for (Index i = 0; i < 5; ++i)
                    for (Index j = 0; j <= i; ++j) mask(i, j) = 1;
                const Matrix<double> left = attention(x, mask), left_swapped = attention(x_swapped, mask);
                lesson.table("output of \"dog\" without positions, later words hidden",
                             {{"sentence", "output"},
                              {"the dog bit the man", row_text(left.row(1))},
                              {"the man bit the dog", row_text(left_swapped.row(4))}});
                lesson.prove_at_least("difference of these rows, as a multiple of the rounding above",
                                      largest_difference(left.row(1), left_swapped.row(4)) / rounding, 1e6);
                lesson.prove("\"dog\" after all others and the \"dog\" that sees all: difference, rounding",
                             largest_difference(left_swapped.row(4), out.row(1)), rounding);
                lesson.say(
                    "A mask says which words came before, so it tells something of the order. Of those before, "
                    "their order is as invisible as ever.");
            });
        lesson.end({{"core/attention/scaled_dot_product.h", "scaled_dot_product"},
                    {"core/positions/position_rows.h", "sinusoidal_table"}},
                   "qcqced123, DeBERTa and RoFormer; Vaswani et al. 2017, section 3.5; Elman 1990.", "04");
    });
}
