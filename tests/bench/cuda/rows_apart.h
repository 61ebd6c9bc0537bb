#pragma once
// Rows that a process of its own measures, so that a crash or a hang costs one row and not those after it: a kernel
// that fails leaves a device that answers its process nothing more.
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/bench/cuda/report.h"

namespace locus::bench {

/// The rows of one part.
struct Plan {
    using SoFar = std::function<void(const nlohmann::ordered_json&)>;

    std::vector<nlohmann::ordered_json> rows;  // what each says of itself, measured or not
    /// Row n whole, or with "not_measured" and the sentence why; so_far may be called with what is known of it.
    std::function<nlohmann::ordered_json(std::size_t n, const SoFar& so_far)> measure;
    double seconds = 60;  // that a row may take
};

/// The process of its own.  Measures the rows from number `first` on and prints each as a line {"row": ...}, before it
/// perhaps {"so_far": ...}, and begins none after so many seconds.  The exit status: 0, or kDeviceLost as soon as
/// `works` says that the device answers no more.
int print_rows(const Plan& plan, std::size_t first, double seconds, const std::function<bool()>& works);
inline constexpr int kDeviceLost = 75;

/// Adds all rows of the plan, measured by `command(first, seconds)`, which calls print_rows and is started again after
/// a row that ended it or took too long.  That row holds what was known of it, "not_measured" and "ended": true.
void measure_apart(const Plan& plan,
                   const std::function<std::vector<std::string>(std::size_t first, double seconds)>& command,
                   const Rows& rows);

}  // namespace locus::bench
