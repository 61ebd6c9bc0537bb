#pragma once
// Every stage there is, for people and for programs: names, axes, formulas.
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace locus::cli {

/// A line for each stage of core/stages.h, and one below it for each family that computes something else under its
/// name; then what the letters of the axes mean.
std::string stages_as_table();

/// [{"name", "axes", "formula", "meaning", "source", "others": {"roformer": {"axes", "formula", "source"}, ...}}, ...]
nlohmann::ordered_json stages_as_json();

}  // namespace locus::cli
