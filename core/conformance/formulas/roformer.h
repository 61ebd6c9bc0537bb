#pragma once
// The small steps of RoFormer's formulas, right and wrong.
#include "core/conformance/formulas/arithmetic.h"
#include "core/positions/rotary.h"

namespace locus::conformance {

inline Tensor<double> as_rows(const Matrix<double>& rows) {
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

/// Every head of x [B,H,T,d] rotated by the angles [T,d/2].
inline Tensor<double> rotated(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos,
                              RotaryLayout layout) {
    const RotaryTable<double> table{sin.matrix(), cos.matrix()};
    return each_head(x, x.extent(2), x.extent(3),
                     [&](Index at, Index, Index) { return rotate<double>(x.matrix(at), table, layout); });
}

/// x [B,H,T,d], heads joined and rotated over the whole width D as one vector, heads split again.
inline Tensor<double> rotated_across_heads(const Tensor<double>& x) {
    const Tensor<double> joined = join_heads(x);
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(joined.extent(2)), 0, joined.extent(1));
    Tensor<double> y(joined.shape());
    for (Index b = 0; b < y.extent(0); ++b)
        y.matrix(b) = rotate<double>(joined.matrix(b), table, RotaryLayout::interleaved);
    return split_heads(y, x.extent(1));
}

/// The last rows of a table [T,d/2]: queries of a later step have fewer rows than the table, and stand at its end.
inline Tensor<double> last_rows(const Tensor<double>& table, Index rows) {
    if (table.rank() != 2 || table.extent(0) <= rows) return table;
    return as_rows(table.matrix().bottomRows(rows));
}

/// A rotated stage out of the one it is made of, by another step(x, sin, cos).
template <class Step>
Formula rotation(const std::string& stem, const std::string& from, Step step) {
    return {stem, {from, "/rotary.sin", "/rotary.cos"}, [from, step](const Replay& at) {
                const Tensor<double>& x = at(from);
                return step(x, last_rows(at("/rotary.sin"), x.extent(2)), last_rows(at("/rotary.cos"), x.extent(2)));
            }};
}

/// q_rot and k_rot by one step; a port that rotates values too may well rotate those right.
template <class Step>
std::vector<Formula> rotations(Step step) {
    return {rotation("q_rot", "q", step), rotation("k_rot", "k", step)};
}

/// The same and, where values are rotated too, v_rot.
template <class Step>
std::vector<Formula> rotations_of_all(Step step) {
    return {rotation("q_rot", "q", step), rotation("k_rot", "k", step), rotation("v_rot", "v", step)};
}

/// The same by step(replay, x), which brings its own angles.
template <class Step>
std::vector<Formula> rotations_of_all_here(Step step) {
    std::vector<Formula> all;
    for (const auto& [stem, from] : {std::pair{"q_rot", "q"}, {"k_rot", "k"}, {"v_rot", "v"}})
        all.push_back(
            {stem, {from}, [step, from = std::string(from)](const Replay& at) { return step(at, at(from)); }});
    return all;
}

/// Positions that have an angle: those of the reference's table, else of the input.
inline Index positions_of(const Replay& at) {
    const auto sin = at.expected("/rotary.sin");
    return sin && sin->rank() == 2 ? sin->extent(0) : at.input().length();
}

/// Channels of a head: by the configuration, else by the reference's angles.
inline Index head_width(const Replay& at) {
    if (at.has_model()) return at.roformer().head_width();
    const auto sin = at.expected("/rotary.sin");
    if (!sin || sin->rank() != 2 || sin->extent(1) == 0) throw NotEnough{"a model folder or rotary.sin"};
    return 2 * sin->extent(1);
}

/// rotary.sin and rotary.cos by other angles per position [d/2].
template <class Theta>
std::vector<Formula> angles_by(Theta theta) {
    const auto table = [theta](const Replay& at) { return rotary_table<double>(theta(at), 0, positions_of(at)); };
    return {{"/rotary.sin", {}, [table](const Replay& at) { return as_rows(table(at).sin); }},
            {"/rotary.cos", {}, [table](const Replay& at) { return as_rows(table(at).cos); }}};
}

// The small steps of linear attention with rotary positions, right and wrong (Su et al. 2021, eq. 19).  Features:
// [B,H,T,d].

inline constexpr double kSmallestDenominator = 1e-6;

/// elu(x) + 1.
Tensor<double> features_of(const Tensor<double>& x);
/// Row m rotated by m base^(-2t/d), neighbours in pairs.
Tensor<double> rotated_by_position(const Tensor<double>& x);
/// Rows of hidden keys set to 0.  Throws NotEnough where it is not known which are hidden.
Tensor<double> without_padding(const Replay& at, Tensor<double> keys);
/// q_i . k_j, 0 for the future where the case is causal -> [B,H,T,T].
Tensor<double> seen_products(const Replay& at, const Tensor<double>& q, const Tensor<double>& k);
/// Sum over keys -> [B,H,T].
Tensor<double> row_sums(const Tensor<double>& products);
/// No smaller than 1e-6; NaN stays NaN.
Tensor<double> bounded(Tensor<double> denominators);
/// products [B,H,T,T] over denominators [B,H,T].
Tensor<double> divided(Tensor<double> products, const Tensor<double>& denominators);

}  // namespace locus::conformance
