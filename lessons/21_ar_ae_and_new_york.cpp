// Lesson 21: AR, AE, and New York
//
// Question: What does BERT lose when it guesses two hidden words at once?
// Before: 02. Minutes: 10. Page: permutation.
// Show: text=new+york+is+a+city.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/text/statistics/factorisation.h"
#include "core/text/statistics/words.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// A factor, its probability and its logarithm as a row of a table.
std::vector<std::string> row_of(const Factor& factor, const SentenceCounts& counts, const Document& sentence) {
    const double log_p = counts.log_probability(factor, sentence);
    return {describe(factor, sentence), lesson::text_of(std::exp(log_p), "%.2f"), lesson::text_of(log_p, "%.3f")};
}

/// "X Y is a city".
Document city(const std::string& first, const std::string& second) { return {first, second, "is", "a", "city"}; }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("21", "AR, AE, and New York",
                          "What does BERT lose when it guesses two hidden words at once?");
    return lesson.run(argc, argv, [&] {
        // Twenty sentences are all that was ever written.
        const std::vector<std::pair<Document, Index>> corpus{{city("New", "York"), 7},
                                                             {city("New", "Delhi"), 2},
                                                             {city("Los", "Angeles"), 4},
                                                             {city("San", "Diego"), 2},
                                                             {split_words("New York is a state"), 5}};
        const SentenceCounts counts(corpus);
        const Document new_york = city("New", "York");
        lesson.say(
            "A language model gives probabilities p to words: p(York | New) is the share of York among what stands "
            "after New. Let twenty sentences be all that was ever written: \"New York is a city\" 7 times, New "
            "Delhi 2, Los Angeles 4, San Diego 2, and \"New York is a state\" 5 times. AR, autoregressive (GPT), is "
            "a product over the words, each from those before it, and ln makes it a sum:");
        const std::vector<Factor> left_to_right = autoregressive_factors({1, 2, 3, 4, 5});
        std::vector<std::vector<std::string>> ar{{"factor", "p", "ln p"}};
        for (const Factor& factor : left_to_right) ar.push_back(row_of(factor, counts, new_york));
        const double ln_p = counts.log_probability(left_to_right, new_york);
        ar.push_back({"all of them", lesson::text_of(std::exp(ln_p), "%.2f"), lesson::text_of(ln_p, "%.3f")});
        lesson.table("\"New York is a city\", from left to right", ar);
        double off = 0;
        std::vector<Index> order{1, 2, 3, 4, 5};
        do {
            off = std::max(
                off, std::abs(counts.log_probability(autoregressive_factors(order), new_york) - std::log(7.0 / 20)));
        } while (std::next_permutation(order.begin(), order.end()));
        // Five shares and their logarithms, below 3 in size, each rounded (2 epsilon), and four sums (3/2 epsilon).
        const double rounding = 16 * std::numeric_limits<double>::epsilon();
        lesson.prove("sum of ln p in all 120 orders (XLNet draws one), away from ln(7/20), rounding", off, rounding);
        lesson.correct("NLP 기초, AR models", "the AE model reads word by word", "the AR model (and \"BEAR\" is BERT)");
        double right = 0;
        for (const Factor& factor : left_to_right)
            right +=
                std::any_of(factor.given.begin(), factor.given.end(), [&](Index at) { return at > factor.target; });
        lesson.prove_equal("AR factors from left to right that use a word on the right", right, 0);

        lesson.say(
            "AE, auto-encoding (BERT): hide words under [MASK] and guess each from the words that are not hidden, on "
            "both sides. It does not know its other guesses. AR that starts after \"is a city\" knows its first guess "
            "when it makes the second:");
        const std::vector<Factor> masked = autoencoding_factors(5, {1, 2}),
                                  in_turn = autoregressive_factors({3, 4, 5, 1, 2}, 3);
        const auto joint = [&](const Document& sentence) {
            return std::exp(counts.log_probability(in_turn, sentence));
        };
        const auto apart = [&](const Document& sentence) { return std::exp(counts.log_probability(masked, sentence)); };
        std::vector<std::vector<std::string>> both{{"New York", "p", "ln p"}};
        for (const auto* factors : {&masked, &in_turn}) {
            for (const Factor& factor : *factors) both.push_back(row_of(factor, counts, new_york));
            const double sum = counts.log_probability(*factors, new_york);
            both.push_back({factors == &masked ? "both, AE" : "both, AR", lesson::text_of(std::exp(sum), "%.2f"),
                            lesson::text_of(sum, "%.3f")});
        }
        lesson.table("two words from \"is a city\"", both);
        const double gap = counts.log_probability(in_turn, new_york) - counts.log_probability(masked, new_york);
        lesson.prove(
            "gap AR − AE, away from ln(p(York | is, a, city, New) / p(York | is, a, city)) = ln(0.778 / 0.467) = "
            "0.511, rounding",
            gap - std::log((7.0 / 9) / (7.0 / 15)), rounding);
        lesson.prove("without \"is a city\": ln(p(York | New) / p(York)), away from ln(0.857 / 0.6) = 0.357",
                     counts.log_probability(Factor{2, {1}}, new_york) -
                         counts.log_probability(Factor{2, {}}, new_york) - std::log((12.0 / 14) / (12.0 / 20)),
                     rounding);

        const Document firsts{"New", "Los", "San"}, seconds{"York", "Delhi", "Angeles", "Diego"};
        std::vector<std::vector<std::string>> pairs{{"AR / AE", "York", "Delhi", "Angeles", "Diego"}};
        double unwritten = 0, mean_gap = 0;
        for (const std::string& first : firsts) {
            pairs.push_back({first});
            for (const std::string& second : seconds) {
                const double true_p = joint(city(first, second)), guessed = apart(city(first, second));
                pairs.back().push_back(lesson::text_of(true_p, "%.2f") + " / " + lesson::text_of(guessed, "%.2f"));
                (true_p > 0 ? mean_gap : unwritten) += true_p > 0 ? true_p * std::log(true_p / guessed) : guessed;
            }
        }
        lesson.table("p of every pair before \"is a city\"", pairs);
        lesson.prove_at_least("AE: share of pairs that were never written, like Los York", unwritten, 0.5);
        double single = 0;
        for (Index t = 1; t <= 5; ++t) {
            std::vector<Index> last{1, 2, 3, 4, 5};
            std::rotate(last.begin() + t - 1, last.begin() + t, last.end());
            single = std::max(single, std::abs(counts.log_probability(autoregressive_factors(last, 4), new_york) -
                                               counts.log_probability(autoencoding_factors(5, {t}), new_york)));
        }
        lesson.prove("one hidden word: largest gap of five places", single, 0);
        lesson.say(
            "And [MASK] itself: of 128 words BERT picks 19 (15 %) and writes [MASK] over each with chance 0.8. "
            "Training took 256 million inputs. In use no input has a [MASK]; the model meets what it never saw:");
        // Devlin et al. 2019, A.2: a million steps of 256 inputs, most of 128 words; longer ones only lower the number.
        lesson.prove("inputs without [MASK] to be expected in training, 256 million × 0.2^19",
                     256e6 * std::pow(0.2, 19), 1);

        lesson.ask("How large is the gap if York alone is hidden?", single, 0, "One guess has no other to ignore.");
        const std::vector<std::pair<std::string, std::string>> offers{
            {"Los", "Angeles"}, {"San", "York"}, {"New", "Delhi"}};
        Index never = 0;
        std::vector<std::string> names;
        for (const auto& [first, second] : offers) {
            if (joint(city(first, second)) == 0) never = static_cast<Index>(names.size());
            names.push_back(first + " " + second);
        }
        lesson.choose("Which pair does AE guess at times, though nobody wrote it?", names, never,
                      "Each word fits before \"is a city\"; together they do not.");
        lesson.exercise("Hide York and city instead. Does AE rate the sentence too low again?", [&] {
            const double other = counts.log_probability(autoregressive_factors({1, 3, 4, 2, 5}, 3), new_york) -
                                 counts.log_probability(autoencoding_factors(5, {2, 5}), new_york);
            lesson.say("The gap is " + lesson::text_of(other, "%.3f") +
                       ": too high. York and city are rivals: of 12 sentences with York, 5 end in state. A gap can be "
                       "negative, "
                       "but not its mean, weighted by p:");
            lesson.prove_at_least("how far the gap lies below 0", -other, 0.01);
            lesson.prove_at_least("mean gap of all pairs before \"is a city\"", mean_gap, 0);
        });
        lesson.end({{"core/text/statistics/factorisation.h", "autoencoding_factors"}},
                   "NLP 기초; Yang et al. 2019, 2.1 and 2.6; Devlin et al. 2019, A.2.", "22");
    });
}
