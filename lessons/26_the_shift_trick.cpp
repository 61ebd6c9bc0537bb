// Lesson 26: The shift trick
//
// Question: Every query needs its own rows of R. How does one matrix product and a pad serve them all?
// Before: 25. Minutes: 15. Page: transformer-xl.
// Show: memory.side=channels&memory.trick=xlnet
#include "core/attention/relative.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"

using namespace locus;

namespace {

using Lines = std::vector<std::string>;

/// Cells that carry their own name: cell (i,t) of q \u00b7 Q holds 1 + i * columns + t, and 0 is the padding.
Matrix<double> named_cells(Index rows, Index columns) {
    Matrix<double> cells(rows, columns);
    for (Index n = 0; n < cells.size(); ++n) cells.data()[n] = static_cast<double>(n + 1);
    return cells;
}

/// "q1Q4" for the number of a cell.
std::string name_of(double cell, Index columns) {
    const auto n = static_cast<Index>(cell) - 1;
    return n < 0 ? "0" : "q" + std::to_string(n / columns) + "Q" + std::to_string(n % columns);
}

Lines lines_of(const Matrix<double>& frame, Index columns) {
    Lines lines;
    for (Index i = 0; i < frame.rows(); ++i) {
        lines.emplace_back();
        for (Index j = 0; j < frame.cols(); ++j) {
            const std::string name = name_of(frame(i, j), columns);
            lines.back() += std::string(4 - name.size(), ' ') + name + (j + 1 < frame.cols() ? " " : "");
        }
    }
    return lines;
}

/// Two frames beside each other, each under its title.
std::string beside(Lines left, Lines right, const std::string& left_title, const std::string& right_title) {
    left.insert(left.begin(), left_title), right.insert(right.begin(), right_title);
    std::size_t width = 0;
    for (const std::string& line : left) width = std::max(width, line.size());
    std::string text;
    for (std::size_t n = 0; n < std::max(left.size(), right.size()); ++n) {
        std::string line = "  " + (n < left.size() ? left[n] : "");
        if (n < right.size()) line += std::string(width + 6 - line.size(), ' ') + right[n];
        text += line + "\n";
    }
    return text;
}

double cells_that_differ(const Matrix<double>& one, const Matrix<double>& other, const Mask& where) {
    return static_cast<double>((one.array() != other.array() && where.array() != 0).count());
}

/// 1 where the mask is 0.
Mask hidden(const Mask& visible) { return (visible.array() == 0).cast<std::uint8_t>(); }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("26", "The shift trick",
                          "Every query needs its own rows of R. How does one matrix product and a pad serve them all?");
    return lesson.run(argc, argv, [&] {
        const Index queries = 3, keys = 6, memory = 3;
        lesson.say(
            "Memory 발 없는 말, segment 이 천리 간다 (foot without word; subject, thousand li, goes). q_i is the "
            "query of word i of the segment, Q_t (no query: so the notes call a row of r, lesson 25) "
            "is R(5\u2212t) W_kR\u1d40: column t stands for distance 5 \u2212 t. The "
            "query 이 needs the distances 3 2 1 0, 천리 needs 4 3 2 1 0, 간다 5 4 3 2 1 0. One product of all q with "
            "all Q has all of these numbers, in the wrong columns. No number is moved by itself; all are only read "
            "under another shape:");
        const Matrix<double> raw = named_cells(queries, keys);
        const auto frames = shift_frames<double>(raw);
        Lines names;
        for (const auto& frame : frames) names.push_back(frame.what);
        lesson.say(beside(lines_of(frames[0].values, keys), lines_of(frames[1].values, keys), "1 q times Q (fig. 19)",
                          "2 " + names[1]));
        lesson.say(beside(lines_of(frames[2].values, keys), lines_of(frames[3].values, keys), "3 " + names[2],
                          "4 " + names[3]));
        const Matrix<double>& shifted = frames.back().values;
        const Mask visible = transformer_xl_mask(queries, memory, false, memory);
        std::vector<Lines> rows = {{"query", "발", "없는", "말", "이", "천리", "간다", "moved left by"}};
        const Lines words = {"이", "천리", "간다"};
        for (Index i = 0; i < queries; ++i) {
            rows.push_back({words[static_cast<std::size_t>(i)]});
            for (Index j = 0; j < keys; ++j) {
                const std::string name = name_of(shifted(i, j), keys);
                rows.back().push_back(visible(i, j) ? name : "[" + name + "]");
            }
            rows.back().push_back(std::to_string(static_cast<Index>(shifted(i, 0) - raw(i, 0))));
        }
        lesson.table("5 " + names[4] + ": columns are keys, [ ] is hidden", rows);
        double steps = 0;
        for (Index i = 0; i < queries; ++i) steps += shifted(i, 0) - raw(i, 0) != static_cast<double>(queries - 1 - i);
        lesson.prove_equal("rows of 3 that did not move left by 2 \u2212 i", steps, 0);

        lesson.say(
            "The direct way reads column 5 \u2212 (3 + i \u2212 j) for every cell. Both agree wherever a query may "
            "look. What the mask hides is a zero of the padding or a number of the next row that leaked in:");
        const Matrix<double> direct = shift_by_index<double>(raw, keys, keys - 1);
        lesson.prove_equal("visible cells of 15 in which the trick differs from the direct index",
                           cells_that_differ(shifted, direct, visible), 0);
        lesson.prove_equal("hidden cells of 3 that hold another query's number",
                           cells_that_differ(shifted, Matrix<double>::Zero(queries, keys), hidden(visible)), 1);
        lesson::Seeded seeded(1);
        const Matrix<double> scores = seeded.gaussians(8, 20);
        const Mask wide = transformer_xl_mask(8, 12, false, 12);
        const Matrix<double> trick = shift_frames<double>(scores).back().values,
                             index = shift_by_index<double>(scores, 20, 19);
        lesson.prove("8 queries, 20 keys, seeded numbers: probabilities after the mask, trick minus direct",
                     (masked_softmax<double>(trick, wide) - masked_softmax<double>(index, wide)).cwiseAbs().maxCoeff(),
                     0);

        lesson.correct("NLP 기초, fig. 18", "every row from q_i Q0 on, and two columns of 0",
                       "row i from Q(2\u2212i) on, as in frame 5");
        lesson.prove_equal("visible cells of 15 in which fig. 18 holds another distance",
                           cells_that_differ(raw, direct, visible), 9);

        lesson.say(
            "XLNet looks to both sides, so its R has 6 + 3 = 9 rows, as many as keys and queries, distance 6 \u2212 t "
            "from 6 to \u22122, and it needs no padding: read as [9, 3], drop a row, read as [3, 8], take 6 columns.");
        const Matrix<double> raw_xlnet = named_cells(queries, keys + queries);
        const Matrix<double> xlnet = shift_frames_xlnet<double>(raw_xlnet, keys).back().values;
        lesson.say(beside(lines_of(raw_xlnet, keys + queries), lines_of(xlnet, keys + queries), "q times Q, 3 x 9",
                          "after the shift, 3 x 6"));
        lesson.prove_equal(
            "cells of 18 that differ from the direct index: nothing leaks",
            cells_that_differ(xlnet, shift_by_index<double>(raw_xlnet, keys, keys), Mask::Ones(queries, keys)), 0);

        lesson.ask("How many hidden cells hold another query's number for 8 queries and 20 keys?",
                   cells_that_differ(trick, Matrix<double>::Zero(8, 20), hidden(wide)), 0,
                   "Row i has 7 - i hidden cells, the first of them a zero: 6 + 5 + 4 + 3 + 2 + 1.");
        const double step = xlnet(2, 0) - shift_frames<double>(raw_xlnet).back().values(2, 0);
        lesson.choose(
            "XLNet's rows go through Transformer-XL's shift by mistake. Which distance does a cell get?",
            {"one too small", "the right one", "one too large"},
            step < 0   ? 0
            : step > 0 ? 2
                       : 1,
            "Its rows move left by one less, so a cell reads the column before its own: one step farther away.");
        lesson.exercise("No memory: 4 queries, 4 keys. Which cells are visible, and what leaks?", [&] {
            const Matrix<double> last = shift_frames<double>(named_cells(4, 4)).back().values;
            std::string text;
            for (const std::string& line : lines_of(last, 4)) text += "  " + line + "\n";
            lesson.say(text);
            lesson.prove_equal(
                "numbers of other queries right of the diagonal",
                cells_that_differ(last, Matrix<double>::Zero(4, 4), hidden(transformer_xl_mask(4, 0, false, 0))), 3);
        });
        lesson.end({{"core/attention/relative_shift.h", "shift_frames"},
                    {"core/attention/relative_shift.h", "shift_by_index"}},
                   "Dai et al. 2019, appendix B; NLP 기초, equation 8, figures 18 and 19.", "27");
    });
}
