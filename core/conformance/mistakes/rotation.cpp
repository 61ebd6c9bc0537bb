// Mistakes 56 to 63.  RoFormer: the rotation of queries and keys.
#include <algorithm>
#include <cmath>

#include "core/conformance/formulas/formulas.h"
#include "core/conformance/formulas/roformer.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/relative_rows.h"
#include "core/conformance/mistakes/rope_scaling.h"

namespace locus::conformance {

namespace halves_for_neighbours {  // mistake 56

enum class Written { as_rotated, as_the_model };

/// Pairs of the layout that the model does not have; `of_halves`: what the model has.
std::vector<Formula> other_layout(bool of_halves, Written written) {
    const auto step = [=](const Replay&, const auto& x, const auto& sin, const auto& cos, bool halves) {
        if (halves != of_halves) throw NotEnough{"a model of the other layout"};
        const Tensor<double> y = rotated(x, sin, cos, halves ? RotaryLayout::interleaved : RotaryLayout::half_split);
        if (written == Written::as_rotated) return y;
        return halves ? as_halves(y) : as_neighbours(y);
    };
    // Values, where they are rotated too, may well be rotated right.
    return for_each_rotated([&](const RotatedStage& stage) { return rotation_of_either_layout(stage, step); },
                            kRotatedQueries, kRotatedKeys);
}

Mistake mistake() {
    return {
        .number = 56,
        .name = "channels t and t + d/2 are rotated instead of the neighbours 2t and 2t + 1, or the other way round",
        .symptom = "scores still depend on i - j alone, yet a trained model talks nonsense",
        .betrays = "q_rot and k_rot equal q and k rotated in the other layout; row 0 is right",
        .evidence = "transformers #25199, #31859; EleutherAI/gpt-neox #834; Dao-AILab/flash-attention #45, #288",
        .lesson = "19",
        .families = {Family::roformer},
        .stems = {"q_rot", "k_rot"},
        .variants = {{"and left as halves", other_layout(false, Written::as_rotated)},
                     {"and written as neighbours", other_layout(false, Written::as_the_model)},
                     {"neighbours, where the model pairs t and t + d/2", other_layout(true, Written::as_rotated)},
                     {"neighbours, where the model pairs t and t + d/2, and written as halves",
                      other_layout(true, Written::as_the_model)}}};
}

}  // namespace halves_for_neighbours

namespace only_one_side_rotated {  // mistake 57

Mistake mistake() {
    const auto as_it_is = [](const auto& x, const auto&, const auto&) { return x; };
    const auto other_layout = [](const Replay&, const auto& x, const auto& sin, const auto& cos, bool halves) {
        return rotated(x, sin, cos, halves ? RotaryLayout::interleaved : RotaryLayout::half_split);
    };
    const auto by_other_layout = [&](const RotatedStage& stage) {
        return rotation_of_either_layout(stage, other_layout);
    };
    std::vector<Formula> none = rotations(as_it_is);
    none.push_back({"v_rot", {"v"}, [](const Replay& at) {
                        if (!at.roformer().rotary_value) throw NotEnough{"rotary_value"};
                        return at("v");
                    }});
    return {
        .number = 57,
        .name = "queries, keys or both are not rotated, or not alike",
        .symptom = "scores depend on where in the text a pair stands, not only on i - j; or not on positions at all",
        .betrays =
            "one of q_rot and k_rot is right, the other is not rotated or rotated in another layout; or both are "
            "q and k",
        .evidence = "",
        .lesson = "17",
        .families = {Family::roformer},
        .stems = {"q_rot", "k_rot"},
        .variants = {
            {"only queries are rotated", rotations_of_keys(as_it_is)},
            {"only keys are rotated", rotations_of_queries(as_it_is)},
            {"keys alone in the other layout, halves for neighbours", for_each_rotated(by_other_layout, kRotatedKeys)},
            {"queries alone in the other layout, halves for neighbours",
             for_each_rotated(by_other_layout, kRotatedQueries)},
            {"neither is rotated", rotations(as_it_is)},
            {"neither is rotated, nor are values", std::move(none)}}};
}

}  // namespace only_one_side_rotated

namespace rotated_the_other_way {  // mistake 58

Tensor<double> negated(const Tensor<double>& values) {
    return mapped(values, [](double value) { return -value; });
}

Mistake mistake() {
    const auto turned_back = [](const auto& x, const auto& sin, const auto& cos) {
        return rotated_neighbours(x, negated(sin), cos);
    };
    return {.number = 58,
            .name = "the rotation has the other sign: R_{-m} instead of R_m",
            .symptom =
                "the score of offset i - j is that of offset j - i; lengths and the shift law still hold.  Of "
                "one side alone: scores depend on i + j",
            .betrays = "q_rot[m] == R_m^T q[m]; row 0 is right",
            .evidence = "",
            .lesson = "15",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "q_rot", "k_rot"},
            .variants = {{"in the step itself", rotations(turned_back)},
                         {"in the table of sines",
                          {{"/rotary.sin", {}, [](const Replay& at) { return negated(at.right("/rotary.sin")); }}}},
                         {"of queries alone", rotations_of_queries(turned_back)},
                         {"of keys alone", rotations_of_keys(turned_back)}}};
}

}  // namespace rotated_the_other_way

namespace last_pair_of_the_appendix {  // mistake 59

/// Every pair but the last is right; there (a, b) -> (a cos - a sin, b cos + b sin).
Tensor<double> rotated_as_printed(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos) {
    Tensor<double> y = rotated_neighbours(x, sin, cos);
    const Index pair = sin.extent(1) - 1, a = 2 * pair;
    for (Index n = 0; n < x.extent(0) * x.extent(1); ++n)
        for (Index m = 0; m < x.extent(2); ++m) {
            const double s = sin.matrix()(m, pair), c = cos.matrix()(m, pair);
            y.matrix(n)(m, a) = x.matrix(n)(m, a) * (c - s);
            y.matrix(n)(m, a + 1) = x.matrix(n)(m, a + 1) * (c + s);
        }
    return y;
}

Mistake mistake() {
    return {.number = 59,
            .name = "the rotated vector ends -x_{d-1}, x_d instead of -x_d, x_{d-1}",
            .symptom = "small errors that grow with the position; the length of a vector is not kept",
            .betrays = "only the last pair of q_rot is wrong, and its norm changes with the position",
            .evidence = "the appendix of a published walk-through of RoFormer prints it so; its code is right",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"", rotations(rotated_as_printed)}}};
}

}  // namespace last_pair_of_the_appendix

namespace sine_and_cosine_exchanged {  // mistake 60

Mistake mistake() {
    return {.number = 60,
            .name = "sines and cosines are exchanged",
            .symptom = "position 0 is rotated by a quarter instead of not at all; scores are those of mistake 58",
            .betrays = "q_rot[0] is not q[0]; rotary.sin[0] == 1",
            .evidence = "",
            .lesson = "15",
            .families = {Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"/rotary.sin", "/rotary.cos", "q_rot", "k_rot", "/positions.r"},
            .variants = {{"in the table",
                          {{"/rotary.sin", {}, [](const Replay& at) { return at.right("/rotary.cos"); }},
                           {"/rotary.cos", {}, [](const Replay& at) { return at.right("/rotary.sin"); }}}},
                         {"where the table is read", rotations([](const auto& x, const auto& sin, const auto& cos) {
                              return rotated_neighbours(x, cos, sin);
                          })},
                         {"cosines before sines in the rows of positions",
                          relative_rows_by([](const RelativeDistances& of, Index width) {
                              const Matrix<double> right =
                                  sinusoidal_rows<double>(of.cut(), width, SinusoidLayout::concatenated);
                              Matrix<double> rows(right.rows(), right.cols());
                              rows << right.rightCols(width / 2), right.leftCols(width / 2);
                              return rows;
                          })}}};
}

}  // namespace sine_and_cosine_exchanged

namespace other_frequencies {  // mistake 61

Mistake mistake() {
    // Which pairs there are is a matter of the head's width d; the exponents come from somewhere else.
    const auto from_width = [](const Replay& at) {
        std::vector<double> theta = inverse_frequencies(model_width(at));
        theta.resize(static_cast<std::size_t>(head_width(at) / 2));
        return theta;
    };
    const auto as_in_tensor2tensor = [](Index width) {
        const Index half = width / 2;
        if (half < 2) throw NotEnough{"two pairs of channels"};
        std::vector<double> theta;
        for (Index t = 0; t < half; ++t)
            theta.push_back(std::pow(10000.0, -static_cast<double>(t) / static_cast<double>(half - 1)));
        return theta;
    };
    const auto without_the_2 = [](Index width) {
        std::vector<double> theta = inverse_frequencies(width);
        for (double& angle : theta) angle = std::sqrt(angle);
        return theta;
    };
    const auto not_inverted = [](Index width) {
        std::vector<double> theta = inverse_frequencies(width);
        for (double& angle : theta) angle = 1 / angle;
        return theta;
    };
    const auto of_channels = [](Index width) {
        std::vector<double> theta = inverse_frequencies(width);
        for (double& angle : theta) angle *= angle;
        return theta;
    };
    const auto counted_from_1 = [](Index width) {
        std::vector<double> theta = inverse_frequencies(width);
        for (double& angle : theta) angle *= std::pow(10000.0, -2 / static_cast<double>(width));
        return theta;
    };
    const auto divided_as_integers = [](Index width) {  // -2 t / d is 0 in integers
        return std::vector<double>(static_cast<std::size_t>(width / 2), 1.0);
    };
    const auto each_twice = [](Index width) {
        std::vector<double> theta = inverse_frequencies(width);
        for (std::size_t t = 1; t < theta.size(); t += 2) theta[t] = theta[t - 1];
        return theta;
    };
    return {
        .number = 61,
        .name = "the angles are not 10000^(-2t/d), d the width of a head, or of the model in relative sinusoids",
        .symptom = "near positions look right, far ones drift",
        .betrays = "pair 0 is right, the angle of every other pair is m times another theta",
        .evidence = "",
        .lesson = "16",
        .families = {Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"/rotary.sin", "/rotary.cos", "/positions.r"},
        .variants = {
            {"theta from the model's width D", angles_by(from_width)},
            {"t counts channels instead of pairs",
             angles_by([of_channels](const Replay& at) { return of_channels(head_width(at)); })},
            {"relative sinusoids: t counts channels instead of pairs", relative_rows_with(of_channels)},
            {"relative sinusoids: 10000^(-t/(D/2 - 1)), as in tensor2tensor", relative_rows_with(as_in_tensor2tensor)},
            {"t counted from 1",
             angles_by([counted_from_1](const Replay& at) { return counted_from_1(head_width(at)); })},
            {"10000^(-t/(d/2 - 1)), as in tensor2tensor",
             angles_by([as_in_tensor2tensor](const Replay& at) { return as_in_tensor2tensor(head_width(at)); })},
            {"from the slowest pair to the fastest", angles_by([](const Replay& at) {
                 std::vector<double> theta = inverse_frequencies(head_width(at));
                 std::reverse(theta.begin(), theta.end());
                 return theta;
             })},
            {"10000^(-t/d), without the 2",
             angles_by([without_the_2](const Replay& at) { return without_the_2(head_width(at)); })},
            {"relative sinusoids: 10000^(-t/D), without the 2", relative_rows_with(without_the_2)},
            {"10000^(2t/d), without the minus",
             angles_by([not_inverted](const Replay& at) { return not_inverted(head_width(at)); })},
            {"relative sinusoids: 10000^(2t/D), without the minus", relative_rows_with(not_inverted)},
            {"2t/d divided as integers: every theta is 1",
             angles_by([=](const Replay& at) { return divided_as_integers(head_width(at)); })},
            {"relative sinusoids: 2t/D divided as integers", relative_rows_with(divided_as_integers)},
            {"every second theta is the one before",
             angles_by([=](const Replay& at) { return each_twice(head_width(at)); })},
            {"relative sinusoids: every second theta is the one before", relative_rows_with(each_twice)},
            fitted_width(),
            fitted_relative_width(),
            {"relative sinusoids: t counted from 1", relative_rows_with(counted_from_1)}}};
}

}  // namespace other_frequencies

namespace rotated_at_the_wrong_place {  // mistake 62

Formula other_values() {
    return {"v_rot", {"v", "/rotary.sin", "/rotary.cos"}, [](const Replay& at) {
                if (at.roformer().rotary_value) return at("v");
                return rotated_neighbours(at("v"), at("/rotary.sin"), at("/rotary.cos"));
            }};
}

Formula rotated_as_made() {
    return {"v", {"x", "/rotary.sin", "/rotary.cos"}, [](const Replay& at) {
                if (at.roformer().rotary_value) throw NotEnough{"values that are not rotated"};
                return rotated_neighbours(at.right("v"), at("/rotary.sin"), at("/rotary.cos"));
            }};
}

Formula context_of_v_rot() {
    return {"context", {"probs", "v_rot"}, [](const Replay& at) { return joined_heads(at("probs"), at("v_rot")); }};
}

Formula across_heads(const char* stem, const char* from) {
    return {stem, {from}, [from](const Replay& at) {
                at.roformer();
                return rotated_across_heads(at(from));
            }};
}

/// x is rotated over its whole width, or head by head, then projected.
Formula before_projection(const char* stem, const char* part, bool by_heads = false) {
    return {stem, {"x", "/rotary.sin", "/rotary.cos"}, [part, by_heads](const Replay& at) {
                const Index width = at.roformer().hidden_size, heads = at.roformer().num_attention_heads;
                const std::string name = "encoder.layer." + std::to_string(at.layer()) + ".attention.self." + part;
                const Tensor<double> split = split_heads(at("x"), heads);
                const Tensor<double> x =
                    join_heads(by_heads ? rotated_neighbours(split, at("/rotary.sin"), at("/rotary.cos"))
                                        : rotated_across_heads(split));
                return project_heads<double>(x, at.model().weights.dense(name, width, width), heads);
            }};
}

Mistake mistake() {
    return {
        .number = 62,
        .name = "the rotation stands at the wrong place",
        .symptom = "attention looks plausible and the output is wrong",
        .betrays = "context == probs R v, or q_rot rotated with d = D",
        .evidence = "",
        .lesson = "16",
        .families = {Family::roformer},
        .stems = {"v_rot", "q_rot", "k_rot", "context", "v"},
        .variants = {
            {"values are rotated too (or not, where rotary_value is set)", {other_values(), context_of_v_rot()}},
            {"values are rotated where they are made", {rotated_as_made()}, {"v"}},
            {"rotated before the heads are split", {across_heads("q_rot", "q"), across_heads("k_rot", "k")}},
            {"rotated before the projection", {before_projection("q_rot", "query"), before_projection("k_rot", "key")}},
            {"rotated before the projection, head by head",
             {before_projection("q_rot", "query", true), before_projection("k_rot", "key", true)}}}};
}

}  // namespace rotated_at_the_wrong_place

namespace positions_start_again {  // mistake 63

/// Row m of the right table becomes row position(m, T).
Formula rows_of(const std::string& stem, Index (*position)(Index m, Index length)) {
    return {stem, {}, [stem, position](const Replay& at) {
                const Tensor<double> right = at.right(stem);
                Tensor<double> rows(right.shape());
                for (Index m = 0; m < right.extent(0); ++m)
                    rows.matrix().row(m) = right.matrix().row(position(m, right.extent(0)));
                return rows;
            }};
}

/// Rows of x rotated by these rows of the angles: row m of the last `count` by start(m), the others by their own.
Formula rotated_from(const std::string& stem, const std::string& from, Index (*start)(Index m)) {
    return {stem, {from}, [=](const Replay& at) {
                const Index fresh = at("q").extent(2), keys = at("k").extent(2), rows = at(from).extent(2);
                if (fresh >= keys) throw NotEnough{"a second step with keys of the first"};
                const auto angles = [&](const char* wave) {
                    const Tensor<double>& table = at(wave);
                    Matrix<double> chosen(rows, table.extent(1));
                    for (Index m = 0; m < rows; ++m)
                        chosen.row(m) = table.matrix().row(m < rows - fresh ? m : start(m - (rows - fresh)));
                    return as_rows(chosen);
                };
                return rotated_neighbours(at(from), angles("/rotary.sin"), angles("/rotary.cos"));
            }};
}

/// Where the tokens of padding stand that are not counted.
enum class Padding { at_the_last, at_0, at_1 };

/// Positions counted by the mask, cumsum(mask) - 1, one row of angles for each token of each sample.
std::vector<Formula> counted_by_the_mask(Padding padding) {
    return rotations_of_all_here([padding](const Replay& at, const Tensor<double>& x) {
        const Tensor<double>&sin = at("/rotary.sin"), &cos = at("/rotary.cos");
        const Index length = x.extent(2);
        const IndexTensor& mask = at.input().mask;
        if (mask.rank() != 2 || mask.extent(1) != length || sin.extent(0) < length) throw NotEnough{"a mask of tokens"};
        Tensor<double> y(x.shape());
        for (Index n = 0; n < x.extent(0) * x.extent(1); ++n) {
            RotaryTable<double> own{Matrix<double>(length, sin.extent(1)), Matrix<double>(length, sin.extent(1))};
            Index next = 0;
            for (Index m = 0; m < length; ++m) {
                const bool counts = mask[n / x.extent(1) * length + m] != 0;
                const Index apart = padding == Padding::at_the_last ? std::max<Index>(next - 1, 0)
                                    : padding == Padding::at_1      ? 1
                                                                    : 0;
                const Index position = counts ? next++ : apart;
                own.sin.row(m) = sin.matrix().row(position);
                own.cos.row(m) = cos.matrix().row(position);
            }
            y.matrix(n) = rotate<double>(x.matrix(n), own, RotaryLayout::interleaved);
        }
        return y;
    });
}

Mistake mistake() {
    const auto always_first = [](Index, Index) { return Index(0); };
    const auto second_half = [](Index m, Index length) { return m < length / 2 ? m : m - length / 2; };
    const auto again = [](Index m) { return m; };
    const auto stands = [](Index) { return Index(0); };
    return {.number = 63,
            .is_rare = true,
            .name = "positions are 0 for all tokens, start at 0 again after a cached prefix, or skip the padding",
            .symptom = "a pass over the whole text is right, the same text in pieces is not",
            .betrays = "the rows of rotary.sin repeat",
            .evidence = "",
            .lesson = "17",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos", "q_rot", "k_rot"},
            .variants = {{"every position is 0, as where tokens are given one at a time",
                          {rows_of("/rotary.sin", always_first), rows_of("/rotary.cos", always_first)}},
                         {"two halves", {rows_of("/rotary.sin", second_half), rows_of("/rotary.cos", second_half)}},
                         {"queries of a second step start at 0 again", {rotated_from("q_rot", "q", again)}},
                         {"new keys of a second step start at 0 again", {rotated_from("k_rot", "k", again)}},
                         {"queries and new keys of a second step start at 0 again",
                          {rotated_from("q_rot", "q", again), rotated_from("k_rot", "k", again)}},
                         {"every token of a second step stands at 0",
                          {rotated_from("q_rot", "q", stands), rotated_from("k_rot", "k", stands)}},
                         {"counted by the mask: padding has the position of the last token before it",
                          counted_by_the_mask(Padding::at_the_last)},
                         {"counted by the mask: padding stands at 0", counted_by_the_mask(Padding::at_0)},
                         {"counted by the mask: padding stands at 1, as in Hugging Face's generation",
                          counted_by_the_mask(Padding::at_1)}}};
}

}  // namespace positions_start_again

std::vector<Mistake> rotation_mistakes() {
    return {
        halves_for_neighbours::mistake(),       // 56
        only_one_side_rotated::mistake(),       // 57
        rotated_the_other_way::mistake(),       // 58
        last_pair_of_the_appendix::mistake(),   // 59
        sine_and_cosine_exchanged::mistake(),   // 60
        other_frequencies::mistake(),           // 61
        rotated_at_the_wrong_place::mistake(),  // 62
        positions_start_again::mistake(),       // 63
    };
}

}  // namespace locus::conformance
