// Lesson 28: Port clinic
//
// Question: Your port and the original differ. Which of your lines is wrong?
// Before: 08, 09, 10. Minutes: 20. Page: attention.
// Show: text=deep+learning+is+so+deep.&attention.picture=stage&attention.stage=layer.0.p2c
#include <algorithm>
#include <cmath>
#include <map>

#include "core/attention/disentangled.h"
#include "core/io/mistake_list.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;
using Head = HeadTensors<double>;

namespace {

/// Short names of mistakes by their numbers in the catalogue, which has the long ones.
const std::map<int, std::string> kCauses = {{0, "no mistake"},     {1, "p2c δ(j,i)"},  {2, "p2c untransposed"},
                                            {4, "c2p δ(j,i)"},     {7, "rows from 1"}, {9, "clamp at row 1"},
                                            {11, "cut at row 0"},  {12, "|i − j|"},    {26, "√d, not √(3d)"},
                                            {36, "softmax over i"}};

/// Scores of a head, below them probabilities, by plain loops with one mistake: in float a port, in double a
/// hypothesis.
template <class Scalar>
Matrix<double> dump(const Head& head, int mistake) {
    const Matrix<Scalar> q = head.q.cast<Scalar>(), k = head.k.cast<Scalar>();
    const Matrix<Scalar> k_r = head.k_r.cast<Scalar>(), q_r = head.q_r.cast<Scalar>();
    const Index tokens = q.rows(), half = k_r.rows() / 2, span = mistake == 11 ? std::min(tokens, half) : half;
    const auto row = [&](Index offset) {
        const Index clamped = std::clamp<Index>(offset + span, mistake == 9 ? 1 : 0, 2 * span - 1);
        return mistake == 7 ? std::max<Index>(clamped - 1, 0) : clamped;
    };
    Matrix<Scalar> s(tokens, tokens);
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j < tokens; ++j) {
            const Index offset = mistake == 12 ? std::abs(i - j) : mistake == 5 ? j - i : i - j;
            const Scalar c2p = q.row(i).dot(k_r.row(row(mistake == 4 ? -offset : offset)));
            const Scalar p2c = k.row(mistake == 2 ? i : j).dot(q_r.row(row(mistake == 1 ? -offset : offset)));
            s(i, j) = q.row(i).dot(k.row(j)) + c2p + p2c;
        }
    s /= score_divisor<Scalar>(mistake == 26 ? 1 : 3, q.cols());
    Matrix<Scalar> both(2 * tokens, tokens);
    both << s, masked_softmax<Scalar>(mistake == 36 ? Matrix<Scalar>(s.transpose()) : s, {});
    if (mistake == 36) both.bottomRows(tokens).transposeInPlace();
    return both.template cast<double>();
}

/// A text of `tokens` words and a table of 2 · span rows; d = 4, numbers between −1 and 1 that float holds exactly.
Head probe(Index tokens, Index span, std::uint64_t seed) {
    lesson::Seeded seeded(seed);
    const auto rows = [&](Index n) -> Matrix<double> { return seeded.matrix(n, 4).cast<float>().cast<double>(); };
    return {rows(tokens), rows(tokens), rows(2 * span), rows(2 * span), {}};
}

/// What float explains of a score: three products of at most d, d + 4 roundings each, over √d at least.
const double kRounding = 3 * 4 * (4 + 4) / std::sqrt(4.0) * 0x1p-24;
double largest(const Matrix<double>& m) { return m.cwiseAbs().maxCoeff(); }

/// Every hypothesis with its distance from what a port made of the probes, in units of rounding, nearest first.
std::vector<std::pair<double, int>> diagnose(const std::vector<Head>& probes, int mistake) {
    std::vector<std::pair<double, int>> suspects;
    for (const auto& [cause, name] : kCauses) {
        double far = 0;
        for (const Head& head : probes)
            far = std::max(far, largest(dump<double>(head, cause) - dump<float>(head, mistake)));
        suspects.push_back({far / kRounding, cause});
    }
    std::sort(suspects.begin(), suspects.end());
    return suspects;
}

/// Scores of the port minus the right ones over the largest such error, 0 where rounding explains it.
Matrix<double> error_of(const Head& head, int mistake) {
    const Matrix<double> e = (dump<float>(head, mistake) - dump<double>(head, 0)).topRows(head.q.rows());
    return (e.array().abs() <= kRounding).select(0, e) / std::max(largest(e), kRounding);
}
/// The largest sum of an error just above the diagonal and the one just below it in the same column.
double sum_around_diagonal(const Matrix<double>& error) {
    const Index inner = error.rows() - 2;
    return largest(error.diagonal(1).head(inner) + error.diagonal(-1).tail(inner));
}
double wrong(const Matrix<double>& error) { return static_cast<double>((error.array() != 0).count()); }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("28", "Port clinic", "Your port and the original differ. Which of your lines is wrong?");
    return lesson.run(argc, argv, [&] {
        const std::vector<MistakeEntry> catalogue = read_mistake_list(mistake_list_file());
        const std::vector<Head> both = {probe(5, 2, 28), probe(3, 6, 29)};
        const Head& head = both[0];
        lesson.say(
            "Nine ports of a head in float, one classic mistake each; here are eight. Untransposed: gathered on k · "
            "q_rᵀ without the transpose. Clamp at row 1: row 0 never read. Rows from 1: every row one too early. Five "
            "words, 2k = 4 rows; errors of the scores, each picture divided by its largest; 0 where rounding explains "
            "them:");
        for (const std::vector<int>& four : {std::vector<int>{1, 4, 9, 12}, {2, 7, 26, 36}}) {
            std::vector<std::pair<std::string, Matrix<double>>> maps;
            for (const int mistake : four) maps.push_back({kCauses.at(mistake), error_of(head, mistake)});
            lesson.heatmaps(maps);
        }
        const Matrix<double> right = dump<double>(head, 0), root = dump<float>(head, 26);
        lesson.table(
            "How to recognise them:",
            {{"port", "look at", "number"},
             {kCauses.at(1), "column: cell above the diagonal + below",
              lesson::text_of(sum_around_diagonal(error_of(head, 1)), "%.2f")},
             {kCauses.at(4), "row: cell left of the diagonal + right",
              lesson::text_of(sum_around_diagonal(error_of(head, 4).transpose()), "%.2f")},
             {kCauses.at(2), "the smaller of these sums",
              lesson::text_of(
                  std::min(sum_around_diagonal(error_of(head, 2)), sum_around_diagonal(error_of(head, 2).transpose())),
                  "%.2f")},
             {kCauses.at(9), "wrong cells, all with j − i ≥ k", lesson::text_of(wrong(error_of(head, 9)))},
             {kCauses.at(12), "wrong in the first column", lesson::text_of(wrong(error_of(head, 12).leftCols(1)))},
             {kCauses.at(7), "wrong on the diagonal", lesson::text_of(wrong(error_of(head, 7).diagonal()))},
             {kCauses.at(26), "wrong / right, in every cell", lesson::text_of(root(0, 0) / right(0, 0), "%.4g")},
             {kCauses.at(36), "sum of a column of P",
              lesson::text_of(dump<float>(head, 36).col(0).tail(5).sum(), "%.4g")}});
        lesson.say(
            "The pattern suggests a mistake, computing decides. The function diagnose of this lesson's source works "
            "out every hypothesis from q, k, k_r, q_r in double precision and sorts them by their distance from the "
            "port:");
        const auto line = RelativeBuckets::clamped(5, 5, 2);
        Matrix<double> core = content_to_content<double>(head.q, head.k);
        core += content_to_position<double>(head.q, head.k_r, line);
        core += position_to_content<double>(head.k, head.q_r, line);
        lesson.prove("the right scores by the loops of this file against core: difference",
                     largest(core / std::sqrt(12) - right.topRows(5)), kRounding * 0x1p-29);
        const std::vector<std::vector<Head>> probes = {{probe(1, 2, 28)}, {probe(2, 2, 28)}, {both[1]}, {head}, both};
        std::vector<double> named(5);
        double next = 1e300;
        for (std::size_t p = 0; p < 5; ++p)
            for (const auto& [cause, name] : kCauses) {
                const auto suspects = diagnose(probes[p], cause);
                named[p] += suspects[0].second == cause && suspects[0].first <= 1 && suspects[1].first > 1;
                if (p == 4) next = std::min(next, suspects[1].first);
            }
        lesson.prove_equal("ports, one of them healthy, within rounding of the right hypothesis only", named[4], 10);
        lesson.prove_at_least("smallest distance of a wrong hypothesis, in units of rounding", next, 1000);
        lesson.prove("√d: largest |wrong − √3 · right|", largest((root - std::sqrt(3) * right).topRows(5)), kRounding);
        lesson.say(
            "The probe matters. A clamp shows only where T > k, a table cut wrongly only where T < k, and one word "
            "shows next to nothing:");
        lesson.bars("ports of 10 that the probe names, none other fitting as well",
                    {"T = 1, k = 2", "T = 2, k = 2", "T = 3, k = 6", "T = 5, k = 2", "the last two"}, named, "%.0f");
        lesson.prove_equal("cells that clamp at row 1 gets wrong where T = k = 2", wrong(error_of(probes[1][0], 9)), 0);
        lesson.say(
            "Your own port saves its stages under the names of core/stages.cpp. Then\n  locus trace --model DIR --text "
            "\"...\" --out right.safetensors\n  locus check right.safetensors port.safetensors\nnames the first stage "
            "that rounding does not explain. Take a text shorter than k, one longer than 2k, a batch of two with "
            "padding, no palindrome. Where q, k, k_r, q_r are right and scores are not, write your hypothesis as a "
            "formula, as here. locus check does so for its whole catalogue (--explain 4). Last: how models learn.");
        const auto guess = [&](int mistake, const std::vector<int>& causes, const char* because) {
            const Head other = probe(5, 2, 100 + static_cast<std::uint64_t>(mistake));
            const Matrix<double> e = 9 * error_of(other, mistake);
            std::string text = "Which mistake leaves these errors in the scores (9: the largest)?";
            for (Index n = 0; n < 25; ++n)
                text += (n % 5 ? " " : "\n     ") + lesson::text_of(e.data()[n], e.data()[n] == 0 ? "%2.0f" : "%+2.0f");
            std::vector<std::string> names;
            for (const int c : causes) names.push_back(std::to_string(c) + ": " + entry_of(catalogue, c).name);
            const auto found = std::find(causes.begin(), causes.end(), diagnose({other}, mistake)[0].second);
            lesson.choose(text, names, found - causes.begin(), because);
        };
        guess(4, {1, 4, 9, 12}, "Far cells repeat along rows: the error belongs to the query, so to c2p.");
        guess(12, {2, 7, 9, 12}, "Left of the diagonal i − j = |i − j|; right of it the side is lost.");
        guess(7, {7, 9, 11, 12}, "The diagonal is wrong too: offset 0 itself reads another row.");
        const auto nearest = diagnose(both, 5)[0];
        lesson.exercise(
            "Give dump in this file a mistake of your own, say j − i in both terms (5 in the catalogue). What does "
            "diagnose name?",
            [&] {
                lesson.say(
                    "No cause: the nearest one, " + kCauses.at(nearest.second) +
                    ", is far outside rounding. j − i in both terms is a hypothesis of its own: put 5 into kCauses, "
                    "and it is named.");
                lesson.prove_at_least("distance of the nearest, in units of rounding", nearest.first, 1000);
            });
        lesson.end({{"core/compare.h", "compare"}}, "He et al. 2021, eq. 4; mistakes collected from ports.", "29");
    });
}
