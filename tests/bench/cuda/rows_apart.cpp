#include "tests/bench/cuda/rows_apart.h"

#include <algorithm>
#include <iostream>

#include "tests/bench/cuda/measures.h"
#include "tests/bench/cuda/processes.h"

namespace locus::bench {

using nlohmann::ordered_json;

namespace {

void print_line(const char* what, const ordered_json& row) {
    std::cout << ordered_json{{what, row}}.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << std::endl;
}

std::string why_ended(const Captured& ran, double limit) {
    if (ran.timed_out) return "it did not end within " + text_of(limit, 0) + " seconds";
    return ran.status > 128 ? "its process was ended by signal " + std::to_string(ran.status - 128)
                            : "its process ended with status " + std::to_string(ran.status);
}

}  // namespace

int print_rows(const Plan& plan, std::size_t first, double seconds, const std::function<bool()>& works) {
    const Rows rows([](const ordered_json& row) { print_line("row", row); },
                    [](const ordered_json& row) { print_line("so_far", row); }, seconds);
    for (std::size_t n = first; n < plan.rows.size() && !rows.is_over(); ++n) {
        rows.add(plan.measure(n, [&](const ordered_json& row) { rows.add_so_far(row); }));
        if (!works()) return kDeviceLost;
    }
    return 0;
}

void measure_apart(const Plan& plan,
                   const std::function<std::vector<std::string>(std::size_t first, double seconds)>& command,
                   const Rows& rows) {
    std::size_t next = 0;
    while (next < plan.rows.size()) {
        if (rows.is_over()) {
            ordered_json row = plan.rows[next++];
            row["not_measured"] = rows.over();
            rows.add(row);
            continue;
        }
        const std::size_t first = next;
        ordered_json so_far = plan.rows[next];
        double limit = 0;
        const Captured ran = follow(
            command(first, rows.left()),
            // A row that begins just before the end of the part still has a while.
            [&] { return limit = std::min(plan.seconds, std::max(rows.left(), 0.0) + 40); },
            [&](const std::string& line) {
                const ordered_json said = ordered_json::parse(line, nullptr, false);
                if (!said.is_object() || next == plan.rows.size()) return;  // of a library that prints
                if (said.contains("so_far")) rows.add_so_far(so_far = said["so_far"]);
                if (!said.contains("row")) return;
                rows.add(said["row"]);
                if (++next < plan.rows.size()) so_far = plan.rows[next];
            });
        const bool went_on = next > first;
        if (next == plan.rows.size() || (went_on && ran.status == kDeviceLost) || (ran.status == 0 && rows.is_over()))
            continue;
        so_far["not_measured"] = why_ended(ran, limit);
        so_far["ended"] = true;
        rows.add(so_far);
        ++next;
    }
}

}  // namespace locus::bench
