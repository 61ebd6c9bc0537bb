// Lesson 18: Long-term decay
//
// Question: The paper says that far words get small scores under RoPE. Do they?
// Before: 17. Minutes: 15. Page: rope.
// Show: rope.base=1&rope.layer=2&rope.head=0
#include <cmath>
#include <limits>

#include "core/positions/rotary.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

constexpr auto kLayout = RotaryLayout::interleaved;
constexpr Index kCount = 513;  // distances 0 ... 512, so 512 steps
constexpr Index kStride = 4;   // of the plot: one distance for each of its 62 columns
constexpr double kEps = std::numeric_limits<double>::epsilon();

/// B(r) for r = 0 ... 512.
std::vector<double> bound_curve(Index width) {
    const std::vector<double> theta = inverse_frequencies(width);
    std::vector<double> heights;
    for (Index r = 0; r < kCount; ++r) heights.push_back(decay_bound(theta, static_cast<double>(r)));
    return heights;
}

/// Distances at which a curve is higher than one step before.
std::vector<Index> rises(const std::vector<double>& curve) {
    std::vector<Index> where;
    for (std::size_t r = 1; r < curve.size(); ++r)
        if (curve[r] > curve[r - 1]) where.push_back(static_cast<Index>(r));
    return where;
}

RowVector<double> as_row(const std::vector<double>& curve) {
    return Eigen::Map<const RowVector<double>>(curve.data(), static_cast<Index>(curve.size()));
}

/// Largest |score| of all distances as a share of its bound.
double nearest_to_bound(const RowVector<double>& q, const RowVector<double>& k, const std::vector<double>& theta) {
    const RowVector<double> scores = as_row(score_curve(q, k, theta, kLayout, kCount));
    return scores.cwiseAbs().cwiseQuotient(as_row(score_bound(q, k, theta, kLayout, kCount))).maxCoeff();
}

/// The scores of lesson 17: q at positions 0 ... 512, k at position 0.
RowVector<double> rotated_products(const RowVector<double>& q, const RowVector<double>& k,
                                   const std::vector<double>& theta) {
    const Matrix<double> queries = q.replicate(kCount, 1);
    return times_transposed<double>(k, rotate<double>(queries, rotary_table<double>(theta, 0, kCount), kLayout));
}

/// The root of the mean square of the scores of random q and k, at every distance.
std::vector<double> random_scores(Index pairs, const std::vector<double>& theta) {
    lesson::Seeded seeded(18);
    std::vector<double> squares(kCount);
    for (Index pair = 0; pair < pairs; ++pair) {
        const Matrix<double> both = seeded.gaussians(2, static_cast<Index>(2 * theta.size()));
        const std::vector<double> scores = score_curve(both.row(0), both.row(1), theta, kLayout, kCount);
        for (std::size_t r = 0; r < scores.size(); ++r) squares[r] += scores[r] * scores[r];
    }
    for (double& square : squares) square = std::sqrt(square / static_cast<double>(pairs));
    return squares;
}

/// Every fourth value as a share of the first, `count` of them.
std::vector<double> relative(const std::vector<double>& curve, std::size_t count) {
    std::vector<double> shares;
    for (std::size_t n = 0; n < count; ++n) shares.push_back(curve[kStride * n] / curve[0]);
    return shares;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("18", "Long-term decay",
                          "The paper says that far words get small scores under RoPE. Do they?");
    return lesson.run(argc, argv, [&] {
        const Index d = 64;
        const std::vector<double> theta = inverse_frequencies(d);
        lesson.say(
            "Read a pair of channels as one complex number, a point of the plane.  Pair t of q times pair t of k "
            "(mirrored) is such a number, h_t.  At r = m − n, the position of q minus that of k, the score is the real "
            "part of\n"
            "  h_0 e^(i r θ_0) + h_1 e^(i r θ_1) + …\n"
            "where e^(iα) is an arrow of length 1 at the angle α.  Lay the first j arrows end to end, and S_j is where "
            "they end.  The sum can be rewritten with steps of h and ends S_j (Abel; after the last pair h is 0):\n"
            "  |score| ≤ (largest |h_{t+1} − h_t|) × (|S_1| + … + |S_{d/2}|)\n"
            "B(r), the curve of the paper, is the mean of the |S_j|.  At r = 0 all arrows point one way; with distance "
            "they point in many directions.");
        lesson.correct("qcqced123, decay", "the curve is perhaps an inner product",
                       "a factor of a bound: no q, no k in it");
        const std::vector<double> b = bound_curve(d), b_128 = bound_curve(2 * d);
        const RowVector<double> equal = RowVector<double>{{1, 0}}.replicate(1, d / 2);  // all arrows alike
        const std::vector<double> same = score_curve(equal, equal, theta, kLayout, kCount);
        const std::vector<double> random = random_scores(100, theta);
        std::vector<double> distances;
        for (Index r = 0; r < 248; r += kStride) distances.push_back(static_cast<double>(r));
        lesson.curves("d = 64, every fourth distance; each curve divided by its value at r = 0",
                      "distance r in positions", distances, "share",
                      {{"score of q = k", 's', relative(same, distances.size())},
                       {"B(r)", 'b', relative(b, distances.size())},
                       {"random q, k", 'r', relative(random, distances.size())}},
                      13);
        std::vector<std::vector<std::string>> rows = {{"r", "B, d = 64", "B, d = 128", "score q = k", "random"}};
        for (const std::size_t r : {0, 1, 5, 11, 12, 50, 100, 500})
            rows.push_back({std::to_string(r), lesson::text_of(b[r], "%.3f"), lesson::text_of(b_128[r], "%.3f"),
                            lesson::text_of(same[r], "%.2f"), lesson::text_of(random[r], "%.1f")});
        lesson.table("q = k: every pair is (1, 0).  Random: root mean square of 100 draws", rows);

        lesson.prove_equal("B(0): all arrows in a line, so it is (1 + 2 + … + d/2) / (d/2)", b[0], (d / 2 + 1) / 2.0);
        lesson.prove_equal("steps of 512 in which B rises, d = 64", static_cast<double>(rises(b).size()), 233);
        lesson.prove_equal("the first distance at which B is higher than one step before",
                           static_cast<double>(rises(b).at(0)), 12);
        const Matrix<double> pair = lesson::Seeded(181).gaussians(2, d);
        const RowVector<double> q = pair.row(0), k = pair.row(1);
        const RowVector<double> arrows = as_row(score_curve(q, k, theta, kLayout, kCount));
        // 512 radians rounded to half an eps, sums of d and a few roundings more, in both.
        lesson.prove("sum of arrows − score of lesson 17, largest difference, random q and k",
                     (arrows - rotated_products(q, k, theta)).cwiseAbs().maxCoeff(),
                     kEps * (512 + d + 12) * q.norm() * k.norm());
        lesson.prove("largest |score| as a share of its bound, these and q = k",
                     std::max(nearest_to_bound(q, k, theta), nearest_to_bound(equal, equal, theta)), 1);
        lesson.prove_at_least("steps of 512 in which the score of q = k rises", static_cast<double>(rises(same).size()),
                              1);
        // 100 draws know a root mean square to 7 %, less for the mean of 64 distances.
        const double far = as_row(random).tail(64).mean(), near = as_row(random).head(64).mean();
        lesson.prove_at_least("random scores at r = 449 … 512 as a share of those at 0 … 63", far / near, 0.9);
        lesson.say(
            "So the bound holds, is loose, falls on average and is not monotone.  Vectors that agree in every pair "
            "lose score with distance.  Vectors that have nothing to do with each other lose nothing.");

        lesson.ask("d = 128.  What is B(0)?", b_128[0], 1e-9, "(d/2 + 1) / 2 = 32.5, the mean of 1, 2, …, 64.");
        lesson.choose("Which of these falls at every step?", {"B(r)", "the score of q = k", "neither"},
                      rises(b).empty()      ? 0
                      : rises(same).empty() ? 1
                                            : 2,
                      "B rises in 233 of 512 steps, and the score of q = k in about as many.");
        lesson.exercise("d = 4 has two arrows, θ = 1 and 0.01.  When is B(r) back at B(0)?", [&] {
            lesson.say(
                "|S_1| = 1, and two arrows with the angle 0.99 r between them reach 2 |cos(0.495 r)|.  So B is "
                "back at 1.5 near every multiple of π / 0.495 = 6.35; it never decays:");
            const std::vector<double> two = bound_curve(4);
            std::vector<std::vector<std::string>> small = {{"r", "B(r)", "(1 + 2 |cos 0.495 r|) / 2"}};
            double difference = 0;
            for (std::size_t r = 0; r < two.size(); ++r) {
                const double mine = (1 + 2 * std::abs(std::cos(0.495 * static_cast<double>(r)))) / 2;
                difference = std::max(difference, std::abs(two[r] - mine));
                if (r % 3 == 0 && r < 10)
                    small.push_back(
                        {std::to_string(r), lesson::text_of(two[r], "%.4f"), lesson::text_of(mine, "%.4f")});
            }
            lesson.table("d = 4", small);
            // 0.495 r reaches 253 radians, rounded to half an eps of that twice; the arrows' own angles likewise.
            lesson.prove("B(r) and the formula, r = 0 … 512: largest difference", difference, 2 * 253 * kEps);
        });
        lesson.end({{"core/positions/rotary.h", "decay_bound"}, {"core/positions/rotary.h", "score_bound"}},
                   "Su et al. 2021, section 3.4.3; qcqced123, RoFormer.", "19");
    });
}
