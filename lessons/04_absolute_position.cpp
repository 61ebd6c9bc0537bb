// Lesson 04: Absolute position
//
// Question: How can a word carry its position in the same numbers without losing itself?
// Before: 03. Minutes: 12. Page: decoder.
// Show: decoder.at_input=yes
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/positions/position_rows.h"
#include "core/products.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/words.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

/// Rows of length 1: then a product of two rows is their cosine.
Matrix<double> unit_rows(const Matrix<double>& rows) { return rows.rowwise().normalized(); }

/// The cosines of 100 random words (rows) and 100 random positions (columns), and how many of the 10000 sums
/// word + position lie nearer to another word: the product with that one is larger.
struct Meeting {
    Matrix<double> cosines;
    double misread = 0;
};

Meeting meet(Index d, double position_length = 1) {
    lesson::Seeded seeded(static_cast<std::uint64_t>(d));
    const Matrix<double> words = unit_rows(seeded.gaussians(100, d)), positions = unit_rows(seeded.gaussians(100, d));
    Meeting meeting{products_of_rows<double>(words, positions), 0};
    const Matrix<double> between = products_of_rows<double>(words, words);
    for (Index word = 0; word < 100; ++word)
        for (Index p = 0; p < 100; ++p) {
            Index nearest = 0;
            (between.col(word) + position_length * meeting.cosines.col(p)).maxCoeff(&nearest);
            meeting.misread += nearest != word;
        }
    return meeting;
}

double spread(const Matrix<double>& cosines) { return std::sqrt(cosines.cwiseAbs2().mean()); }

/// How many cosines lie around each of `xs`, as a share of the fullest of these bins.
std::vector<double> histogram(const Matrix<double>& cosines, const std::vector<double>& xs) {
    std::vector<double> counts(xs.size());
    for (const double cosine : cosines.reshaped())
        ++counts[static_cast<std::size_t>(std::lround((cosine - xs[0]) / (xs[1] - xs[0])))];
    const double fullest = *std::max_element(counts.begin(), counts.end());
    for (double& count : counts) count /= fullest;
    return counts;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("04", "Absolute position",
                          "How can a word carry its position in the same numbers without losing itself?");
    return lesson.run(argc, argv, [&] {
        const Document a = split_words("I love studying deep learning so much"),
                       b = split_words("I love deep cheeze burguer so much");  // spelt as in the review
        const Index d = 512;
        lesson::Seeded seeded(4);
        const Matrix<double> table = seeded.gaussians(7, d);  // a model learns it; random until then
        const WordList words = bag_of_words({a, b}).words;
        const Matrix<double> word_rows = seeded.gaussians(words.size(), d);
        const Matrix<double> p_a = learned_rows<double>(table, 7),
                             p_b = learned_rows<double>(table, {0, 1, 2, 3, 4, 5, 6});
        lesson.say(
            "The plainest cure for lesson 3: a table P with a row for each position, added to the word there, x = word "
            "+ p. (DeBERTa has such a table, too; it is called I and added near the end: lesson 13.) Two sentences of "
            "qcqced123's review of DeBERTa; rows are d = 512 wide, two numbers of each are shown:");
        Matrix<double> x_a(7, d), x_b(7, d);
        std::vector<std::vector<std::string>> rows{{"position", "A", "B", "row of P", "x in A", "x in B"}};
        for (Index n = 0; n < 7; ++n) {
            const std::string &word_a = a[static_cast<std::size_t>(n)], &word_b = b[static_cast<std::size_t>(n)];
            x_a.row(n) = word_rows.row(*words.find(word_a)) + p_a.row(n);
            x_b.row(n) = word_rows.row(*words.find(word_b)) + p_b.row(n);
            rows.push_back({std::to_string(n), word_a, word_b});
            for (const Matrix<double>& one : {p_a, x_a, x_b})
                rows.back().push_back(lesson::text_of(one(n, 0), "%5.2f") + lesson::text_of(one(n, 1), "%6.2f"));
        }
        lesson.table("the same row of P for the same position, whatever the word", rows);
        double same_x = 0;
        for (Index n = 0; n < 7; ++n) same_x += x_a.row(n) == x_b.row(n);
        lesson.prove("rows of P in A and in B: largest difference", (p_a - p_b).cwiseAbs().maxCoeff(), 0);
        lesson.prove_equal("positions where x is the same in A and B: those with the same word", same_x, 4);

        // Numbers of their own, so that nothing below changes.
        const Matrix<double> types = lesson::Seeded(40).gaussians(2, d);
        const Matrix<double> with_type = learned_rows<double>(types, {0, 0, 0, 0, 1, 1, 1}) + x_a;
        double moved = 0;
        for (Index n = 0; n < 7; ++n) moved += with_type.row(n) != x_a.row(n);
        lesson.say(
            "Models that read pairs of texts add a third row, of the token type: 0 for the first text, 1 for the "
            "second. Of a single text all tokens have type 0, and row 0 is no zero: it is added all the same.");
        lesson.prove_equal("rows of A that change with types 0 0 0 0 1 1 1", moved, 7);

        lesson.say(
            "Does p not spoil the word? Draw directions of words and positions at random. The cosine of two (lesson "
            "1) is 0 for a right angle: then neither says anything about the other.");
        std::vector<double> xs, misread;
        for (int n = 0; n < 62; ++n) xs.push_back(-1 + n / 30.5);
        std::vector<lesson::Curve> lines;
        std::vector<std::vector<std::string>> measured{{"d", "spread", "1/√d", "spread · √d", "misread, of 10000"}};
        double worst = 0;
        for (const Index width : {8, 32, 128, 512, 1024}) {
            const Meeting meeting = meet(width);
            const double size = spread(meeting.cosines), root = std::sqrt(static_cast<double>(width));
            if (width == 8 || width == 128 || width == 1024)
                lines.insert(lines.begin(), {"d = " + std::to_string(width),
                                             width == 8     ? '.'
                                             : width == 128 ? 'o'
                                                            : '#',
                                             histogram(meeting.cosines, xs)});
            worst = std::max(worst, std::abs(size * root - 1));
            misread.push_back(meeting.misread);
            measured.push_back({std::to_string(width), lesson::text_of(size, "%.4f"), lesson::text_of(1 / root, "%.4f"),
                                lesson::text_of(size * root, "%.3f"), lesson::text_of(meeting.misread)});
        }
        lesson.curves("cosines of 100 words with 100 positions", "cosine of a word and a position", xs,
                      "how often, as a share of the fullest bin", lines, 9);
        lesson.table("spread: root of the mean square; misread: word + p is nearer to another word", measured);
        // A cosine has mean square 1/d; d times a square has variance below 2, and the pairs are pairwise independent.
        lesson.prove("spread · √d − 1, worst of five; five standard errors of 10000 pairs", worst,
                     5 / std::sqrt(20000));
        lesson.prove_equal("words misread at d = 512, of 10000 sums", misread[3], 0);

        const Matrix<double> waves = sinusoidal_table<double>(504, d, SinusoidLayout::interleaved);
        const auto product = [&](Index p) { return waves.row(p).dot(waves.row(p + 3)); };
        double apart = 0;
        for (Index p = 0; p <= 500; ++p) apart = std::max(apart, std::abs(product(p) - product(0)));
        lesson.say(
            "That review calls this the blessing of dimensionality. The Transformer learns no P; its row p holds sin(p "
            "w) and cos(p w) for d/2 frequencies w. These rows are not random, but random words meet them at right "
            "angles all the same. And row p times row p + 3 is " +
            lesson.number("row 0 times row 3", product(0), "%.3f") +
            " for every p: the product depends on the distance alone.");
        const Matrix<double> some_words = unit_rows(seeded.gaussians(2000, d));
        const double size = spread(products_of_rows<double>(some_words, unit_rows(waves.topRows(7))));
        // Rows of neighbours are alike, so only the words count as samples.
        lesson.prove("spread · √d − 1 of 2000 words and these rows; five standard errors",
                     size * std::sqrt(static_cast<double>(d)) - 1, 5 / std::sqrt(4000));
        // 256 frequencies, four angles of up to 503, each rounded by half an epsilon of itself.
        lesson.prove("row p times row p + 3, p to 500: largest change, rounding", apart,
                     256 * 2 * 503 * std::numeric_limits<double>::epsilon());

        lesson.ask("How large is the spread of cosines for d = 4096?", 1 / std::sqrt(4096.0), 0.001,
                   "1/√d. Four times the width halves it.");
        const bool same_deep = x_a.row(3) == x_b.row(2);
        lesson.choose("\"deep\" stands at 3 in A and at 2 in B. Is its x the same?", {"yes", "no"}, same_deep ? 0 : 1,
                      "The word is the same, the row of P is not; the model must learn that both mean deep.");
        lesson.exercise("Make p longer than the word, d = 512. When does a word get lost?", [&] {
            std::vector<std::string> labels;
            std::vector<double> lost;
            for (const double length : {1.0, 2.0, 4.0, 8.0, 16.0}) {
                labels.push_back("p of length " + lesson::text_of(length));
                lost.push_back(meet(512, length).misread);
            }
            lesson.bars("words misread, of 10000", labels, lost, "%.0f");
            lesson.prove("misread at length 2", lost[1], 0);
            lesson.prove_at_least("misread at length 16: more than half", lost[4], 5001);
            lesson.say("What matters is the length of p times the spread, against the length of the word.");
        });
        lesson.end({{"core/positions/position_rows.h", "learned_rows"},
                    {"core/positions/position_rows.h", "sinusoidal_table"}},
                   "qcqced123, DeBERTa and RoFormer; Vaswani et al. 2017, section 3.5.", "05");
    });
}
