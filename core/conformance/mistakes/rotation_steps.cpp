// Mistakes 116 to 118.  RoFormer: along which axis angles are read, what becomes of a pair of channels, and how often.
#include "core/conformance/formulas/roformer.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace another_axis {  // mistake 116

/// Every token of x [B,H,T,d] rotated by the angles [positions, d/2] of one position, which is that of its sample b and
/// head h.
Tensor<double> rotated_by(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos,
                          Index (*position)(Index b, Index h)) {
    if (position(x.extent(0) - 1, x.extent(1) - 1) >= sin.extent(0)) throw NotEnough{"angles of as many positions"};
    return each_head(x, x.extent(2), x.extent(3), [&](Index at, Index h, Index b) {
        const Index row = position(b, h);
        const RotaryTable<double> table{sin.matrix().row(row).replicate(x.extent(2), 1),
                                        cos.matrix().row(row).replicate(x.extent(2), 1)};
        return rotate<double>(x.matrix(at), table, RotaryLayout::interleaved);
    });
}

std::vector<Formula> by(Index (*position)(Index b, Index h)) {
    return rotations_of_all(
        [position](const auto& x, const auto& sin, const auto& cos) { return rotated_by(x, sin, cos, position); });
}

Mistake mistake() {
    return {
        .number = 116,
        .is_rare = true,
        .name = "heads or samples are counted instead of tokens: the rotation reads its angles along another axis",
        .symptom =
            "scores are those of queries and keys that are not rotated: the order of the words makes no difference",
        .betrays = "all tokens of a head are rotated by the same angle; head 0 (or sample 0) of q_rot is that of q",
        .evidence = "xformers #841; open_lm #4; rasbt/LLMs-from-scratch #411",
        .lesson = "16",
        .families = {Family::roformer},
        .stems = {"q_rot", "k_rot"},
        .variants = {{"every token of head h has the angles of position h, as where [B,H,T,d] is read as [B,T,H,d]",
                      by([](Index, Index h) { return h; })},
                     {"every token of sample b has the angles of position b, as where [B,T,H,d] is read as [T,B,H,d]",
                      by([](Index b, Index) { return b; })}}};
}

}  // namespace another_axis

namespace no_rotation_of_the_pair {  // mistake 117

/// Every pair of neighbours (x_{2t}, x_{2t+1}) of x [B,H,T,d] by pair(first, second, sin, cos).
template <class Pair>
Tensor<double> by_pairs(Tensor<double> x, const Tensor<double>& sin, const Tensor<double>& cos, Pair pair) {
    const Index length = x.extent(2), pairs = x.extent(3) / 2;
    if (sin.extent(0) != length || sin.extent(1) != pairs || cos.shape() != sin.shape())
        throw NotEnough{"sines and cosines of as many positions and pairs"};
    for (Index n = 0; n < x.extent(0) * x.extent(1); ++n)
        for (Index m = 0; m < length; ++m)
            for (Index t = 0; t < pairs; ++t)
                pair(x.matrix(n)(m, 2 * t), x.matrix(n)(m, 2 * t + 1), sin.matrix()(m, t), cos.matrix()(m, t));
    return x;
}

template <class Pair>
std::vector<Formula> way(Pair pair) {
    return rotations_of_all(
        [pair](const auto& x, const auto& sin, const auto& cos) { return by_pairs(x, sin, cos, pair); });
}

/// First channels of the rotated queries and second channels of the rotated keys, in both.
Formula first_of_q_second_of_k(const char* stem) {
    return {stem, {"q", "k", "/rotary.sin", "/rotary.cos"}, [](const Replay& at) {
                if (pairs_halves(at)) throw NotEnough{"neighbours in pairs"};
                Tensor<double> y = rotated_neighbours(at("q"), at("/rotary.sin"), at("/rotary.cos"));
                const Tensor<double> k = rotated_neighbours(at("k"), at("/rotary.sin"), at("/rotary.cos"));
                if (k.shape() != y.shape()) throw NotEnough{"as many keys as queries"};
                for (Index n = 1; n < y.size(); n += 2) y[n] = k[n];
                return y;
            }};
}

/// x cos + (-x_1, -x_3, ..., x_0, x_2, ...) sin, the partners one half after the other and not in turn.
Tensor<double> partners_in_halves(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos) {
    const Index width = x.extent(3), pairs = width / 2;
    if (pairs < 2) throw NotEnough{"two pairs of channels"};
    Tensor<double> partners(x.shape());
    for (Index n = 0; n < x.rows().rows(); ++n)
        for (Index t = 0; t < pairs; ++t) {
            partners.rows()(n, t) = -x.rows()(n, 2 * t + 1);
            partners.rows()(n, pairs + t) = x.rows()(n, 2 * t);
        }
    // cos and sin of a pair stand beside both of its channels.
    const auto scaled = [&](Tensor<double> rows, const Tensor<double>& factors) {
        return by_pairs(std::move(rows), factors, factors, [](double& a, double& b, double factor, double) {
            a *= factor;
            b *= factor;
        });
    };
    return sum_of(scaled(x, cos), scaled(std::move(partners), sin));
}

Mistake mistake() {
    const auto in_place = [](double& a, double& b, double sin, double cos) {
        a = a * cos - b * sin;
        b = b * cos + a * sin;
    };
    const auto both_plus = [](double& a, double& b, double sin, double cos) {
        const double first = a;
        a = a * cos + b * sin;
        b = b * cos + first * sin;
    };
    const auto added = [](double& a, double& b, double sin, double cos) {
        a += sin;
        b += cos;
    };
    const auto both_minus = [](double& a, double& b, double sin, double cos) {
        const double first = a;
        a = a * cos - b * sin;
        b = b * cos - first * sin;
    };
    const auto cosines_alone = [](double& a, double& b, double, double cos) {
        a *= cos;
        b *= cos;
    };
    const auto sines_alone = [](double& a, double& b, double sin, double) {
        const double first = a;
        a = -b * sin;
        b = first * sin;
    };
    return {.number = 117,
            .name = "what is done to a pair of channels is no rotation",
            .symptom = "the lengths of queries and keys change with the position, and no shift law holds",
            .betrays = "the squared length of q_rot is not that of q; in row 0 sines alone are 0",
            .evidence = "FlagOpen/FlagGems #5142; ColossalAI #6428",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"the second channel is made of the new value of the first: rotated in place", way(in_place)},
                         {"both signs are plus", way(both_plus)},
                         {"sines and cosines are added, as to embeddings", way(added)},
                         {"queries and keys both hold first channels of queries and second channels of keys",
                          {first_of_q_second_of_k("q_rot"), first_of_q_second_of_k("k_rot")}},
                         {"both signs are minus", way(both_minus)},
                         {"the part with sines is missing", way(cosines_alone)},
                         {"the part with cosines is missing", way(sines_alone)},
                         {"-x_odd and x_even stand one after the other where they should alternate",
                          rotations_of_all(partners_in_halves)}}};
}

}  // namespace no_rotation_of_the_pair

namespace rotated_twice {  // mistake 118

Mistake mistake() {
    const auto twice = [](const auto& x, const auto& sin, const auto& cos) {
        return rotated_neighbours(rotated_neighbours(x, sin, cos), sin, cos);
    };
    return {.number = 118,
            .name = "queries, keys or both are rotated twice",
            .symptom = "both: every distance counts twice; keys alone: scores depend on i - 2 j",
            .betrays = "q_rot or k_rot is the right one rotated once more",
            .evidence = "NeuraLegion/shainet #110: keys that were rotated before they went into the cache",
            .lesson = "17",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"queries and keys", rotations(twice)},
                         {"keys alone", rotations_of_keys(twice)},
                         {"queries alone", rotations_of_queries(twice)}}};
}

}  // namespace rotated_twice

std::vector<Mistake> rotation_step_mistakes() {
    return {
        another_axis::mistake(),             // 116
        no_rotation_of_the_pair::mistake(),  // 117
        rotated_twice::mistake(),            // 118
    };
}

}  // namespace locus::conformance
