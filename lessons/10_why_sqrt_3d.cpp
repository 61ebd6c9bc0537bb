// Lesson 10: Why √(3d)
//
// Question: Attention divides its scores by √d, DeBERTa by √(3d). Where does the 3 come from, and who would miss it?
// Before: 08. Minutes: 10. Page: attention.
// Show: text=deep+learning+is+so+deep.&layer=3&head=2&cell=2,1&attention.curve=share
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/models/deberta_config.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

constexpr Index kTokens = 256, kWidth = 64;  // T, and d of one head in every released DeBERTa

/// Everything one head multiplies, drawn from a normal distribution of mean 0 and the standard deviation `sigma`.
struct Drawn {
    explicit Drawn(double sigma) {
        lesson::Seeded seeded(10);
        for (Matrix<double>* drawn : {&q, &k}) *drawn = sigma * seeded.gaussians(kTokens, kWidth);
        for (Matrix<double>* drawn : {&k_r, &q_r}) *drawn = sigma * seeded.gaussians(2 * kTokens, kWidth);
    }
    /// The raw sum of the active terms [T,T].
    Matrix<double> sum(const Terms& terms) const {
        const RelativeBuckets buckets = RelativeBuckets::clamped(kTokens, kTokens, kTokens);
        Matrix<double> scores = content_to_content<double>(q, k);
        if (terms.c2p) scores += content_to_position<double>(q, k_r, buckets);
        if (terms.p2c) scores += position_to_content<double>(k, q_r, buckets);
        return scores;
    }
    Matrix<double> q, k, k_r, q_r;
};

/// Root of the mean square over all cells; their mean is 0.
double deviation(const Matrix<double>& cells) { return std::sqrt(cells.squaredNorm() / double(cells.size())); }

/// Correlation of two tables of mean 0.
double correlation(const Matrix<double>& a, const Matrix<double>& b) {
    return a.cwiseProduct(b).sum() / (a.norm() * b.norm());
}
Matrix<double> centred(const Matrix<double>& column) { return column.array() - column.mean(); }

/// What softmax makes of scores, as means over all queries: how many words share the attention (e to the power of the
/// entropy), and the probabilities, largest first.
struct Shares {
    explicit Shares(const Matrix<double>& scores) : sorted(static_cast<std::size_t>(kTokens)) {
        Matrix<double> probs = masked_softmax<double>(scores, Mask());
        for (Index i = 0; i < kTokens; ++i) {
            const double entropy = -(probs.row(i).array() * probs.row(i).array().log()).sum();
            words += std::exp(entropy) / kTokens;
            std::sort(probs.row(i).begin(), probs.row(i).end(), [](double a, double b) { return a > b; });
            for (std::size_t n = 0; n < sorted.size(); ++n) sorted[n] += probs(i, static_cast<Index>(n)) / kTokens;
        }
    }
    double words = 0;
    std::vector<double> sorted;
};

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "10", "Why √(3d)",
        "Attention divides its scores by √d, DeBERTa by √(3d). Where does the 3 come from, and who would miss it?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "A score adds d products of one number of q and one of k. If all these numbers have mean 0 and standard "
            "deviation σ = 1, so has each product; a sum of d of them has variance d, so σ = √d. Variances of "
            "uncorrelated terms add up: n terms have variance n·d. That is why three matrices make a 3.\n"
            "Models have several heads side by side in a layer: each is an attention with its own W_q, W_k and W_v, "
            "which make d numbers, and their outputs are joined to a row of D numbers again. This is one head of "
            "seeded normal numbers, 256 words, d = 64; pos_att_type is the field of the checkpoint that names the "
            "position terms:");
        const Drawn drawn(1);
        double worst = 0;
        std::vector<std::vector<std::string>> rows = {
            {"pos_att_type", "n", "σ of the sum", "√(n·d)", "σ divided by it"}};
        for (const Terms& terms : {Terms{false, false}, Terms{true, false}, Terms{false, true}, Terms{true, true}}) {
            const double measured = deviation(drawn.sum(terms)), divisor = score_divisor<double>(terms.count(), kWidth);
            worst = std::max(worst, std::abs(measured / divisor - 1));
            const char* name = terms.c2p ? (terms.p2c ? "c2p|p2c" : "c2p") : terms.p2c ? "p2c" : "none";
            rows.push_back({name, std::to_string(terms.count()), lesson::text_of(measured, "%.2f"),
                            lesson::text_of(divisor, "%.2f"), lesson::text_of(measured / divisor, "%.3f")});
        }
        lesson.table("the sum of the terms, over 256 × 256 = 65536 cells:", rows);
        // A variance measured on N cells that share T queries and T keys is off by sqrt(2/N + 4/(T d)), relatively;
        // sigma is off by half of that, and three times as much is rare.
        const double cells = kTokens * kTokens;
        const double bound = 3 * std::sqrt(2 / cells + 4.0 / (kTokens * kWidth)) / 2;
        lesson.say(
            "How near must 1 be? The variance of N = 65536 cells made of 256 queries and 256 keys has the relative "
            "standard error √(2/N + 4/(256·d)), and σ half of that. The bound is three times it.");
        lesson.prove("farthest that σ / √(n·d) is from 1, in the four rows", worst, bound);

        const Matrix<double> c2c = drawn.sum({false, false}), c2p = drawn.sum({true, false}) - c2c;
        lesson.say(
            "That the terms are uncorrelated is enough. They are not independent: c2c and c2p share q_i, and a long "
            "q_i "
            "makes both large.");
        lesson.prove("correlation of c2c and c2p over all cells, three standard errors", correlation(c2c, c2p),
                     3 * std::sqrt((1 + 2.0 / kWidth) / cells));
        lesson.prove_at_least("correlation of their squares, summed for each query",
                              correlation(centred(c2c.rowwise().squaredNorm()), centred(c2p.rowwise().squaredNorm())),
                              0.5);

        const Matrix<double> sum = drawn.sum(Terms());
        const double root_d = score_divisor<double>(1, kWidth), root_3d = score_divisor<double>(3, kWidth);
        const Shares right(sum / root_3d), wrong(sum / root_d);
        lesson.say("Forget the 3, and the scores have σ = √3. Softmax takes that for certainty:");
        std::vector<double> ranks;
        for (int rank = 1; rank <= 48; ++rank) ranks.push_back(rank);
        const auto top = [&](const Shares& shares) {
            return std::vector<double>(shares.sorted.begin(), shares.sorted.begin() + 48);
        };
        lesson.curves("probabilities of a query, largest first, mean over 256 queries:", "rank of the key", ranks,
                      "probability", {{"divided by √d", 'd', top(wrong)}, {"divided by √(3d)", '3', top(right)}}, 9);
        lesson.prove("σ of three terms divided by √d, over √3, minus 1", deviation(sum) / root_d / std::sqrt(3) - 1,
                     bound);
        lesson.say(
            "Count the words that share a query's attention as e to the power of its entropy \u2212Σ p ln p: n where n "
            "words have 1/n each, 1 where one has all. " +
            lesson.number("words with sqrt(3d)", right.words, "%.0f") + " of 256 with √(3d), " +
            lesson.number("words with sqrt(d)", wrong.words, "%.0f") +
            " with √d. For very many keys they are a share e to the power of −σ²/2 of all, so the 3 is worth a factor "
            "of e ≈ 2.72; 256 keys are few, so ask for 2.");
        lesson.prove_at_least("words that share with √(3d), over those with √d", right.words / wrong.words, 2);

        const DebertaConfig twice = parse_deberta_config(
            R"({"model_type": "deberta", "vocab_size": 9, "hidden_size": 64, "num_hidden_layers": 1,
                "num_attention_heads": 1, "intermediate_size": 64, "relative_attention": true,
                "pos_att_type": "c2p|c2p"})",
            "config.json");
        lesson.say(
            "Count terms, not names. \"c2p|c2p\" is one position term, n = 2; transformers counts the names for "
            "version 1 of DeBERTa and divides by √(3d):");
        lesson.prove_equal("n by names minus n by terms, for c2p|c2p",
                           double(1 + twice.listed_terms - twice.terms.count()), 1);

        const Index heads = 12;
        lesson.correct("joowan1108, DeBERTa", "Q Kᵀ / √d, d the width of the hidden states",
                       "√d with d the width of one head");
        lesson.prove("σ of c2c over √(12·64), the width of 12 heads; 1/√12 expected",
                     deviation(drawn.sum({false, false})) / std::sqrt(double(heads * kWidth)),
                     (1 + bound) / std::sqrt(double(heads)));

        lesson.ask("With the fourth term p2p as well and d = 64, by what are the scores divided?",
                   score_divisor<double>(Terms{true, true, true}.count(), kWidth), 0.05, "√(4·64).");
        lesson.choose("pos_att_type is \"p2c\". What is the divisor?", {"√d", "√(2d)", "√(3d)"},
                      Terms{false, true}.count() - 1, "c2c and one position term: n = 2.");
        lesson.exercise(
            "Let every number of q, k, k_r and q_r have σ = ½ instead of 1. Which divisor keeps the scores at 1?", [&] {
                const Matrix<double> halves = Drawn(0.5).sum(Terms());
                lesson.say("Every product has two halves, so each score is exactly a quarter, and so is the divisor:");
                lesson.prove_equal("cells that are not a quarter of what they were",
                                   double((4 * halves.array() != sum.array()).count()), 0);
                lesson.prove("σ after division by √(3d) / 4, minus 1", deviation(halves) / (root_3d / 4) - 1, bound);
                lesson.say(
                    "So √(3d) gives scores of size 1 for σ = 1 only. Fresh weights (σ 0.02) make q and k smaller, "
                    "0.02 · √768 = 0.55 for D = 768: training starts with small scores, and then the weights choose "
                    "their own σ.");
            });
        lesson.end({{"core/attention/disentangled.h", "score_divisor"},
                    {"core/models/deberta_config.h", "parse_deberta_config"}},
                   "He et al. 2021, eq. 4; qcqced123 and joowan1108.", "11");
    });
}
