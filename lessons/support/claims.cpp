// Claims: a measured number, the bound it must keep, and whether it did.
#include <algorithm>
#include <cmath>

#include "core/text/text_table.h"
#include "lessons/support/record.h"

namespace locus::lesson {

/// The measured number, or the wrong one where --doubt names this claim.
double Lesson::doubted(double measured, double wrong) { return ++record_->claims == record_->doubt ? wrong : measured; }

void Lesson::claim(const std::string& what, bool holds, const std::string& numbers) {
    Record& record = *record_;
    record.held = record.held && holds;
    // The numbers stay on one line, and further lines stand under the first word.
    std::string kept = "(" + record.page.plain(numbers) + ")";
    std::replace(kept.begin(), kept.end(), ' ', kGlue);
    const std::string mark = record.page.plain(holds ? "\u2713 " : "\u2717 ");
    std::string lines;
    for (const std::string& line : wrapped(record.page.plain(what) + " " + kept, 78 - display_width(mark)))
        lines += (lines.empty() ? "" : std::string(display_width(mark), ' ')) + line + '\n';
    record.print(Kind::claim, record.page.ink.tinted(mark, holds) + lines);
    record.json["claims"].push_back({{"claim", what}, {"holds", holds}, {"numbers", numbers}});
}

void Lesson::prove(const std::string& what, double measured, double bound) {
    const double value = doubted(measured, bound > 0 ? 1.5 * bound : 1);
    const bool holds = std::abs(value) <= bound;
    claim(what, holds,
          "measured " + text_of(value, "%.3g") + (holds ? " \u2264 " : ", not \u2264 ") + text_of(bound, "%.3g"));
}

void Lesson::prove_at_least(const std::string& what, double measured, double bound) {
    const double value = doubted(measured, bound - std::max(1.0, std::abs(bound)));
    const bool holds = value >= bound;
    claim(what, holds,
          "measured " + text_of(value, "%.3g") + (holds ? " \u2265 " : ", not \u2265 ") + text_of(bound, "%.3g"));
}

void Lesson::prove_equal(const std::string& what, double measured, double expected) {
    const double value = doubted(measured, expected + 1);
    claim(what, value == expected, text_of(value) + (value == expected ? " = " : ", not ") + text_of(expected));
}

}  // namespace locus::lesson
