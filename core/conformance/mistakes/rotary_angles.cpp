// Mistakes 88 to 94 and 119.  RoFormer: which angles, for which samples, channels and positions, and how exact.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "core/conformance/formulas/roformer.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/relative_rows.h"
#include "core/conformance/mistakes/rope_scaling.h"
#include "core/positions/position_rows.h"

namespace locus::conformance {

namespace first_sample_alone {  // mistake 88

Tensor<double> rotated_in_the_first(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos) {
    if (x.extent(0) < 2) throw NotEnough{"a second sample"};
    Tensor<double> y = rotated_neighbours(x, sin, cos);
    for (Index n = x.extent(1); n < x.extent(0) * x.extent(1); ++n) y.matrix(n) = x.matrix(n);
    return y;
}

Tensor<double> rotated_in_the_first_head(const Tensor<double>& x, const Tensor<double>& sin,
                                         const Tensor<double>& cos) {
    if (x.extent(1) < 2) throw NotEnough{"a second head"};
    Tensor<double> y = rotated_neighbours(x, sin, cos);
    for (Index n = 0; n < x.extent(0) * x.extent(1); ++n)
        if (n % x.extent(1) != 0) y.matrix(n) = x.matrix(n);
    return y;
}

Mistake mistake() {
    return {.number = 88,
            .name = "only the first sample of a batch is rotated, or only the first head",
            .symptom = "a batch of one is right, every further sample has no order",
            .betrays = "q_rot == q from the second sample, or head, on",
            .evidence = "mlx #3949",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"the first sample", rotations_of_all(rotated_in_the_first)},
                         {"the first head of every sample", rotations_of_all(rotated_in_the_first_head)}}};
}

}  // namespace first_sample_alone

namespace another_base {  // mistake 89

std::vector<Variant> bases() {
    std::vector<Variant> all;
    for (const double base : kOtherBases)
        all.push_back({"base " + std::to_string(static_cast<long>(base)),
                       angles_by([base](const Replay& at) { return inverse_frequencies(head_width(at), base); })});
    for (const auto& more : {fitted_bases(), bases_of_one_layer()}) all.insert(all.end(), more.begin(), more.end());
    for (const double base : kOtherBases)
        all.push_back({"relative sinusoids of base " + std::to_string(static_cast<long>(base)),
                       relative_rows_with([base](Index width) { return inverse_frequencies(width, base); })});
    all.push_back(fitted_relative_base());
    return all;
}

Mistake mistake() {
    return {.number = 89,
            .name = "the angles have another base than the model was trained with",
            .symptom = "neighbours look right, far positions drift",
            .betrays = "ln(theta_t) / ln(theta_1) is right, theta_1 is not; pair 0 is right",
            .evidence = "llama.cpp #18330",
            .lesson = "16",
            .families = {Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"/rotary.sin", "/rotary.cos", "/positions.r"},
            .variants = bases()};
}

}  // namespace another_base

namespace positions_scaled {  // mistake 90

std::vector<Variant> factors() {
    std::vector<Variant> all;
    for (const double factor : kOtherDivisors)
        all.push_back({factor > 1 ? "divided by " + std::to_string(static_cast<int>(factor))
                                  : "times " + std::to_string(static_cast<int>(1 / factor)),
                       angles_by([factor](const Replay& at) {
                           std::vector<double> theta = right_angles(at).thetas;
                           for (double& angle : theta) angle /= factor;
                           return theta;
                       })});
    for (const Variant& more : fitted_factors()) all.push_back(more);
    for (const double factor : {2.0, 0.5})
        all.push_back({std::string("relative distances ") + (factor > 1 ? "divided by 2" : "times 2"),
                       relative_rows_with([factor](Index width) {
                           std::vector<double> theta = inverse_frequencies(width);
                           for (double& angle : theta) angle /= factor;
                           return theta;
                       })});
    return all;
}

Mistake mistake() {
    return {.number = 90,
            .name = "positions are scaled by a factor: rope_scaling is applied where there is none, or ignored",
            .symptom = "every distance is too short or too long by one factor",
            .betrays = "the angle of each pair is the right one times a factor, pair 0 too",
            .evidence = "mlx-vlm #1710",
            .lesson = "16",
            .families = {Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"/rotary.sin", "/rotary.cos", "/positions.r"},
            .variants = factors()};
}

}  // namespace positions_scaled

namespace half_of_the_angles {  // mistake 91

Mistake mistake() {
    return {.number = 91,
            .name = "the second half of the pairs reuses the angles of the first half",
            .symptom = "slow rotations are missing: far positions look alike",
            .betrays = "rotary.sin[:, t + d/4] == rotary.sin[:, t]",
            .evidence = "ncnn #6833",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos"},
            .variants = {{"", angles_by([](const Replay& at) {
                              std::vector<double> theta = right_angles(at).thetas;
                              if (theta.size() < 2) throw NotEnough{"two pairs of channels"};
                              for (std::size_t t = theta.size() / 2; t < theta.size(); ++t)
                                  theta[t] = theta[t - theta.size() / 2];
                              return theta;
                          })}}};
}

}  // namespace half_of_the_angles

namespace angles_and_partners {  // mistake 92

/// How channels are ordered: as neighbours, as halves, or as the model has them.
enum class Order { neighbours, halves, right };

/// y_c = x_c cos + partner_c sin, each of the three in an order of its own.
struct Orders {
    Order partner, cos, sin;
};

Tensor<double> crossed(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos,
                       bool model_has_halves, const Orders& orders) {
    const Index width = x.extent(3), half = width / 2;
    if (half < 2) throw NotEnough{"two pairs of channels"};
    for (const Tensor<double>* table : {&sin, &cos})
        if (table->matrix().rows() != x.extent(2) || table->matrix().cols() != half)
            throw NotEnough{"sines and cosines of as many positions and pairs"};
    const auto by_halves = [&](Order order) {
        return order == Order::halves || (order == Order::right && model_has_halves);
    };
    const auto pair_of = [&](Index c, Order order) { return by_halves(order) ? c % half : c / 2; };
    const bool partner_is_half = by_halves(orders.partner);
    return each_head(x, x.extent(2), width, [&](Index at, Index, Index) {
        const Matrix<double> rows = x.matrix(at);
        Matrix<double> y(rows.rows(), width);
        for (Index c = 0; c < width; ++c) {
            const bool first = partner_is_half ? c < half : c % 2 == 0;
            const Index step = partner_is_half ? half : 1, partner = first ? c + step : c - step;
            const double sign = first ? -1 : 1;
            y.col(c) = rows.col(c).cwiseProduct(cos.matrix().col(pair_of(c, orders.cos))) +
                       sign * rows.col(partner).cwiseProduct(sin.matrix().col(pair_of(c, orders.sin)));
        }
        return y;
    });
}

Mistake mistake() {
    const auto way = [](Orders orders) {
        return rotations_of_either_layout([orders](const Replay&, const auto& x, const auto& sin, const auto& cos,
                                                   bool halves) { return crossed(x, sin, cos, halves, orders); });
    };
    return {
        .number = 92,
        .name = "angles in the order of neighbours, partners in the order of halves, or the other way round",
        .symptom = "no shift law holds: scores depend on i and j, lengths of vectors change",
        .betrays = "the squared length of q_rot is not that of q; row 0 is right",
        .evidence = "raiyanyahya/how-to-train-your-gpt #6",
        .lesson = "19",
        .families = {Family::roformer},
        .stems = {"q_rot", "k_rot"},
        .variants = {
            {"neighbours' angles with halves' partners", way({Order::halves, Order::neighbours, Order::neighbours})},
            {"halves' angles with neighbours' partners", way({Order::neighbours, Order::halves, Order::halves})},
            {"cosines in the order of halves, sines in that of neighbours",
             way({Order::right, Order::halves, Order::neighbours})},
            {"cosines in the order of neighbours, sines in that of halves",
             way({Order::right, Order::neighbours, Order::halves})}}};
}

}  // namespace angles_and_partners

namespace part_of_the_head {  // mistake 93

/// Where the part of a head's channels that is rotated begins, and how many channels it has.
struct Part {
    Index first, count;
};

/// `part` of x rotated by pairs of `table`, the rest as it is.
Tensor<double> rotated_part(const Tensor<double>& x, const Part& part, const RotaryTable<double>& table, bool halves) {
    const RotaryLayout layout = halves ? RotaryLayout::half_split : RotaryLayout::interleaved;
    return each_head(x, x.extent(2), x.extent(3), [&](Index at, Index, Index) {
        Matrix<double> y = x.matrix(at);
        const Matrix<double> head = y.middleCols(part.first, part.count);
        y.middleCols(part.first, part.count) = rotate<double>(head, table, layout);
        return y;
    });
}

/// Channels d / `divisor`, the first or the last ones.
Part part_of(const Tensor<double>& x, Index divisor, bool at_the_end) {
    const Index width = x.extent(3), count = width / divisor;
    if (width % (2 * divisor) != 0) throw NotEnough{"a width of a multiple of twice the divisor"};
    return {at_the_end ? width - count : 0, count};
}

/// By the first angles of the whole head.
std::vector<Formula> by_angles_of_the_head(Index divisor, bool at_the_end) {
    return rotations_of_either_layout([=](const Replay&, const auto& x, const auto& sin, const auto& cos, bool halves) {
        const Part part = part_of(x, divisor, at_the_end);
        const Index pairs = part.count / 2;
        return rotated_part(x, part, {sin.matrix().leftCols(pairs), cos.matrix().leftCols(pairs)}, halves);
    });
}

/// By the angles of a head that is as wide as the part.
std::vector<Formula> by_angles_of_the_part(Index divisor, bool at_the_end) {
    return rotations_of_either_layout([=](const Replay& at, const auto& x, const auto&, const auto&, bool halves) {
        const Part part = part_of(x, divisor, at_the_end);
        const Index first = positions_of(at) - x.extent(2);  // queries of a later step are the last rows
        const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(part.count), first, x.extent(2));
        return rotated_part(x, part, table, halves);
    });
}

Mistake mistake() {
    return {.number = 93,
            .name = "only a part of a head's channels is rotated: a partial_rotary_factor that the model has not",
            .symptom = "half of the channels carry no position",
            .betrays = "q_rot == q in the channels from d/2 on",
            .evidence = "transformers #48630, #48652; cascadia #69; pie #602, the other way round",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"by the angles of the whole head", by_angles_of_the_head(2, false)},
                         {"by angles of half the width", by_angles_of_the_part(2, false)},
                         {"the first quarter, by the angles of the whole head", by_angles_of_the_head(4, false)},
                         {"the first quarter, by angles of a quarter of the width", by_angles_of_the_part(4, false)},
                         {"the last half, by the first angles of the head", by_angles_of_the_head(2, true)},
                         {"the last half, by angles of half the width", by_angles_of_the_part(2, true)}}};
}

}  // namespace part_of_the_head

namespace positions_from_one {  // mistake 94

/// Transformer-XL and XLNet: rows for distances that are all off by `more`; those of a text read backwards too.
std::vector<Formula> other_distances(double more) {
    return relative_rows_by([more](RelativeDistances of, Index width) {
        for (double& distance : of.distances) distance += of.reversed ? -more : more;
        return sinusoidal_rows<double>(of.cut(), width, SinusoidLayout::concatenated);
    });
}

Mistake mistake() {
    const auto table = [](const Replay& at) {
        // Scores, and what follows from them, are those of positions from 0: a dump of these alone does not show it.
        const char *shown[] = {"/rotary.sin", "/rotary.cos", "q_rot", "k_rot", "v_rot", "phi_q_rot", "phi_k_rot"},
                   *the_same[] = {"scores", "weights", "probs", "context", "attention", "output"};
        const auto dumped = [&](const char* stem) { return at.claimed(stem) != nullptr; };
        if (std::none_of(std::begin(shown), std::end(shown), dumped) &&
            std::any_of(std::begin(the_same), std::end(the_same), dumped))
            throw NotEnough{"what the candidate rotated"};
        const RightAngles right = right_angles(at);
        return rotary_table<double>(right.thetas, 1, positions_of(at), right.length);
    };
    const auto one_place = [](const Replay&) { return Index(1); };
    return {
        .number = 94,
        .name = "positions are counted from 1, or from another number, for queries, keys or both",
        .symptom = "scores are right as long as queries and keys agree; q_rot and k_rot are not",
        .betrays =
            "rotary.sin[0] is not 0; row m equals the right row m + 1; rows of positions.r are those of the next one",
        .evidence = "",
        .lesson = "15",
        .families = {Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"/rotary.sin", "/rotary.cos", "/positions.r"},
        .variants = {{"every token stands one place further on",
                      {{"/rotary.sin", {}, [table](const Replay& at) { return as_rows(table(at).sin); }},
                       {"/rotary.cos", {}, [table](const Replay& at) { return as_rows(table(at).cos); }}}},
                     {"every distance is one too large", other_distances(1)},
                     {"every distance is one too small", other_distances(-1)},
                     {"queries alone stand one place further on", moved(kRotatedQueries, one_place)},
                     {"keys alone stand one place further on", moved(kRotatedKeys, one_place)},
                     fitted_first_position(),
                     fitted_first_position_of_queries(),
                     fitted_first_position_of_keys()}};
}

}  // namespace positions_from_one

namespace angles_in_half_precision {  // mistake 119

/// What is rounded to the short type on the way from frequencies and positions to sines and cosines.
struct Rounding {
    const char* what;
    bool frequencies, positions, angles, waves;
};
constexpr Rounding kRotary[] = {{"frequencies", true, false, false, false},
                                {"frequencies, positions and angles", true, true, true, false},
                                {"frequencies, positions, angles, sines and cosines", true, true, true, true},
                                {"angles", false, false, true, false},
                                {"angles, sines and cosines", false, false, true, true},
                                {"sines and cosines", false, false, false, true}};
constexpr Rounding kRelative[] = {
    {"relative sinusoids: frequencies", true, false, false, false},
    {"relative sinusoids: frequencies, distances, angles, sines and cosines", true, true, true, true},
    {"relative sinusoids: sines and cosines", false, false, false, true}};

template <class Short>
double rounded_if(bool rounds, double value) {
    return rounds ? stored<Short>(value) : value;
}

/// wave(position * frequency): positions [n], frequencies [p] -> [n,p].
template <class Short>
Matrix<double> waves(const std::vector<double>& positions, const std::vector<double>& frequencies,
                     const Rounding& rounds, double (*wave)(double)) {
    Matrix<double> all(static_cast<Index>(positions.size()), static_cast<Index>(frequencies.size()));
    for (Index m = 0; m < all.rows(); ++m)
        for (Index t = 0; t < all.cols(); ++t) {
            const double position = rounded_if<Short>(rounds.positions, positions[static_cast<std::size_t>(m)]);
            const double theta = rounded_if<Short>(rounds.frequencies, frequencies[static_cast<std::size_t>(t)]);
            all(m, t) = rounded_if<Short>(rounds.waves, wave(rounded_if<Short>(rounds.angles, position * theta)));
        }
    return all;
}

double sine(double angle) { return std::sin(angle); }
double cosine(double angle) { return std::cos(angle); }

template <class Short>
std::vector<Formula> rotary_rounded(const Rounding& rounds) {
    const auto table = [rounds](double (*wave)(double)) {
        return [rounds, wave](const Replay& at) {
            std::vector<double> positions(static_cast<std::size_t>(positions_of(at)));
            std::iota(positions.begin(), positions.end(), 0.0);
            return as_rows(waves<Short>(positions, right_angles(at).thetas, rounds, wave));
        };
    };
    return {{"/rotary.sin", {}, table(sine)}, {"/rotary.cos", {}, table(cosine)}};
}

template <class Short>
std::vector<Formula> relative_rounded(const Rounding& rounds) {
    return relative_rows_by([rounds](const RelativeDistances& of, Index width) {
        const std::vector<double> distances = of.cut(), theta = inverse_frequencies(width);
        Matrix<double> rows(static_cast<Index>(distances.size()), width);
        rows << waves<Short>(distances, theta, rounds, sine), waves<Short>(distances, theta, rounds, cosine);
        return rows;
    });
}

template <class Short>
void add_ways(std::vector<Variant>& all, const std::string& type) {
    for (const Rounding& rounds : kRotary)
        all.push_back({rounds.what + (" in " + type), rotary_rounded<Short>(rounds)});
    for (const Rounding& rounds : kRelative)
        all.push_back({rounds.what + (" in " + type), relative_rounded<Short>(rounds)});
}

Mistake mistake() {
    std::vector<Variant> ways;
    add_ways<Eigen::bfloat16>(ways, "bfloat16");
    add_ways<Eigen::half>(ways, "float16");
    return {.number = 119,
            .name = "angles are computed in half precision",
            .symptom = "short texts look right, long ones do not: neighbours far from the start share a position",
            .betrays = "the error of rotary.sin grows with the position; in bfloat16 positions from 257 on are even",
            .evidence = "transformers #25681, #29285, #29496; gpt-neox #1003; Megatron-LM #535; candle #3520",
            .lesson = "16",
            .families = {Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"/rotary.sin", "/rotary.cos", "/positions.r"},
            .variants = std::move(ways)};
}

}  // namespace angles_in_half_precision

std::vector<Mistake> rotary_angle_mistakes() {
    return {
        first_sample_alone::mistake(),   // 88
        another_base::mistake(),         // 89
        positions_scaled::mistake(),     // 90
        half_of_the_angles::mistake(),   // 91
        angles_and_partners::mistake(),  // 92
        part_of_the_head::mistake(),     // 93
        positions_from_one::mistake(),   // 94
    };
}

std::vector<Mistake> angle_precision_mistakes() { return {angles_in_half_precision::mistake()}; }

}  // namespace locus::conformance
