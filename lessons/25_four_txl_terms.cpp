// Lesson 25: Four Transformer-XL terms
//
// Question: What is a Transformer-XL score made of, and where did the absolute positions go?
// Before: 08, 24. Minutes: 15. Page: transformer-xl.
// Show: memory.side=cell&memory.cell=6,9
#include <cmath>
#include <set>

#include "core/attention/disentangled.h"
#include "core/attention/relative.h"
#include "core/positions/position_rows.h"
#include "core/products.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

constexpr Index kWidth = 8;  // D = d

/// "나 어제 학교 갔어" with other words in front of it: what each of the three schemes makes of the same vectors.
struct Schemes {
    Matrix<double> content, positions, w_q, w_k;  // E, U, W_q, W_k
    Matrix<double> q, k, r_k;                     // r_k = W_kR R, distances T - 1 ... 0
    RowVector<double> u, v;
    RelativeTerms<double> absolute, relative;  // a, b, c, d
    Matrix<double> c2c, c2p, p2c;

    explicit Schemes(Index in_front) {
        const Index tokens = in_front + 4;
        content.resize(tokens, kWidth);
        content << lesson::Seeded(2).matrix(in_front, kWidth), lesson::Seeded(3).matrix(4, kWidth);
        lesson::Seeded seeded(4);
        w_q = seeded.matrix(kWidth, kWidth), w_k = seeded.matrix(kWidth, kWidth);
        const Matrix<double> w_kr = seeded.matrix(kWidth, kWidth), table = seeded.matrix(32, kWidth);
        u = seeded.matrix(1, kWidth), v = seeded.matrix(1, kWidth);
        positions = sinusoidal_table<double>(tokens, kWidth, SinusoidLayout::concatenated);
        absolute = absolute_terms<double>(content, positions, w_q, w_k);
        const Matrix<double> r =
            sinusoidal_rows<double>(transformer_xl_distances(tokens, 0), kWidth, SinusoidLayout::concatenated);
        q = products_of_rows<double>(content, w_q), k = products_of_rows<double>(content, w_k);
        r_k = products_of_rows<double>(r, w_kr);
        relative = relative_terms<double>(q, k, r_k, u, v, tokens - 1);
        const RelativeBuckets buckets = RelativeBuckets::clamped(tokens, tokens, 16);
        c2c = content_to_content<double>(q, k);
        c2p = content_to_position<double>(q, products_of_rows<double>(table, w_k), buckets);
        p2c = position_to_content<double>(k, products_of_rows<double>(table, w_q), buckets);
    }
};

/// The terms of 갔어 (the last word) looking at 어제, a column per scheme; DeBERTa has no fourth.
Matrix<double> terms_of_pair(const Schemes& s) {
    const Index i = s.c2c.rows() - 1, j = i - 2;
    Matrix<double> terms(4, 3);
    terms << s.absolute.a(i, j), s.relative.a(i, j), s.c2c(i, j),  //
        s.absolute.b(i, j), s.relative.b(i, j), s.c2p(i, j),       //
        s.absolute.c(i, j), s.relative.c(i, j), s.p2c(i, j),       //
        s.absolute.d(i, j), s.relative.d(i, j), 0;
    return terms;
}

Matrix<double> sum_of(const RelativeTerms<double>& terms) { return terms.a + terms.b + terms.c + terms.d; }

double largest(const Matrix<double>& matrix) { return matrix.cwiseAbs().maxCoeff(); }

/// What rounding may cost both sides of an equation of a · b, sums of `terms` products.
double rounding(Index terms, const Matrix<double>& a, const Matrix<double>& b) {
    return 2 * static_cast<double>(terms + 4) * 1.1e-16 * largest(times_transposed<double>(a.cwiseAbs(), b.cwiseAbs()));
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("25", "Four Transformer-XL terms",
                          "What is a Transformer-XL score made of, and where did the absolute positions go?");
    return lesson.run(argc, argv, [&] {
        const Schemes here(0), moved(5);
        lesson.say(
            "Let E_i be the vector of word i and U_i the vector of position i. The first Transformers add them, so a "
            "score (E_i + U_i)W_q\u1d40 \u00b7 (E_j + U_j)W_k\u1d40 has four parts. Transformer-XL changes three: U_j "
            "becomes a sinusoid R of the distance i \u2212 j with its own matrix W_kR, and U_i W_q\u1d40 becomes two "
            "trained "
            "vectors u and v: across segments the position of the query says nothing. DeBERTa has three terms; p2c "
            "stands under c because both multiply the key, but it depends on the distance.\n"
            "                    a           b                c           d\n"
            "  absolute          E_i \u00b7 E_j   E_i \u00b7 U_j        U_i \u00b7 E_j   U_i \u00b7 U_j\n"
            "  Transformer-XL    E_i \u00b7 E_j   E_i \u00b7 R(i\u2212j)     u \u00b7 E_j     v \u00b7 R(i\u2212j)\n"
            "  DeBERTa           c2c         c2p              p2c         none\n"
            "(E, U and R go through their W first.) Transformer-XL's four for \"나 어제 학교 갔어\" (I, yesterday, "
            "school, went), seeded numbers:");
        const Mask visible = transformer_xl_mask(4, 0, false, 0);
        const auto shown = [&](const Matrix<double>& term) -> Matrix<double> {
            return term.cwiseProduct(visible.cast<double>()).array() + 0.0;  // no -0
        };
        const RelativeTerms<double>& four = here.relative;
        lesson.heatmaps({{"a", shown(four.a)}, {"b", shown(four.b)}, {"c", shown(four.c)}, {"d", shown(four.d)}},
                        {"나", "어제", "학교", "갔어"});
        lesson.say(
            "A key to the right of the query is hidden: 0. c says how much a word is worth looking at, for any query; "
            "d how much a distance is, whatever stands there:");
        const Matrix<double> d = shown(four.d), along = d.bottomRightCorner(3, 3) - d.topLeftCorner(3, 3);
        lesson.prove("largest difference inside a column of c or along a diagonal of d",
                     std::max(largest(four.c.rowwise() - four.c.row(0)), largest(along)), 0);

        const Matrix<double> sum = here.content + here.positions,
                             sizes = here.content.cwiseAbs() + here.positions.cwiseAbs();
        const Matrix<double> product =
            times_transposed<double>(times_transposed<double>(sum, here.w_q), times_transposed<double>(sum, here.w_k));
        // Three sums of D products, one inside the other.
        const double bound = rounding(3 * kWidth, times_transposed<double>(sizes, here.w_q.cwiseAbs()),
                                      times_transposed<double>(sizes, here.w_k.cwiseAbs()));
        lesson.prove("absolute: a + b + c + d minus the score itself", largest(sum_of(here.absolute) - product), bound);
        const Matrix<double> two = content_term<double>(here.q, here.u, here.k) +
                                   shift_by_index<double>(position_term<double>(here.q, here.v, here.r_k), 4, 3);
        const double two_bound = rounding(kWidth, here.q.cwiseAbs().rowwise() + here.u.cwiseAbs(), here.k) +
                                 rounding(kWidth, here.q.cwiseAbs().rowwise() + here.v.cwiseAbs(), here.r_k);
        lesson.prove(
            "programs need two products: (q + u) \u00b7 k = a + c (stage ac), (q + v) \u00b7 r = b + d (stage bd); "
            "difference",
            largest(shown(two - sum_of(four))), two_bound);

        lesson.say(
            "갔어 looks at 어제, two words back; then five other words are put in front. (The sum is divided by "
            "\u221ad, DeBERTa's by \u221a(3d).)");
        const Matrix<double> one = terms_of_pair(here), other = terms_of_pair(moved);
        std::vector<std::vector<std::string>> rows = {
            {"term", "absolute", "moved", "Transformer-XL", "moved", "DeBERTa", "moved"}};
        for (Index term = 0; term < 5; ++term) {
            rows.push_back({term < 4 ? std::string(1, "abcd"[term]) : "sum"});
            for (Index scheme = 0; scheme < 3; ++scheme)
                for (const Matrix<double>* at : {&one, &other}) {
                    const double value = term < 4 ? (*at)(term, scheme) : at->col(scheme).sum();
                    rows.back().push_back(term == 3 && scheme == 2 ? "" : lesson::text_of(value, "%.3f"));
                }
        }
        lesson.table("the same pair of words, three decompositions", rows);
        const Matrix<double> change = (other - one).cwiseAbs();
        lesson.prove("how far a term of Transformer-XL or DeBERTa moves", largest(change.rightCols(2)), 0);
        lesson.correct("qcqced123, eq. (1)", "Transformer-XL: \u2026 x_m\u00b7p_n + p_m\u00b7x_n + p_m\u00b7p_n",
                       "\u2026 x_m\u00b7R(m\u2212n) + u\u00b7x_n + v\u00b7R(m\u2212n)");
        lesson.prove_equal("terms of eq. (1) that move by more than rounding; of Transformer-XL none",
                           static_cast<double>((change.col(0).array() > bound).count()), 3);
        lesson.correct("qcqced123, eq. (2)",
                       "\u2026 x_m\u1d40W_q\u1d40W_k x~(m\u2212n) + p~(m\u2212n) W_q\u1d40W_k x_n",
                       "\u2026 x_m\u1d40W_q\u1d40W_k p~(m\u2212n) + p~(m\u2212n)\u1d40 W_q\u1d40W_k x_n");
        // Words 4 and 2, then 9 and 7: both times the printed term reads the vector of word m - n = 2.
        const double printed = here.q.row(3).dot(here.k.row(1)), printed_moved = moved.q.row(8).dot(moved.k.row(1));
        lesson.prove_equal("position terms of eq. (2) that move: the one that reads a word, x~; corrected 0",
                           (std::abs(printed_moved - printed) > bound) + (change(2, 2) > bound), 1);

        lesson.ask("How many different numbers has d over the 10 visible pairs of four words?",
                   static_cast<double>(std::set<double>(d.data() + 12, d.data() + 16).size()), 0,
                   "One per distance, 0 to 3.");
        lesson.choose("Which term of DeBERTa has no counterpart in Transformer-XL?", {"c2c", "c2p", "p2c"},
                      largest(here.p2c.rowwise() - here.p2c.row(0)) > 0 ? 2 : 1,
                      "c depends on the key alone; p2c asks the key about the distance, too.");
        lesson.exercise("Exchange u and v. All shapes stay; how many of the 10 visible scores are wrong?", [&] {
            const Matrix<double> wrong =
                shown(sum_of(relative_terms<double>(here.q, here.k, here.r_k, here.v, here.u, 3)) - sum_of(four));
            lesson.show_signed("score with u and v exchanged, minus the right one:", wrong, "%8.3f");
            lesson.prove_equal("cells that differ", static_cast<double>((wrong.array() != 0).count()), 10);
        });
        lesson.end({{"core/attention/relative.h", "relative_terms"}, {"core/attention/relative.h", "absolute_terms"}},
                   "Dai et al. 2019, section 3.3; NLP 기초, eq. 6 and 7; qcqced123, RoFormer, eq. 1 and 2.", "26");
    });
}
