#include <cmath>

#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Formula other_values() {
    return {"v_rot", {"v", "/rotary.sin", "/rotary.cos"}, [](const Replay& at) {
                if (at.roformer().rotary_value) return at("v");
                return turned(at("v"), at("/rotary.sin"), at("/rotary.cos"), RotaryLayout::interleaved);
            }};
}

Formula context_of_v_rot() {
    return {"context", {"probs", "v_rot"}, [](const Replay& at) { return joined_heads(at("probs"), at("v_rot")); }};
}

Formula across_heads(const char* stem, const char* from) {
    return {stem, {from}, [from](const Replay& at) {
                at.roformer();
                return turned_across_heads(at(from));
            }};
}

/// x is turned over its whole width, then projected.
Formula before_projection(const char* stem, const char* part) {
    return {stem, {"x"}, [part](const Replay& at) {
                const Index width = at.roformer().hidden_size, heads = at.roformer().num_attention_heads;
                const std::string name = "encoder.layer." + std::to_string(at.layer()) + ".attention.self." + part;
                const Tensor<double> x = join_heads(turned_across_heads(split_heads(at("x"), heads)));
                return project_heads<double>(x, at.model().weights.dense(name, width, width), heads);
            }};
}

}  // namespace

Mistake mistake_62() {
    return {
        .number = 62,
        .name = "the rotation stands at the wrong place, or the scale behind it is forgotten",
        .symptom = "attention looks plausible and the output is wrong, or attention is far too sharp",
        .betrays = "context == probs R v, or q_rot turned with d = D, or scores == sqrt(d) times the right ones",
        .evidence = "",
        .lesson = "16",
        .families = {Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"v_rot", "q_rot", "k_rot", "scores", "context"},
        .variants = {
            {"values are turned too (or not, where rotary_value is set)", {other_values(), context_of_v_rot()}},
            {"turned before the heads are split", {across_heads("q_rot", "q"), across_heads("k_rot", "k")}},
            {"turned before the projection", {before_projection("q_rot", "query"), before_projection("k_rot", "key")}},
            {"no division by sqrt(d)", {{"scores", {"q"}, [](const Replay& at) {
                                             const double root = std::sqrt(static_cast<double>(at("q").extent(3)));
                                             return mapped(at.right("scores"),
                                                           [&](double score) { return score * root; });
                                         }}}}}};
}

}  // namespace locus::conformance
