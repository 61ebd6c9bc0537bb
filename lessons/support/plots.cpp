// Pictures of letters: bars, and curves over an axis.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/text_table.h"
#include "lessons/support/record.h"

namespace locus::lesson {

namespace {

constexpr int kColumns = 62;  // of a plot; twelve more carry the numbers of the axis

struct Range {
    double low = 0, high = 0;
    double span() const { return high > low ? high - low : 1; }
    int place(double value, int cells) const {
        return static_cast<int>(std::lround((value - low) / span() * (cells - 1)));
    }
};

Range range_of(const std::vector<double>& values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return {*low, *high};
}

/// All heights; from 0 if that costs less than half of the picture.
Range range_of(const std::vector<Curve>& lines) {
    std::vector<double> all;
    for (const Curve& line : lines) all.insert(all.end(), line.heights.begin(), line.heights.end());
    Range range = range_of(all);
    if (range.low > 0 && range.low < range.high / 2) range.low = 0;
    return range;
}

std::string padded_left(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

void Lesson::bars(const std::string& title, const std::vector<std::string>& labels, const std::vector<double>& values,
                  const char* format) {
    LOCUS_CHECK(!values.empty() && labels.size() == values.size(),
                "bars \"" + title + "\": " + std::to_string(labels.size()) + " labels, " +
                    std::to_string(values.size()) + " values");
    std::size_t label_width = 0, number_width = 0;
    double scale = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
        label_width = std::max(label_width, display_width(record_->page.plain(labels[n])));
        number_width = std::max(number_width, text_of(values[n], format).size());
        scale = std::max(scale, std::abs(values[n]));
        record_->json["bars"][title][labels[n]] = json_number(values[n]);
    }
    std::string lines = title + '\n';
    for (std::size_t n = 0; n < values.size(); ++n) {
        const std::string label = record_->page.plain(labels[n]);
        std::string line = "  " + label + std::string(label_width - display_width(label), ' ') + "  " +
                           padded_left(text_of(values[n], format), number_width) + "  ";
        const double length = scale > 0 ? 72.0 - 6 - static_cast<double>(label_width + number_width) : 0;
        std::string blocks;
        for (long cell = std::lround(length * std::abs(values[n]) / std::max(scale, 1e-300)); cell > 0; --cell)
            blocks += record_->page.plain("\u2588");
        line = blocks.empty() ? line.erase(line.find_last_not_of(' ') + 1) : line + record_->page.ink.bar(blocks);
        lines += line + '\n';
    }
    record_->print_words(Kind::picture, lines);
}

void Lesson::curves(const std::string& title, const std::string& x_axis, const std::vector<double>& xs,
                    const std::string& y_axis, const std::vector<Curve>& lines, int rows) {
    LOCUS_CHECK(!xs.empty() && !lines.empty() && rows > 2, "curves \"" + title + "\": nothing to draw");
    const Range across = range_of(xs), up = range_of(lines);
    std::vector<std::string> canvas(static_cast<std::size_t>(rows), std::string(kColumns, ' '));
    std::string legend = y_axis + ":";
    for (const Curve& line : lines) {
        LOCUS_CHECK(line.heights.size() == xs.size(), "curve \"" + line.name + "\": expected a height for every x");
        for (std::size_t n = 0; n < xs.size(); ++n) {
            const auto row = static_cast<std::size_t>(rows - 1 - up.place(line.heights[n], rows));
            char& cell = canvas[row][static_cast<std::size_t>(across.place(xs[n], kColumns))];
            if (cell == ' ') cell = line.mark;  // the curve named first stays on top
            record_->json["curves"][title][line.name].push_back(json_number(line.heights[n]));
        }
        legend += "   " + std::string(1, line.mark) + " " + line.name;
    }
    std::string text = title + "\n  " + legend + "\n";
    for (int row = 0; row < rows; ++row) {
        const bool labelled = row == 0 || row == rows - 1 || row == (rows - 1) / 2;
        double height = up.high - up.span() * row / (rows - 1);
        if (std::abs(height) < 1e-12 * up.span()) height = 0;  // the middle of -1 ... 1 is not 2e-16
        std::string line = padded_left(labelled ? text_of(height, "%.3g") : "", 10) +
                           (labelled ? " \u2524" : " \u2502") + canvas[static_cast<std::size_t>(row)];
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    std::string axis = std::string(11, ' ') + "\u2514";
    for (int column = 0; column < kColumns; ++column) axis += "\u2500";
    const std::string first = text_of(across.low, "%.4g"), last = text_of(across.high, "%.4g"),
                      name = record_->page.plain(x_axis);
    const std::size_t room = kColumns - first.size() - last.size(), wide = display_width(name);
    LOCUS_CHECK(wide + 2 <= room, "curves \"" + title + "\": the name of the x axis is too long");
    const std::size_t before = (room - wide) / 2;
    text += axis + '\n' + std::string(12, ' ') + first + std::string(before, ' ') + name +
            std::string(room - wide - before, ' ') + last;
    record_->print_words(Kind::picture, text);
    for (const double x : xs) record_->json["curves"][title]["x"].push_back(x);
}

}  // namespace locus::lesson
