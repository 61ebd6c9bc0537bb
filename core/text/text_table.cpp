#include "core/text/text_table.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <locale>
#include <sstream>

#include "core/check.h"

namespace locus {

std::size_t display_width(const std::string& text) {
    std::size_t width = 0;
    const auto length = static_cast<std::int32_t>(text.size());
    for (std::int32_t at = 0; at < length;) {
        UChar32 character = 0;
        U8_NEXT(text.data(), at, length, character);
        if (character < 0 || u_getCombiningClass(character) != 0) continue;
        const int wide = u_getIntPropertyValue(character, UCHAR_EAST_ASIAN_WIDTH);
        width += wide == U_EA_WIDE || wide == U_EA_FULLWIDTH ? 2 : 1;
    }
    return width;
}

std::string text_table(const std::vector<std::vector<std::string>>& cells, const std::vector<bool>& numbers) {
    std::vector<std::vector<std::string>> rows = cells;
    for (auto& row : rows)
        for (std::string& cell : row) cell = one_line(std::move(cell));
    std::vector<std::size_t> widths(numbers.size());
    for (const auto& row : rows)
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], display_width(row[column]));
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            const std::string padding(widths[column] - display_width(row[column]), ' ');
            line += (column ? "  " : "") + (numbers[column] ? padding + row[column] : row[column] + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

std::string format_number(double value, int digits) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text.precision(digits);
    text << value;
    return text.str();
}

}  // namespace locus
