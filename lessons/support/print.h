#pragma once
// How lessons speak: paragraphs, pictures of letters, and claims that prove themselves.  Nothing here computes
// attention.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"

namespace locus::lesson {

/// A line of a plot: its name, the letter that draws it, and its height at every x.
struct Curve {
    std::string name;
    char mark;
    std::vector<double> heights;
};

/// Where to read on: a file of core/ and a function in it, e.g. {"core/fast/slices.h", "add_slices_by_query"}.
using Reading = std::pair<std::string, std::string>;

/// One lesson: what it prints, what it claims, what it asks, and whether every claim held.
/// Every text may hold Unicode; --ascii spells it out.  Lines of a paragraph that begin with a space stay as they are.
class Lesson {
public:
    /// `number` has two digits; title and question are those of the first lines of the file.
    Lesson(const std::string& number, const std::string& title, const std::string& question);
    ~Lesson();

    /// Parses the options, runs the lesson and returns 0 only if every claim held (1 otherwise, 2 for wrong usage).
    int run(int argc, char** argv, const std::function<void()>& body);

    // --- words -------------------------------------------------------------------------------------------------------
    /// A paragraph, broken into lines of at most 78 columns.
    void say(const std::string& text);
    /// An error in a source: what it prints and what is right.  The claim that follows is the number that decides.
    void correct(const std::string& source, const std::string& printed, const std::string& right);

    // --- pictures; all of them stay in --json under their title ------------------------------------------------------
    /// A matrix of numbers; `format` is printf's, e.g. "%3.0f".  A gap follows every `group` columns.
    void show(const std::string& title, const Matrix<double>& matrix, const char* format, Index group = 1000);
    /// The same with a colour map behind the numbers where there is colour: negative blue, positive red.
    void show_signed(const std::string& title, const Matrix<double>& matrix, const char* format, Index group = 1000);
    /// Matrices side by side, one sign and one digit a cell (9: the largest of all of them, which a line below names),
    /// coloured where possible.
    /// With `rows`, each row begins with its label.
    void heatmaps(const std::vector<std::pair<std::string, Matrix<double>>>& matrices,
                  const std::vector<std::string>& rows = {});
    /// A box; the first row is the heading.  Columns whose cells are numbers stand to the right.
    void table(const std::string& title, const std::vector<std::vector<std::string>>& rows);
    /// A horizontal bar for every value; `format` writes the value, `unit` stands in the title.
    void bars(const std::string& title, const std::vector<std::string>& labels, const std::vector<double>& values,
              const char* format);
    /// Curves over the same xs, drawn with letters; axes carry their names and units.
    void curves(const std::string& title, const std::string& x_axis, const std::vector<double>& xs,
                const std::string& y_axis, const std::vector<Curve>& lines, int rows = 14);
    /// A number that stands in a text, kept for --json as well; returns it as text.
    std::string number(const std::string& name, double value, const char* format = "%.6g");

    // --- claims ------------------------------------------------------------------------------------------------------
    /// "✓ what (measured 3.1e-07 ≤ 1e-06)": holds if |measured| is inside the bound.
    void prove(const std::string& what, double measured, double bound);
    /// "✓ what (measured 2.3 ≥ 2)"
    void prove_at_least(const std::string& what, double measured, double bound);
    /// "✓ what (240 = 240)": holds if the numbers are the same.
    void prove_equal(const std::string& what, double measured, double expected);

    // --- after the lesson --------------------------------------------------------------------------------------------
    /// A question of --quiz whose answer is a number, right within `tolerance`; `because` is said after the answer.
    void ask(const std::string& question, double answer, double tolerance, const std::string& because);
    /// A question with choices, of which the one at `right` (from 0, computed) is right.
    void choose(const std::string& question, const std::vector<std::string>& choices, Index right,
                const std::string& because);
    /// The exercise; `answer` runs under --answer and prints, shows and proves like the lesson itself.
    void exercise(const std::string& text, const std::function<void()>& answer);
    /// The last lines: what to read, what it comes from, and the lesson that follows.
    void end(const std::vector<Reading>& readings, const std::string& sources, const std::string& next);

private:
    struct Record;
    double doubted(double measured, double wrong);
    void claim(const std::string& what, bool holds, const std::string& numbers);
    void keep_matrix(const std::string& title, const Matrix<double>& matrix);
    void print_matrix(const std::string& title, const Matrix<double>& matrix, const char* format, Index group,
                      bool signs);
    void print_quiz();

    std::unique_ptr<Record> record_;
};

/// printf's "%.3f" and so on as a text.
std::string text_of(double value, const char* format = "%.6g");

/// The integers of an index table as numbers to print.
Matrix<double> as_matrix(const IndexTensor& index);

}  // namespace locus::lesson
