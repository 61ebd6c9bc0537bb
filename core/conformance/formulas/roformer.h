#pragma once
// The small steps of RoFormer's formulas, right and wrong.
#include "core/conformance/formulas/arithmetic.h"
#include "core/positions/rotary.h"

namespace locus::conformance {

inline Tensor<double> as_rows(const Matrix<double>& rows) {
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

/// Word rows plus those of their types, before the norm, [B*T,E].
Matrix<double> roformer_embedding_sum(const Replay& at);
/// embeddings.output of such a sum: normed, then projected to D where the embeddings are narrower.
Tensor<double> roformer_embeddings(const Replay& at, const Matrix<double>& sum);

/// Every head of x [B,H,T,d] rotated by the angles [T,d/2].
inline Tensor<double> rotated(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos,
                              RotaryLayout layout) {
    const RotaryTable<double> table{sin.matrix(), cos.matrix()};
    return each_head(x, x.extent(2), x.extent(3),
                     [&](Index at, Index, Index) { return rotate<double>(x.matrix(at), table, layout); });
}

/// The right step for neighbours.
inline Tensor<double> rotated_neighbours(const Tensor<double>& x, const Tensor<double>& sin,
                                         const Tensor<double>& cos) {
    return rotated(x, sin, cos, RotaryLayout::interleaved);
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

/// 1 where channels t and t + d/2 are a pair, 0 where neighbours are; links formulas, and is never reported.  [1]
inline constexpr const char* kPairsHalves = "/rotary.halves";
inline bool pairs_halves(const Replay& at) { return at(kPairsHalves)[0] != 0; }

/// Channels 0, d/2, 1, d/2 + 1, ... of every vector: pairs of halves become neighbours.
Tensor<double> as_neighbours(const Tensor<double>& x);
/// Channels 0, 2, 4, ..., 1, 3, 5, ...: the reverse.
Tensor<double> as_halves(const Tensor<double>& x);

/// What is rotated, and the stage that it becomes; linear attention rotates features.
struct RotatedStage {
    const char *from, *to;
};
inline constexpr RotatedStage kRotatedQueries[] = {{"q", "q_rot"}, {"phi_q", "phi_q_rot"}};
inline constexpr RotatedStage kRotatedKeys[] = {{"k", "k_rot"}, {"phi_k", "phi_k_rot"}};
inline constexpr RotatedStage kRotatedValues[] = {{"v", "v_rot"}};

/// step(replay, x) for channels paired as neighbours; where the model pairs halves they are put in that order, and
/// back.
template <class Step>
Formula rotation_here(const RotatedStage& stage, Step step) {
    return {stage.to,
            {stage.from, "/rotary.sin", "/rotary.cos", kPairsHalves},
            [step, from = std::string(stage.from)](const Replay& at) {
                return pairs_halves(at) ? as_halves(step(at, as_neighbours(at(from)))) : step(at, at(from));
            }};
}

/// A rotated stage out of the one it is made of, by another step(x, sin, cos) for neighbours.
template <class Step>
Formula rotation(const RotatedStage& stage, Step step) {
    return rotation_here(stage, [step](const Replay& at, const Tensor<double>& x) {
        return step(x, last_rows(at("/rotary.sin"), x.extent(2)), last_rows(at("/rotary.cos"), x.extent(2)));
    });
}

/// The same by step(replay, x, sin, cos, halves) for channels as the model has them; `halves`: how it pairs them.
template <class Step>
Formula rotation_of_either_layout(const RotatedStage& stage, Step step) {
    return {stage.to,
            {stage.from, "/rotary.sin", "/rotary.cos", kPairsHalves},
            [step, from = std::string(stage.from)](const Replay& at) {
                const Tensor<double>& x = at(from);
                return step(at, x, last_rows(at("/rotary.sin"), x.extent(2)), last_rows(at("/rotary.cos"), x.extent(2)),
                            pairs_halves(at));
            }};
}

/// make(stage) for every stage of the lists.
template <class Make, class... Lists>
std::vector<Formula> for_each_rotated(Make make, const Lists&... lists) {
    std::vector<Formula> all;
    const auto add = [&](const auto& list) {
        for (const RotatedStage& stage : list) all.push_back(make(stage));
    };
    (add(lists), ...);
    return all;
}

/// Rotated queries by one step.
template <class Step>
std::vector<Formula> rotations_of_queries(Step step) {
    return for_each_rotated([&](const RotatedStage& stage) { return rotation(stage, step); }, kRotatedQueries);
}

template <class Step>
std::vector<Formula> rotations_of_keys(Step step) {
    return for_each_rotated([&](const RotatedStage& stage) { return rotation(stage, step); }, kRotatedKeys);
}

/// Queries and keys by one step; a port that rotates values too may well rotate those right.
template <class Step>
std::vector<Formula> rotations(Step step) {
    return for_each_rotated([&](const RotatedStage& stage) { return rotation(stage, step); }, kRotatedQueries,
                            kRotatedKeys);
}

/// The same and, where values are rotated too, v_rot.
template <class Step>
std::vector<Formula> rotations_of_all(Step step) {
    return for_each_rotated([&](const RotatedStage& stage) { return rotation(stage, step); }, kRotatedQueries,
                            kRotatedKeys, kRotatedValues);
}

/// The same by step(replay, x), which brings its own angles.
template <class Step>
std::vector<Formula> rotations_of_all_here(Step step) {
    return for_each_rotated([&](const RotatedStage& stage) { return rotation_here(stage, step); }, kRotatedQueries,
                            kRotatedKeys, kRotatedValues);
}

/// The same by step(replay, x, sin, cos, halves) for channels as the model has them.
template <class Step>
std::vector<Formula> rotations_of_either_layout(Step step) {
    return for_each_rotated([&](const RotatedStage& stage) { return rotation_of_either_layout(stage, step); },
                            kRotatedQueries, kRotatedKeys, kRotatedValues);
}

/// Positions that have an angle: those of the reference's table, else of the keys of a case without a model, else of
/// the input.
Index positions_of(const Replay& at);
/// Channels of a head: by the configuration, else by the reference's angles, else by the keys.
Index head_width(const Replay& at);
/// Channels of all heads.
Index model_width(const Replay& at);

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
/// Row m rotated by m base^(-2t/d), neighbours in pairs: features, before or after phi.
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
