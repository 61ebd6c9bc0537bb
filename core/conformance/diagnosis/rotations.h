#pragma once
// The small steps of RoFormer's formulas, right and wrong.
#include "core/conformance/diagnosis/arithmetic.h"
#include "core/positions/rotary.h"

namespace locus::conformance {

inline Tensor<double> as_rows(const Matrix<double>& rows) {
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

/// Every head of x [B,H,T,d] turned by the angles [T,d/2].
inline Tensor<double> turned(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos,
                             RotaryLayout layout) {
    const RotaryTable<double> table{sin.matrix(), cos.matrix()};
    return each_head(x, x.extent(2), x.extent(3),
                     [&](Index at, Index, Index) { return rotate<double>(x.matrix(at), table, layout); });
}

/// x [B,H,T,d], heads joined and turned over the whole width D as one vector, heads split again.
inline Tensor<double> turned_across_heads(const Tensor<double>& x) {
    const Tensor<double> joined = join_heads(x);
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(joined.extent(2)), 0, joined.extent(1));
    Tensor<double> y(joined.shape());
    for (Index b = 0; b < y.extent(0); ++b)
        y.matrix(b) = rotate<double>(joined.matrix(b), table, RotaryLayout::interleaved);
    return split_heads(y, x.extent(1));
}

/// A rotated stage out of the one it is made of, by another step(x, sin, cos).
template <class Step>
Formula rotation(const std::string& stem, const std::string& from, Step step) {
    return {stem, {from, "/rotary.sin", "/rotary.cos"}, [from, step](const Replay& at) {
                return step(at(from), at("/rotary.sin"), at("/rotary.cos"));
            }};
}

/// q_rot and k_rot by one step; a port that turns values too may well turn those right.
template <class Step>
std::vector<Formula> rotations(Step step) {
    return {rotation("q_rot", "q", step), rotation("k_rot", "k", step)};
}

/// The same and, where values are turned too, v_rot.
template <class Step>
std::vector<Formula> rotations_of_all(Step step) {
    return {rotation("q_rot", "q", step), rotation("k_rot", "k", step), rotation("v_rot", "v", step)};
}

/// rotary.sin and rotary.cos by other angles per position [d/2].
template <class Theta>
std::vector<Formula> angles_by(Theta theta) {
    const auto table = [theta](const Replay& at) { return rotary_table<double>(theta(at), 0, at.input().length()); };
    return {{"/rotary.sin", {}, [table](const Replay& at) { return as_rows(table(at).sin); }},
            {"/rotary.cos", {}, [table](const Replay& at) { return as_rows(table(at).cos); }}};
}

}  // namespace locus::conformance
