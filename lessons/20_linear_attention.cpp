// Lesson 20: Linear attention and RoPE
//
// Question: Softmax needs a score for every pair of words. Can attention do without them, and keep RoPE?
// Before: 17. Minutes: 15. Page: rope.
// Show: rope.shown=linear
#include <cmath>
#include <limits>

#include "core/attention/linear.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

constexpr auto kLayout = RotaryLayout::interleaved;
constexpr double kEps = std::numeric_limits<double>::epsilon();

RotaryTable<double> angles(Index first, Index count, Index width) {
    return rotary_table<double>(inverse_frequencies(width), first, count);
}

/// The weights of every pair when the first word stands at position `first`.
Matrix<double> weights_at(const Matrix<double>& q, const Matrix<double>& k, Index first, LinearForm form) {
    return linear_attention_weights<double>(q, k, angles(first, q.rows(), q.cols()), kLayout, form, false);
}

/// Weights, and after each row its sum.
Matrix<double> with_sums(const Matrix<double>& weights) {
    Matrix<double> table(weights.rows(), weights.cols() + 1);
    table << weights, weights.rowwise().sum();
    return table;
}

/// What one output can be at most if no product cancels another: |phi(q_i)| times all |phi(k_j)|, over the denominator.
double uncancelled_size(const Matrix<double>& q, const Matrix<double>& k) {
    const Matrix<double> phi_q = positive_features<double>(q), phi_k = positive_features<double>(k);
    double size = 0;
    for (Index i = 0; i < q.rows(); ++i) {
        // Causal: the first i + 1 keys alone, which may be the larger ratio.
        for (const Index seen : {i + 1, k.rows()}) {
            const auto keys = phi_k.topRows(seen);
            size = std::max(size,
                            phi_q.row(i).norm() * keys.rowwise().norm().sum() / phi_q.row(i).dot(keys.colwise().sum()));
        }
    }
    return size;
}

double largest(const Matrix<double>& difference) { return difference.cwiseAbs().maxCoeff(); }

/// Multiplications of a matrix product [rows, inner] x [inner, columns].
double product(Index rows, Index inner, Index columns) { return static_cast<double>(rows * inner * columns); }

/// Scores, then weights times values.
double with_pairs(Index tokens, Index d) { return product(tokens, d, tokens) + product(tokens, tokens, d); }

/// KV, then each query times KV and times z.
double without_pairs(Index tokens, Index d) {
    return product(d, tokens, d) + product(tokens, d, d) + product(tokens, d, 1);
}

std::string whole(double value) { return lesson::text_of(value, "%.0f"); }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "20", "Linear attention and RoPE",
        "Softmax needs a score for every pair of words. Can attention do without them, and keep RoPE?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "The weight of key j for query i may be any positive number.  Softmax takes e^score, made for each of the "
            "T² pairs.  Linear attention takes phi(q_i)·phi(k_j) with phi(x) = x + 1 for x > 0, else e^x: always "
            "positive.  Now the sum over keys can be made before any query comes:\n"
            "  Σ_j (phi(q_i)·phi(k_j)) v_j = phi(q_i) KV\n  with KV = Σ_j phi(k_j)ᵀ v_j, a d × d matrix\n"
            "and likewise the sum of the weights is phi(q_i)·z with z = Σ_j phi(k_j).");
        const Index d = 64;
        std::vector<std::vector<std::string>> costs = {{"words T", "every pair: 2T²d", "KV and z: 2Td² + Td", "ratio"}};
        for (const Index tokens : {64, 256, 1024, 4096})
            costs.push_back({std::to_string(tokens), whole(with_pairs(tokens, d)), whole(without_pairs(tokens, d)),
                             lesson::text_of(with_pairs(tokens, d) / without_pairs(tokens, d), "%.2f")});
        lesson.table("Multiplications for one head, d = 64", costs);

        lesson.say(
            "RoPE rotates phi(q) and phi(k) in the numerator only.  The denominator keeps the positive numbers, so "
            "nothing is divided by zero.  A port might instead rotate first and take phi of the result everywhere:\n"
            "  paper         (R_i phi(q_i))·(R_j phi(k_j)) / Σ phi(q_i)·phi(k_j)\n"
            "  rotate first  phi(R_i q_i)·phi(R_j k_j) / Σ phi(R_i q_i)·phi(R_j k_j)");
        const Index tokens = 5, width = 4;
        lesson::Seeded seeded(20);
        const Matrix<double> q = seeded.gaussians(tokens, width), k = seeded.gaussians(tokens, width);
        const Matrix<double> paper = weights_at(q, k, 0, LinearForm::paper),
                             first = weights_at(q, k, 0, LinearForm::rotated_first);
        Matrix<double> both(tokens, 2 * (tokens + 1));
        both << with_sums(paper), with_sums(first);
        lesson.show_signed("  paper: five weights, their sum           rotate first: five weights, their sum", both,
                           "%6.2f", tokens + 1);

        // The same again for 96 words, where the order of the sums matters.
        const Index many = 96;
        const Matrix<double> q_many = seeded.matrix(many, d), k_many = seeded.matrix(many, d),
                             v = seeded.matrix(many, d);
        const RotaryTable<double> table = angles(0, many, d);
        const auto slow = [&](bool causal) -> Matrix<double> {
            return times<double>(
                linear_attention_weights<double>(q_many, k_many, table, kLayout, LinearForm::paper, causal), v);
        };
        // Sums of d and of T in either order, a few roundings more, twice; |v| is at most 1.
        const double rounding = 2 * kEps * static_cast<double>(d + many + 8) * uncancelled_size(q_many, k_many);
        lesson.prove(
            "T = 96: without pairs and with all pairs, largest difference",
            largest(linear_attention<double>(q_many, k_many, v, table, kLayout, LinearForm::paper) - slow(false)),
            rounding);
        lesson.prove(
            "the same looking back only (KV and z grow by one key a query)",
            largest(causal_linear_attention<double>(q_many, k_many, v, table, kLayout, LinearForm::paper) - slow(true)),
            rounding);
        const Matrix<float> fast_float =
            linear_attention<float>(q_many.cast<float>(), k_many.cast<float>(), v.cast<float>(),
                                    rotary_table<float>(inverse_frequencies(d), 0, many), kLayout, LinearForm::paper);
        lesson.prove("without pairs in float, with all pairs in double",
                     largest(fast_float.cast<double>() - slow(false)), 1e-6);
        lesson.prove("rotate first: largest distance of a sum from 1", largest(first.rowwise().sum().array() - 1),
                     tokens * kEps);
        lesson.prove_at_least("paper: largest distance of a sum from 1 (0.01: one digit of the picture)",
                              largest(paper.rowwise().sum().array() - 1), 0.01);
        const double moved_rounding = 2 * kEps * (width + 12 + 2 * 104) * uncancelled_size(q, k);
        lesson.prove("paper: change of a weight when all words move on by 100",
                     largest(weights_at(q, k, 100, LinearForm::paper) - paper), moved_rounding);
        lesson.prove_at_least("rotate first: the same change (bound 0.01, as above)",
                              largest(weights_at(q, k, 100, LinearForm::rotated_first) - first), 0.01);
        const auto negative = static_cast<double>((paper.array() < 0).count());
        lesson.say(lesson.number("negative weights, paper", negative) +
                   " of the 25 weights of the paper are negative.  Weights that sum to 1, or weights in which "
                   "positions enter only as a distance: these forms have one each.  A review (qcqced123) says that "
                   "the official model uses linear attention; the official training script uses softmax.");

        lesson.ask("d = 64.  At T = 4096, how many times fewer multiplications (about)?",
                   with_pairs(4096, d) / without_pairs(4096, d), 1, "2T²d over about 2Td² is T/d = 64.");
        lesson.choose("At T = 64, which way needs fewer multiplications for d = 64?", {"every pair", "KV and z"},
                      with_pairs(64, d) < without_pairs(64, d) ? 0 : 1,
                      "T = d: the sums gain nothing for short texts.");
        lesson.exercise(
            "Rotate the denominator too, for 16 words with q = k = 0 and one pair of channels (θ = 1).  What goes "
            "wrong?",
            [&] {
                const Matrix<double> ones = positive_features<double>(Matrix<double>::Zero(16, 2));
                const Matrix<double> rotated = rotate<double>(ones, angles(0, 16, 2), kLayout);
                const Matrix<double> sums = times_transposed<double>(rotated, rotated).rowwise().sum();
                lesson.show("Σ_j (R_i phi(q_i))·(R_j phi(k_j)) for i = 0 … 15", sums.reshaped<Eigen::RowMajor>(2, 8),
                            "%8.3f");
                lesson.prove_at_least("not rotated, the smallest denominator",
                                      times_transposed<double>(ones, ones).rowwise().sum().minCoeff(), 32);
                lesson.prove_at_least("rotated, minus the smallest denominator: it is negative", -sums.minCoeff(), 1);
            });
        lesson.end(
            {{"core/attention/linear.h", "linear_attention"}, {"core/attention/linear.h", "causal_linear_attention"}},
            "Katharopoulos et al. 2020; Su et al. 2021, eq. 19; qcqced123, RoFormer.", "21");
    });
}
