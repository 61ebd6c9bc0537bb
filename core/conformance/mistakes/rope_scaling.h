#pragma once
// Ways to scale rotary angles whose numbers are read off the candidate: each explains all positions and pairs by one
// number, or by one per pair, and is judged by what it predicts.
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "core/conformance/formulas/roformer.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

/// Bases that models are trained with, and that ports take for 10000.
inline constexpr std::array<double, 5> kOtherBases = {500000, 1000000, 160000, 100000, 1000};
/// What rope_scaling divides positions by.
inline constexpr std::array<double, 5> kOtherDivisors = {4, 2, 8, 0.5, 0.25};

/// theta_t of the model, [d/2], and the length of its sines and cosines: those of its own table where it has one that
/// is scaled, else 10000^(-2t/d) and 1.
struct RightAngles {
    std::vector<double> thetas;
    double length = 1;
};
RightAngles right_angles(const Replay& at);

/// Ways of mistake 89: a base that is not listed, and a listed one in one layer alone.
std::vector<Variant> fitted_bases();
std::vector<Variant> bases_of_one_layer();
/// A way of mistake 90: a factor that is not listed.
std::vector<Variant> fitted_factors();
/// A way of mistake 61: angles of a width that is neither the head's nor the model's.
Variant fitted_width();
/// The same for rows of relative positions, and a way of 89 for a base of theirs that is not listed.
Variant fitted_relative_width();
Variant fitted_relative_base();
/// Queries, or keys, that stand so many places further on than where they should.
std::vector<Formula> moved(std::span<const RotatedStage> stages, const std::function<Index(const Replay&)>& places);
/// Ways of mistake 94: the first position is neither 0 nor 1, for queries and keys, or for one of them alone.
Variant fitted_first_position();
Variant fitted_first_position_of_queries();
Variant fitted_first_position_of_keys();

}  // namespace locus::conformance
