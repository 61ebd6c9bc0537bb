// Pictures of letters: matrices, heatmaps and boxes.
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
    Index height = static_cast<Index>(rows.size());
    std::size_t margin = 0;
    for (const std::string& row : rows) margin = std::max(margin, display_width(record_->page.plain(row)) + 2);
    for (const auto& [title, matrix] : matrices) {
        scale = std::max(scale, largest(matrix));
        height = std::max(height, matrix.rows());
        keep_matrix(title, matrix);
    }
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
}

}  // namespace locus::lesson
