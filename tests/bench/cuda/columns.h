#pragma once
// Plain columns for the tables of locus-bench-cuda.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace locus::bench {

/// Columns, the first one to the left; what is written here is ASCII.
inline std::string columns(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], row[n].size());
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t n = 0; n < row.size(); ++n) {
            const std::string padding(widths[n] - row[n].size(), ' ');
            text += (n ? "  " : "") + (n ? padding + row[n] : row[n] + padding);
        }
        text += '\n';
    }
    return text;
}

inline std::string text_of(double value, int decimals) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

}  // namespace locus::bench
