// What a difference looks like when no mistake is known by name.
#include "core/conformance/diagnosis/patterns.h"

#include <cmath>
#include <sstream>

namespace locus::conformance {

std::string short_number(double value) {
    std::ostringstream text;
    text.precision(6);
    text << value;
    return text.str();
}

std::string listed(const std::vector<Index>& numbers) {
    constexpr std::size_t kMost = 12;
    std::string text;
    for (std::size_t n = 0; n < numbers.size() && n < kMost; ++n) text += (n ? ", " : "") + std::to_string(numbers[n]);
    return numbers.size() > kMost ? text + ", ..." : text;
}

bool Compared::wrong(Index flat) const { return !(std::abs(found[flat] - right[flat]) <= allowed); }

bool Compared::has_pairs() const {
    return rank() >= 2 && axes.size() == static_cast<std::size_t>(rank()) && axes[axes.size() - 2] == "Tq" &&
           axes.back() == "Tk";
}

bool Compared::has_heads() const {
    for (std::size_t axis = 0; axis + 2 < axes.size(); ++axis)
        if (axes[axis] == "H") return true;
    return false;
}

std::string describe_difference(const Evidence& evidence, const StageVerdict& verdict) {
    if (verdict.worst < 0) return verdict.reason;
    const Stage& stage = evidence.reference.at(verdict.name);
    const Tensor<double> right = widened(stage), found = widened(evidence.candidate.at(verdict.name));
    if (right.shape() != found.shape()) return verdict.reason;
    const Compared compared{right, found, verdict.allowed, stage.axes};
    const std::size_t segment = verdict.name.starts_with("segment.") ? std::stoul(verdict.name.substr(8)) : 0;
    const ModelInput* input = segment < evidence.segments.size() ? &evidence.segments[segment] : nullptr;
    if (const auto values = pattern_of_values(compared)) return *values;
    if (const auto places = pattern_of_places(compared, input)) return *places;
    return "no pattern found";
}

}  // namespace locus::conformance
