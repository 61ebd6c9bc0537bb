#pragma once
// What locus-bench-cuda measures of our own kernels, and the columns in which it prints everything.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/cuda/report.h"
#include "tests/bench/cuda/roofline.h"
#include "tests/bench/cuda/rows_apart.h"

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

/// Forward and backward at every shape, or "not_measured" and the sentence why: "forward" is what a caller gets, beside
/// it the two kernels on tensor cores by name.  Times by launches and through a captured graph, the floor of each on
/// this device, and the share of it.
Plan plan_kernels(const Narrowing& narrowing);

/// The same as rows of a table, its heading first.
std::vector<std::vector<std::string>> kernel_table(const nlohmann::ordered_json& kernels);

/// Milliseconds of every version in float32 at three lengths, or its sentence why not; the tests have compared them
/// before.
Plan plan_ladder(const Narrowing& narrowing);

/// The same as rows of a table, its heading first.
std::vector<std::vector<std::string>> ladder_table(const nlohmann::ordered_json& ladder);

/// The encoder of DeBERTa v3 base with random weights, B 16 and T 512, in each 16-bit format and with each kind of
/// products: milliseconds kernel by kernel and in a graph, or "not_measured" and the sentence why.
Plan plan_encoders(const Narrowing& narrowing);

/// The same as rows of a table, its heading first.
std::vector<std::vector<std::string>> encoder_table(const nlohmann::ordered_json& encoders);

}  // namespace locus::bench
