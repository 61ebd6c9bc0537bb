// Pictures of letters: matrices, heatmaps, tables, bars, and curves over an axis.
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/text_table.h"
#include "lessons/support/record.h"

namespace locus::lesson {

namespace {

double largest(const Matrix<double>& matrix) {
    double size = 0;
    for (Index n = 0; n < matrix.size(); ++n)
        if (std::isfinite(matrix.data()[n])) size = std::max(size, std::abs(matrix.data()[n]));
    return size;
}

std::string spaces(std::size_t count) { return std::string(count, ' '); }

/// "+9", "-3", " 0", " ?" (no number): the value in ninths of the largest; a value too small for a digit keeps its
/// sign.
std::string digit(double value, double scale) {
    if (!std::isfinite(value)) return " ?";
    if (value == 0 || scale == 0) return " 0";
    return (value > 0 ? "+" : "-") + std::to_string(std::lround(9 * std::abs(value) / scale));
}

bool begins_as_number(const std::string& cell) {
    return cell.empty() || cell == "nan" || cell.find_first_of("+-.0123456789") == 0 || cell.starts_with("\u2212");
}

/// "├──┼──┤" for columns of these widths.
std::string rule(const std::vector<std::size_t>& widths, const char* left, const char* cross, const char* right) {
    std::string line = left;
    for (std::size_t column = 0; column < widths.size(); ++column) {
        line += column ? cross : "";
        for (std::size_t n = 0; n < widths[column] + 2; ++n) line += "\u2500";
    }
    return "  " + line + right + "\n";
}

}  // namespace

void Lesson::keep_matrix(const std::string& title, const Matrix<double>& matrix) {
    auto rows = nlohmann::ordered_json::array();
    for (Index i = 0; i < matrix.rows(); ++i) {
        rows.push_back(nlohmann::ordered_json::array());
        for (Index j = 0; j < matrix.cols(); ++j) rows.back().push_back(json_number(matrix(i, j)));
    }
    record_->json["matrices"][title] = rows;
}

void Lesson::print_matrix(const std::string& title, const Matrix<double>& matrix, const char* format, Index group,
                          bool signs) {
    const double scale = std::max(largest(matrix), 1e-300);
    std::string lines = title + '\n';
    for (Index i = 0; i < matrix.rows(); ++i) {
        lines += "  ";
        for (Index j = 0; j < matrix.cols(); ++j) {
            const std::string cell = text_of(matrix(i, j), format);
            lines += (j > 0 && j % group == 0 ? "    " : "") +
                     (signs ? record_->page.ink.shaded(cell, matrix(i, j) / scale) : cell);
        }
        lines += '\n';
    }
    record_->print_words(Kind::picture, lines);
    keep_matrix(title, matrix);
    record_->keep({{"matrix", title}, {"format", format}, {"signed", signs}, {"group", group}});
}

void Lesson::show(const std::string& title, const Matrix<double>& matrix, const char* format, Index group) {
    print_matrix(title, matrix, format, group, false);
}

void Lesson::show_signed(const std::string& title, const Matrix<double>& matrix, const char* format, Index group) {
    print_matrix(title, matrix, format, group, true);
}

void Lesson::heatmaps(const std::vector<std::pair<std::string, Matrix<double>>>& matrices,
                      const std::vector<std::string>& rows) {
    double scale = 0;
    std::vector<std::string> names;
    Index height = static_cast<Index>(rows.size());
    std::size_t margin = 0;
    for (const std::string& row : rows) margin = std::max(margin, display_width(record_->page.plain(row)) + 2);
    for (const auto& [title, matrix] : matrices) {
        scale = std::max(scale, largest(matrix));
        height = std::max(height, matrix.rows());
        keep_matrix(title, matrix);
        names.push_back(title);
    }
    record_->keep({{"heatmaps", names}, {"rows", rows}});
    std::vector<std::string> lines(static_cast<std::size_t>(height) + 1, "  " + spaces(margin));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::string label = record_->page.plain(rows[i]);
        lines[i + 1] = "  " + label + spaces(margin - display_width(label));
    }
    for (const auto& [title, matrix] : matrices) {
        const std::string name = record_->page.plain(title);
        const std::size_t wide = display_width(name), cells = 3 * static_cast<std::size_t>(matrix.cols());
        const std::size_t width = std::max(wide, cells) + 3;
        lines[0] += name + spaces(width - wide);
        for (Index i = 0; i < height; ++i) {
            std::string& line = lines[static_cast<std::size_t>(i) + 1];
            for (Index j = 0; j < matrix.cols() && i < matrix.rows(); ++j)
                line +=
                    record_->page.ink.shaded(digit(matrix(i, j), scale), scale > 0 ? matrix(i, j) / scale : 0) + " ";
            line += spaces(width - (i < matrix.rows() ? cells : 0));
        }
    }
    std::string text;
    for (std::string& line : lines) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    const auto size = [&](double digits) { return text_of(digits * scale / 9, "%.3g"); };
    text += "  9 means " + size(9) + ", 1 means " + size(1) + "; +0, -0: size below " + size(0.5) + "; 0: exactly 0\n";
    record_->print(Kind::picture, text);
}

void Lesson::table(const std::string& title, const std::vector<std::vector<std::string>>& rows) {
    LOCUS_CHECK(rows.size() > 1,
                "table \"" + title + "\": " + std::to_string(rows.size()) + " rows, expected at least 2");
    const std::size_t columns = rows[0].size();
    std::vector<std::size_t> widths(columns);
    std::vector<bool> numbers(columns, true);
    std::vector<std::vector<std::string>> cells;
    for (const auto& row : rows) {
        LOCUS_CHECK(row.size() == columns, "table \"" + title + "\": a row has " + std::to_string(row.size()) +
                                               " cells, expected " + std::to_string(columns));
        cells.emplace_back();
        for (std::size_t column = 0; column < columns; ++column) {
            cells.back().push_back(record_->page.plain(row[column]));
            widths[column] = std::max(widths[column], display_width(cells.back()[column]));
            if (cells.size() > 1 && !begins_as_number(cells.back()[column])) numbers[column] = false;
        }
    }
    std::string lines = record_->page.plain(title) + '\n' + rule(widths, "\u250c", "\u252c", "\u2510");
    for (std::size_t row = 0; row < cells.size(); ++row) {
        lines += "  ";
        for (std::size_t column = 0; column < columns; ++column) {
            const std::string& cell = cells[row][column];
            const std::string padding = spaces(widths[column] - display_width(cell));
            lines += "\u2502 " + (numbers[column] ? padding + cell : cell + padding) + " ";
        }
        lines += "\u2502\n";
        if (row == 0) lines += rule(widths, "\u251c", "\u253c", "\u2524");
    }
    record_->print_words(Kind::picture, lines + rule(widths, "\u2514", "\u2534", "\u2518"));
    record_->json["tables"][title] = rows;
    record_->keep({{"table", title}});
}

// --- bars and curves -------------------------------------------------------------------------------------------------

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
    record_->keep({{"bars", title}, {"format", format}});
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
    record_->keep({{"curves", title}, {"x", x_axis}, {"y", y_axis}});
}

}  // namespace locus::lesson
