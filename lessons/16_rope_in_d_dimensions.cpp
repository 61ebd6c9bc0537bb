// Lesson 16: RoPE in d dimensions
//
// Question: A head has 64 channels, not two. How are they all rotated, and what does it cost?
// Before: 15. Minutes: 10. Page: rope.
// Show: rope.layer=0&rope.head=1&rope.query=7&rope.key=3
#include <cmath>
#include <limits>
#include <numbers>

#include "core/positions/rotary.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

constexpr auto kLayout = RotaryLayout::interleaved;
constexpr double kEps = std::numeric_limits<double>::epsilon();

/// The table of one position: cos mθ_t and sin mθ_t for every pair t.
RotaryTable<double> angles_at(Index m, Index width) { return rotary_table<double>(inverse_frequencies(width), m, 1); }

struct ByElement {
    RowVector<double> y;
    Index multiplications;
};

/// The appendix by hand: x times cosines plus the swapped x times sines.  `as_printed` keeps the last pair of the
/// review.
ByElement by_element(const RowVector<double>& x, const RotaryTable<double>& table, bool as_printed) {
    const Index d = x.size();
    RowVector<double> swapped(d);
    for (Index c = 0; c < d; c += 2) swapped.segment(c, 2) << -x[c + 1], x[c];
    if (as_printed) swapped.tail(2) << -x[d - 2], x[d - 1];
    ByElement result{RowVector<double>(d), 0};
    for (Index c = 0; c < d; ++c) {
        result.y[c] = x[c] * table.cos(0, c / 2) + swapped[c] * table.sin(0, c / 2);
        result.multiplications += 2;
    }
    return result;
}

/// Length of the vector that the channels 2t and 2t + 1 make.
double pair_length(const RowVector<double>& x, Index t) { return x.segment(2 * t, 2).norm(); }

std::string whole(double value) { return lesson::text_of(value, "%.0f"); }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("16", "RoPE in d dimensions",
                          "A head has 64 channels, not two. How are they all rotated, and what does it cost?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "The d channels of a head are taken in pairs: 0 and 1, 2 and 3, and so on.  Pair t rotates by its own "
            "angle θ_t = 10000^(−2t/d) a step.  After 2π/θ_t positions, its wavelength, it looks the same again.  "
            "(qcqced123 calls θ periodic; θ_t only falls with t, and it is cos mθ_t that repeats.)  d = 8:");
        const Index d = 8;
        const std::vector<double> theta = inverse_frequencies(d);
        std::vector<std::vector<std::string>> waves = {{"pair t", "channels", "θ_t", "wavelength", "angle at m = 3"}};
        for (Index t = 0; t < d / 2; ++t) {
            const double theta_t = theta[static_cast<std::size_t>(t)];
            waves.push_back({std::to_string(t), std::to_string(2 * t) + ", " + std::to_string(2 * t + 1),
                             lesson::text_of(theta_t, "%.3f"), lesson::text_of(2 * std::numbers::pi / theta_t, "%.1f"),
                             lesson::text_of(3 * theta_t, "%.3f")});
        }
        lesson.table("Four pairs, four angles a step", waves);
        lesson.show_signed("R_3: the rotations of lesson 15 as blocks along the diagonal, zeros elsewhere",
                           rotation_matrix<double>(angles_at(3, d), 0, kLayout), "%7.3f", 2);

        // Three ways to the same numbers, here for d = 64 at position 100.
        const Index wide = 64, far = 100;
        const RowVector<double> x = lesson::Seeded(16).matrix(1, wide);
        const RotaryTable<double> table = angles_at(far, wide);
        const Matrix<double> y = rotate<double>(x, table, kLayout);
        double longest_pair = 0;
        for (Index t = 0; t < wide / 2; ++t) longest_pair = std::max(longest_pair, pair_length(x, t));
        const ByElement by_hand = by_element(x, table, false);
        const Matrix<double> r_m = rotation_matrix<double>(table, 0, kLayout);
        const auto filled = static_cast<double>((r_m.array() != 0).count());
        const double all = static_cast<double>(r_m.size()), kept = static_cast<double>(table.sin.size() * 2);
        const double used = static_cast<double>(by_hand.multiplications), positions = 512, bytes = sizeof(float);
        lesson.say(
            "Nearly all of the matrix is zero.  Element by element the same is x_c cos + p_c sin, where p, the "
            "partners, is (\u2212x1, x0, \u2212x3, x2, \u2026).  A pair may also be read as one complex number, and "
            "multiplied by cos + i sin.  For d = 64:");
        lesson.table("What is kept for 512 positions (4 bytes a number) and multiplied per vector",
                     {{"form", "numbers per position", "kB", "multiplications"},
                      {"matrix", whole(all), whole(all * positions * bytes / 1000), whole(all)},
                      {"elementwise", whole(kept), whole(kept * positions * bytes / 1000), whole(used)},
                      {"complex", whole(kept), whole(kept * positions * bytes / 1000), whole(4 * wide / 2)}});
        // Two products and one sum are rounded in each form, so two forms differ by at most four half eps of the pair.
        const double bound = 2 * kEps * longest_pair;
        lesson.prove("matrix and elementwise: largest difference",
                     (rotate_by_matrix<double>(x, table, kLayout) - y).cwiseAbs().maxCoeff(), bound);
        lesson.prove("complex and elementwise: largest difference",
                     (rotate_by_complex<double>(x, table, kLayout) - y).cwiseAbs().maxCoeff(), bound);
        lesson.prove("the formula of the appendix by hand and core's rotate: largest difference",
                     (by_hand.y - y).cwiseAbs().maxCoeff(), bound);
        lesson.prove_equal("cells of the matrix that are not zero = elementwise multiplications", filled, used);
        lesson.prove_equal("numbers of the matrix for one of the table: d", all / kept, static_cast<double>(wide));

        lesson.say(
            "The appendix of qcqced123's review writes the partners as a column, x_1 to x_d.  Its last two lines are "
            "misprinted.  They belong to the slowest pair, so a test with a few words sees almost nothing:");
        lesson.correct("qcqced123, appendix", "…, −x_{d−1}, x_d", "…, −x_d, x_{d−1}");
        const RowVector<double> small{{1, 2, 1, 2, 1, 2, 1, 2}};
        std::vector<std::vector<std::string>> lengths = {{"position m", "before", "right", "as printed"}};
        Index broken = 0;
        for (const Index m : {Index(3), Index(30), Index(300), Index(511)}) {
            const RowVector<double> printed = by_element(small, angles_at(m, d), true).y;
            const RowVector<double> right = by_element(small, angles_at(m, d), false).y;
            lengths.push_back({std::to_string(m), lesson::text_of(pair_length(small, 3), "%.3f"),
                               lesson::text_of(pair_length(right, 3), "%.3f"),
                               lesson::text_of(pair_length(printed, 3), "%.3f")});
            for (Index t = 0; t < d / 2; ++t)
                broken += std::abs(pair_length(printed, t) - pair_length(small, t)) > 5 * kEps * pair_length(small, t);
        }
        lesson.table("Length of the last pair of (1, 2, 1, 2, 1, 2, 1, 2)", lengths);
        lesson.prove_equal("pairs of 16 that change their length as printed: the last one, four times",
                           static_cast<double>(broken), static_cast<double>(lengths.size() - 1));
        lesson.ask("d = 8.  After how many positions (about) does pair 2 look the same again?",
                   2 * std::numbers::pi / theta[2], 1, "θ_2 = 0.01, and 2π / 0.01 = 628.3.");
        lesson.ask("How many cells of the matrix R_m are not zero for d = 64?", filled, 0,
                   "Two in every row: one cosine and one sine.");
        lesson.exercise(
            "Some models take 500000 instead of 10000.  How long is the longest wavelength for d = 64?", [&] {
                std::vector<std::vector<std::string>> rows = {{"base", "wavelength of pair 31"}};
                for (const double base : {10000.0, 500000.0})
                    rows.push_back({whole(base), whole(2 * std::numbers::pi / inverse_frequencies(wide, base).back())});
                lesson.table("The slowest of 32 pairs", rows);
                // A power is right to a few eps; its exponent 62/64 is exact.
                const double factor = inverse_frequencies(wide).back() / inverse_frequencies(wide, 500000).back();
                lesson.prove("it grows by 50^(62/64): relative difference", factor / std::pow(50.0, 62.0 / 64) - 1,
                             8 * kEps);
            });
        lesson.end({{"core/positions/rotary.h", "rotate_by_matrix"}, {"core/positions/rotary.h", "rotate_by_complex"}},
                   "Su et al. 2021, eq. 14, 15 and 34; qcqced123, RoFormer.", "17");
    });
}
