#pragma once
// Columns of text for a terminal, and numbers as sentences and tables print them.
#include <string>
#include <vector>

namespace locus {

/// Rows of cells as aligned columns; the first is left-aligned, the others right-aligned where `numbers` says so.
/// Widths count characters, two for Hangul and other wide ones; a control character becomes '?': cells may hold what a
/// file calls something.
std::string text_table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& numbers);

/// Columns that a UTF-8 text takes on a terminal.
std::size_t display_width(const std::string& text);

/// "1.2346", "-3.2e-07", "nan": so many significant digits, with a point whatever the locale of the program is.
std::string format_number(double value, int digits = 6);

}  // namespace locus
