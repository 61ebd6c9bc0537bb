// Right formulas of cases that are a part of no model: linear attention, and a rotation behind a cached prefix.
#include <nlohmann/json.hpp>

#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/formulas/formulas.h"
#include "core/conformance/formulas/linear_parts.h"
#include "core/positions/rotary.h"

namespace locus::conformance {

namespace {

/// Su et al. 2021, eq. 19: features turn in the numerator alone.
std::vector<Formula> linear_formulas(bool causal) {
    return {
        {"causal", {}, [causal](const Replay&) { return Tensor<double>({1}, {causal ? 1.0 : 0.0}); }},
        {"phi_q", {"q"}, [](const Replay& at) { return features_of(at("q")); }},
        {"phi_k", {"k"}, [](const Replay& at) { return without_padding(at, features_of(at("k"))); }},
        {"phi_q_rot", {"phi_q"}, [](const Replay& at) { return turned_by_position(at("phi_q")); }},
        {"phi_k_rot", {"phi_k"}, [](const Replay& at) { return turned_by_position(at("phi_k")); }},
        {"denominator",
         {"phi_q", "phi_k"},
         [](const Replay& at) { return bounded(row_sums(seen_products(at, at("phi_q"), at("phi_k")))); }},
        {"weights",
         {"phi_q_rot", "phi_k_rot", "denominator"},
         [](const Replay& at) {
             return divided(seen_products(at, at("phi_q_rot"), at("phi_k_rot")), at("denominator"));
         }},
        {"context", {"weights", "v"}, [](const Replay& at) { return joined_heads(at("weights"), at("v")); }},
    };
}

/// Angles of all keys; queries are the last of them.
RotaryTable<double> angles_of_keys(const Replay& at) {
    const Tensor<double>& k = at("k");
    return rotary_table<double>(inverse_frequencies(k.extent(3)), 0, k.extent(2));
}

std::vector<Formula> cached_rotation_formulas() {
    return {
        {"/rotary.sin", {}, [](const Replay& at) { return as_rows(angles_of_keys(at.elsewhere("layer.0.")).sin); }},
        {"/rotary.cos", {}, [](const Replay& at) { return as_rows(angles_of_keys(at.elsewhere("layer.0.")).cos); }},
        {"q_rot",
         {"q", "/rotary.sin", "/rotary.cos"},
         [](const Replay& at) {
             const Index count = at("q").extent(2), past = at("k").extent(2) - count;
             const auto last = [&](const char* angles) {
                 return as_rows(Matrix<double>(at(angles).matrix().middleRows(past, count)));
             };
             return turned(at("q"), last("/rotary.sin"), last("/rotary.cos"), RotaryLayout::interleaved);
         }},
        {"k_rot",
         {"k", "/rotary.sin", "/rotary.cos"},
         [](const Replay& at) {
             return turned(at("k"), at("/rotary.sin"), at("/rotary.cos"), RotaryLayout::interleaved);
         }},
        {"scores",
         {"q_rot", "k_rot"},
         [](const Replay& at) {
             const double root = std::sqrt(static_cast<double>(at("q_rot").extent(3)));
             return mapped(products(at("q_rot"), at("k_rot")), [&](double score) { return score / root; });
         }},
    };
}

}  // namespace

const std::vector<Formula>* formulas_of_kind(const nlohmann::ordered_json& config) {
    static const std::vector<Formula> linear = linear_formulas(false), causal = linear_formulas(true),
                                      cached = cached_rotation_formulas();
    const std::string kind = config.is_object() ? config.value("kind", "") : "";
    if (kind == "linear_attention") return config.value("causal", false) ? &causal : &linear;
    return kind == "rotary_cache" ? &cached : nullptr;
}

}  // namespace locus::conformance
