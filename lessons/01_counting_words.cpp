// Lesson 01: Counting words
//
// Question: How much of a text is left when a machine only counts its words?
// Before: none. Minutes: 10. Page: text.
// Show: text_page.stop_words=yes&text_page.pair=4,5&text_page.weight=5,13
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text/statistics/ngrams.h"
#include "core/text/statistics/similarity.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/words.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// Of a cosine: two roots, a product and a quotient, each off by half an epsilon at most.
constexpr double kRounding = 2 * std::numeric_limits<double>::epsilon();

/// Cosine of the counts of n words in a row, between two texts.
double cosine_of_ngrams(const std::string& a, const std::string& b, Index n) {
    const std::vector<Document> grams{word_ngrams(split_words(a), n), word_ngrams(split_words(b), n)};
    return cosine_similarities(bag_of_words(grams).counts)(0, 1);
}

/// The weight of a word that df of two texts hold; not a number where the form divides by df = 0.
double weight(Index df, Idf form) {
    try {
        return inverse_document_frequency(2, df, form);
    } catch (const Error&) {
        return std::nan("");
    }
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("01", "Counting words", "How much of a text is left when a machine only counts its words?");
    return lesson.run(argc, argv, [&] {
        const std::vector<Document> documents{split_words("a new car, used car, car review"),
                                              split_words("a friend in need is a friend indeed")};
        const BagOfWords bag = bag_of_words(documents);
        lesson.say(
            "  A  \"a new car, used car, car review\"\n"
            "  B  \"a friend in need is a friend indeed\"\n"
            "A machine computes with numbers, so a text becomes counts: a row per text, a column per word, the bag "
            "of words. TF (term frequency) is a word's share of its text. IDF = log10(N / df) tells how rare it is: "
            "N texts, of which df hold it. Their product is large for a word that is frequent here and rare "
            "elsewhere:");

        const Matrix<double> tf = term_frequencies(bag.counts), weights = tf_idf(bag.counts);
        const RowVector<double> idf = inverse_document_frequencies(bag.counts);
        // NLP 기초, section 3, as printed; the words in the order in which they are met.
        const Matrix<double> printed{{0, 0.04, 0.13, 0.04, 0.04, 0, 0, 0, 0, 0},
                                     {0, 0, 0, 0, 0, 0.08, 0.04, 0.04, 0.04, 0.04}};
        std::vector<std::vector<std::string>> rows{
            {"word", "TF A", "TF B", "IDF", "TF·IDF A", "notes", "TF·IDF B", "notes"}};
        for (Index word = 0; word < bag.words.size(); ++word) {
            rows.push_back({bag.words.word(word)});
            for (const double value : {tf(0, word), tf(1, word), idf[word]})
                rows.back().push_back(lesson::text_of(value, "%.3f"));
            for (const Index text : {0, 1}) {
                rows.back().push_back(lesson::text_of(weights(text, word), "%.6f"));
                rows.back().push_back(lesson::text_of(printed(text, word), "%.2f"));
            }
        }
        lesson.table("every word of both texts, and what the notes NLP 기초 print", rows);
        lesson.prove("largest distance from a printed value: at most half of its last digit",
                     (weights - printed).cwiseAbs().maxCoeff(), 0.005);

        const double by_counts = cosine_similarities(bag.counts)(0, 1);
        lesson.say(
            "How alike are two rows a and b? The cosine a·b / (‖a‖ ‖b‖) is 1 for the same direction and 0 for nothing "
            "in common. By counts A and B have " +
            lesson.number("cosine by counts", by_counts, "%.3f") +
            ", all of it from the word \"a\"; TF·IDF gives that word the weight 0:");
        lesson.prove_equal("cosine of A and B by TF·IDF", cosine_similarities(tf_idf(bag.counts))(0, 1), 0);

        const std::vector<std::pair<std::string, std::string>> pairs{{"home run", "run home"},
                                                                     {"the dog bit the man", "the man bit the dog"}};
        std::vector<std::vector<std::string>> cosines{{"two texts", "n = 1", "n = 2", "n = 3"}};
        double from_one = 0;
        for (const auto& [a, b] : pairs) {
            cosines.push_back({a + " / " + b});
            for (Index n = 1; n <= 3; ++n) {
                const bool long_enough = static_cast<Index>(split_words(a).size()) >= n;
                cosines.back().push_back(long_enough ? lesson::text_of(cosine_of_ngrams(a, b, n), "%.2f") : "");
            }
            from_one = std::max(from_one, std::abs(cosine_of_ngrams(a, b, 1) - 1));
        }
        lesson.say("The price is order. Counting n words in a row, n-grams, keeps a little of it:");
        lesson.table("cosine of the counts of n-grams", cosines);
        lesson.prove("distance of both cosines for n = 1 from 1, up to rounding", from_one, kRounding);
        lesson.prove_equal("cosine of the two bites for n = 3", cosine_of_ngrams(pairs[1].first, pairs[1].second, 3),
                           0);

        lesson.say(
            "A word in no text has df = 0, and N / df divides by 0. Where must \"+ 1\" stand to help? (Only "
            "the last column helps; its price: a word of every text gets a negative weight.)");
        std::vector<std::vector<std::string>> smoothing{
            {"df of N = 2", "log(N/df)", "log(N/df + 1)", "log(N/(df + 1))"}};
        for (const Index df : {0, 1, 2}) {
            smoothing.push_back({std::to_string(df)});
            for (const Idf form : {Idf::plain, Idf::as_printed, Idf::df_plus_one}) {
                const double value = weight(df, form);
                smoothing.back().push_back(std::isfinite(value) ? lesson::text_of(value, "%.3f")
                                                                : "none: divides by 0");
            }
        }
        lesson.table("three ways to weigh", smoothing);
        lesson.correct("NLP 기초, section 3", "LOG(N / df + 1)", "LOG(N / (df + 1))");
        double answers = 0;
        for (const Idf form : {Idf::as_printed, Idf::df_plus_one}) answers += std::isfinite(weight(0, form));
        lesson.prove_equal("forms of these two that answer for df = 0", answers, 1);

        lesson.ask("\"car\" weighs 0.129 with log10. How much with the natural logarithm?",
                   tf_idf(bag.counts, Idf::plain, LogBase::natural).coeff(0, 2), 0.005,
                   "3/7 times ln 2. \"Log\" alone does not name the base; the printed 0.3 does.");
        const std::vector<std::string> choices{"the dog bit a man", "bit the man the dog", "the dog the dog bit man"};
        Index same = 0;
        while (std::abs(cosine_of_ngrams(choices[static_cast<std::size_t>(same)], pairs[1].first, 1) - 1) > 1e-9)
            ++same;
        lesson.choose("Which has the same bag of words as \"the dog bit the man\"?", choices, same,
                      "Each word as often as there; that nobody speaks like this does not show.");
        lesson.exercise(
            "Count: after \"how are you doing\", \"how are you\", \"how are they\", what follows \"how "
            "are\"?",
            [&] {
                const NextWordTable table(
                    {split_words("how are you doing"), split_words("how are you"), split_words("how are they")}, 3);
                const std::vector<NextWord> next = table.after(split_words("how are"));
                std::vector<std::string> words;
                std::vector<double> shares;
                for (const NextWord& one : next) {
                    words.push_back(one.word);
                    shares.push_back(one.probability);
                }
                lesson.bars("share of what followed \"how are\" (trigrams)", words, shares, "%.3f");
                lesson.prove_equal("times that \"you\" followed, as in NLP 기초", static_cast<double>(next[0].count),
                                   2);
                lesson.say("This is a language model: the next word from those before it. It knows what it has met.");
            });
        lesson.end({{"core/text/statistics/tf_idf.h", "inverse_document_frequency"},
                    {"core/text/statistics/ngrams.h", "word_ngrams"}},
                   "NLP 기초, sections 1 to 5; Spärck Jones 1972.", "02");
    });
}
