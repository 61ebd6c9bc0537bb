// Mistakes 108 and 109, and ways of 61, 89, 90 and 94.  RoFormer: angles whose scale is read off the candidate itself.
#include "core/conformance/mistakes/rope_scaling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/relative_rows.h"

namespace locus::conformance {

namespace {

constexpr double kSame = 1e-3;     // thetas and factors that differ by less, relative, are the same
constexpr Index kFewestRows = 3;   // rows that a scale is read off
constexpr double kRounded = 1e-6;  // what single precision leaves of an angle or a length
constexpr double kPi = std::numbers::pi;

/// The angle of every pair at every position, and the length of its sine and cosine.  [T,d/2]
struct Turns {
    Matrix<double> angle, length;
};

Turns turns_of(const Tensor<double>& sin, const Tensor<double>& cos) {
    if (sin.rank() != 2 || sin.shape() != cos.shape()) throw NotEnough{"sines and cosines of one shape"};
    Turns turns{Matrix<double>(sin.extent(0), sin.extent(1)), Matrix<double>(sin.extent(0), sin.extent(1))};
    for (Index n = 0; n < sin.size(); ++n) {
        turns.angle.data()[n] = std::atan2(sin[n], cos[n]);
        turns.length.data()[n] = std::hypot(sin[n], cos[n]);
    }
    return turns;
}

/// What turns rows x into rows y, both [B,H,T,d], neighbours as complex numbers: the best y / x over samples and heads.
Turns turns_between(const Tensor<double>& x, const Tensor<double>& y) {
    if (x.rank() != 4 || x.shape() != y.shape() || x.extent(3) % 2 != 0) throw NotEnough{"rotated rows"};
    const Index rows = x.extent(2), pairs = x.extent(3) / 2;
    Matrix<double> real = Matrix<double>::Zero(rows, pairs), imaginary = real, square = real;
    for (Index n = 0; n < x.extent(0) * x.extent(1); ++n)
        for (Index m = 0; m < rows; ++m)
            for (Index t = 0; t < pairs; ++t) {
                const double a = x.matrix(n)(m, 2 * t), b = x.matrix(n)(m, 2 * t + 1);
                const double c = y.matrix(n)(m, 2 * t), d = y.matrix(n)(m, 2 * t + 1);
                real(m, t) += a * c + b * d;
                imaginary(m, t) += a * d - b * c;
                square(m, t) += a * a + b * b;
            }
    if (!(square.minCoeff() > 0)) throw NotEnough{"rows that are not 0"};
    Turns turns{Matrix<double>(rows, pairs), Matrix<double>(rows, pairs)};
    for (Index n = 0; n < real.size(); ++n) {
        turns.angle.data()[n] = std::atan2(imaginary.data()[n], real.data()[n]);
        turns.length.data()[n] = std::hypot(imaginary.data()[n], real.data()[n]) / square.data()[n];
    }
    return turns;
}

Turns right_turns(const Replay& at) {
    const auto sin = at.expected("/rotary.sin"), cos = at.expected("/rotary.cos");
    return sin && cos ? turns_of(*sin, *cos) : turns_of(at.right("/rotary.sin"), at.right("/rotary.cos"));
}

/// Of the stage of a layer that the candidate reports rotated; neighbours are pairs.
Turns turns_of_rows(const Replay& layer, std::span<const RotatedStage> stages) {
    for (const RotatedStage& stage : stages)
        if (const Tensor<double>* rotated = layer.claimed(stage.to)) {
            const Tensor<double>& x = layer(stage.from);
            return pairs_halves(layer) ? turns_between(as_neighbours(x), as_neighbours(*rotated))
                                       : turns_between(x, *rotated);
        }
    throw NotEnough{"the candidate's rotated rows"};
}

Replay layer_of(const Replay& at) {
    return at.scope().find("layer.") == std::string::npos ? at.elsewhere("layer.0.") : at;
}

/// What the candidate turns by: its own tables, else what its queries show, or its keys where queries are fewer.
Turns found_turns(const Replay& at) {
    const Tensor<double>*sin = at.claimed("/rotary.sin"), *cos = at.claimed("/rotary.cos");
    if (sin && cos) return turns_of(*sin, *cos);
    if (sin || cos) throw NotEnough{"sines and cosines"};
    const Replay layer = layer_of(at);
    try {
        Turns queries = turns_of_rows(layer, kRotatedQueries);
        if (queries.angle.rows() == positions_of(at)) return queries;
    } catch (const NotEnough&) {  // only keys are reported
    }
    return turns_of_rows(layer, kRotatedKeys);
}

/// theta_t of each pair if angle(m,t) = m theta_t (mod 2 pi) in all rows from `first` on; what does not fit is seen
/// by what it predicts.  [d/2]
std::vector<double> thetas_of(const Turns& turns, Index first = 0) {
    const Index rows = turns.angle.rows();
    if (rows - first < kFewestRows) throw NotEnough{"three rows of angles"};
    if (!turns.angle.allFinite() || !turns.length.allFinite()) throw NotEnough{"finite angles"};
    std::vector<double> thetas;
    for (Index t = 0; t < turns.angle.cols(); ++t) {
        double theta = 0;
        for (Index m = first + 1; m < rows; ++m)
            theta += std::remainder(turns.angle(m, t) - turns.angle(m - 1, t), 2 * kPi);
        theta /= static_cast<double>(rows - 1 - first);
        for (Index m = std::max<Index>(first, 1); m < rows; ++m) {  // each row knows it better than the one before
            const auto position = static_cast<double>(m);
            theta += std::remainder(turns.angle(m, t) - position * theta, 2 * kPi) / position;
        }
        if (!(theta > 0)) throw NotEnough{"angles that grow with the position"};
        thetas.push_back(theta);
    }
    return thetas;
}

bool same(double a, double b) { return std::abs(a - b) <= kSame * std::abs(b); }
bool same(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return same(x, y); });
}

/// The one length of all sines and cosines from row `first` on; what has several shows it by what this predicts.
double length_of(const Turns& turns, Index first = 0) {
    if (turns.length.rows() <= first || turns.length.cols() == 0) throw NotEnough{"rows of sines and cosines"};
    return turns.length.bottomRows(turns.length.rows() - first).mean();
}

/// Angles and length of the reference, which may be kept in single precision: exact where they are the plain ones.
std::vector<double> right_thetas(const Turns& right) {
    std::vector<double> thetas = thetas_of(right);
    const std::vector<double> plain = inverse_frequencies(2 * static_cast<Index>(thetas.size()));
    const auto is_plain = [](double a, double b) { return std::abs(a - b) <= kRounded; };
    return std::equal(thetas.begin(), thetas.end(), plain.begin(), is_plain) ? plain : thetas;
}
double right_length(const Turns& right) {
    const double length = length_of(right);
    return std::abs(length - 1) <= kRounded ? 1 : length;
}

/// The factor between two sets of angles that leaves least; pairs that turn fast count most.
double factor_between(const std::vector<double>& found, const std::vector<double>& right) {
    double product = 0, square = 0;
    for (std::size_t t = 0; t < right.size(); ++t) {
        product += found[t] * right[t];
        square += right[t] * right[t];
    }
    return product / square;
}

/// b of theta_t = b^(-2t/d) for pairs that are known to `found`, which has as many pairs as d/2.
double base_of(const std::vector<double>& found) {
    double product = 0, square = 0;
    for (std::size_t t = 0; t < found.size(); ++t) {
        const double power = -static_cast<double>(t) / static_cast<double>(found.size());
        product += found[t] * found[t] * power * std::log(found[t]);
        square += found[t] * found[t] * power * power;
    }
    return std::exp(product / square);
}

std::vector<double> thetas_by_base(std::size_t pairs, double base) {
    return inverse_frequencies(2 * static_cast<Index>(pairs), base);
}

/// A base that is listed, or that makes the angles of mistake 61: theta from D instead of d, 4t over d, t over d/2 - 1.
bool is_listed_base(double base, double right, std::size_t pairs) {
    if (std::any_of(kOtherBases.begin(), kOtherBases.end(), [&](double one) { return same(base, one); })) return true;
    if (same(base, right) || same(base, right * right)) return true;
    if (pairs > 1 && same(base, std::pow(right, static_cast<double>(pairs) / static_cast<double>(pairs - 1))))
        return true;
    for (int root = 2; root <= 128; ++root)
        if (same(base, std::pow(right, 1.0 / root))) return true;
    return false;
}

bool is_listed_factor(double factor) {
    return same(factor, 1) ||
           std::any_of(kOtherDivisors.begin(), kOtherDivisors.end(), [&](double one) { return same(factor, 1 / one); });
}

/// Base that the candidate's angles have and no list holds.  Two pairs have any base, so there must be more.
double fitted_base(const Turns& found, const Turns& right) {
    const std::vector<double> thetas = thetas_of(found);
    if (thetas.size() < 3 || !same(thetas.front(), 1)) throw NotEnough{"three pairs of channels"};
    const double base = base_of(thetas), model = base_of(right_thetas(right));
    if (!same(right_thetas(right), thetas_by_base(thetas.size(), model))) throw NotEnough{"a model with a base"};
    if (!(base > 1) || is_listed_base(base, model, thetas.size())) throw NotEnough{"a base of its own"};
    return base;
}

double fitted_factor(const Turns& found, const Turns& right) {
    const std::vector<double> known = right_thetas(right);
    const double factor = factor_between(thetas_of(found), known);
    const double one_pair = std::pow(base_of(known), -1 / static_cast<double>(known.size()));  // mistake 61: t from 1
    if (is_listed_factor(factor) || same(factor, one_pair)) throw NotEnough{"a factor of its own"};
    return factor;
}

/// Angles that have no rule in common: each pair has a factor of its own.  Throws NotEnough for those that another
/// mistake makes, and for two pairs of which one is right: they have a base.
std::vector<double> scaled_thetas(const Turns& found, const Turns& right, Index first) {
    const std::vector<double> own = thetas_of(found, first), known = right_thetas(right);
    if (own.size() != known.size() || own.size() < 2) throw NotEnough{"two pairs of channels"};
    std::vector<double> repeated = known;
    for (std::size_t t = known.size() / 2; t < known.size(); ++t) repeated[t] = known[t - known.size() / 2];
    const double factor = factor_between(own, known), base = base_of(own);
    std::vector<double> one_factor = known;
    for (double& theta : one_factor) theta *= factor;
    const bool has_a_base = same(own.front(), known.front()) &&
                            (own.size() == 2 || (base > 1 && same(own, thetas_by_base(own.size(), base))));
    const std::vector<double> backwards(known.rbegin(), known.rend());  // mistake 61
    if (same(own, known) || same(own, repeated) || same(own, one_factor) || same(own, backwards) || has_a_base)
        throw NotEnough{"a factor of its own for each pair"};
    return own;
}

/// The first row whose angles are not the right ones; at least 2, as rows before it must show that they are right.
Index first_longer_row(const Turns& found, const Turns& right) {
    if (found.angle.rows() != right.angle.rows() || found.angle.cols() != right.angle.cols())
        throw NotEnough{"angles of as many positions and pairs"};
    Index row = 0;
    while (row < found.angle.rows() && ((found.angle.row(row) - right.angle.row(row))
                                            .unaryExpr([](double x) { return std::abs(std::remainder(x, 2 * kPi)); })
                                            .maxCoeff() < kSame))
        ++row;
    if (row < 2) throw NotEnough{"right rows before the wrong ones"};
    return row;
}

/// Sines and cosines of these angles, `length` long; rows before `first` are the right ones.
RotaryTable<double> table_of(const std::vector<double>& thetas, Index rows, double length) {
    return rotary_table<double>(thetas, 0, rows, length);
}

using MakeTable = std::function<RotaryTable<double>(const Replay&, const Turns& found, const Turns& right)>;

std::vector<Formula> fitted_tables(const MakeTable& make) {
    const auto table = [make](const Replay& at) {
        const Turns found = found_turns(at), right = right_turns(at);
        if (found.angle.rows() != right.angle.rows()) throw NotEnough{"angles of as many positions"};
        return make(at, found, right);
    };
    return {{"/rotary.sin", {}, [table](const Replay& at) { return as_rows(table(at).sin); }},
            {"/rotary.cos", {}, [table](const Replay& at) { return as_rows(table(at).cos); }}};
}

std::string as_number(double value) {
    std::string text = std::to_string(value);
    if (value >= 100) return std::to_string(static_cast<long>(std::lround(value)));
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

}  // namespace

RightAngles right_angles(const Replay& at) {
    try {
        const Turns right = right_turns(at);
        return {right_thetas(right), right_length(right)};
    } catch (const NotEnough&) {  // no table, or too few rows of it
        return {inverse_frequencies(head_width(at)), 1};
    }
}

// Ways of 89 and 90.

std::vector<Variant> fitted_bases() {
    const auto table = [](const Replay&, const Turns& found, const Turns& right) {
        return table_of(thetas_by_base(static_cast<std::size_t>(right.angle.cols()), fitted_base(found, right)),
                        right.angle.rows(), right_length(right));
    };
    Variant way{"a base of its own", fitted_tables(table)};
    way.measured = [](const Replay& at) { return "base " + as_number(fitted_base(found_turns(at), right_turns(at))); };
    return {way};
}

std::vector<Variant> bases_of_one_layer() {
    std::vector<Variant> all;
    for (const double base : kOtherBases)
        all.push_back({"base " + std::to_string(static_cast<long>(base)) +
                           " in this layer alone, as for another type of layer; the table is right",
                       rotations_of_all_here([base](const Replay& at, const Tensor<double>& x) {
                           if (!at.claimed("/rotary.sin") && !at.claimed("/rotary.cos"))
                               throw NotEnough{"the candidate's own angles"};
                           const RotaryTable<double> table =
                               rotary_table<double>(inverse_frequencies(x.extent(3), base), 0, x.extent(2));
                           return rotated_neighbours(x, as_rows(table.sin), as_rows(table.cos));
                       })});
    return all;
}

std::vector<Variant> fitted_factors() {
    const auto table = [](const Replay&, const Turns& found, const Turns& right) {
        std::vector<double> thetas = right_thetas(right);
        const double factor = fitted_factor(found, right);
        for (double& theta : thetas) theta *= factor;
        return table_of(thetas, right.angle.rows(), right_length(right));
    };
    Variant way{"by a factor of its own", fitted_tables(table)};
    way.measured = [](const Replay& at) {
        return "positions times " + as_number(fitted_factor(found_turns(at), right_turns(at)));
    };
    return {way};
}

// A way of 61, and ways of 94.

std::vector<Formula> moved(std::span<const RotatedStage> stages, const std::function<Index(const Replay&)>& places) {
    const auto step = [places](const Replay& at, const Tensor<double>& x) {
        const RightAngles right = right_angles(at);
        const Index first = positions_of(at) - x.extent(2) + places(at);
        const RotaryTable<double> table = rotary_table<double>(right.thetas, first, x.extent(2), right.length);
        return rotated_neighbours(x, as_rows(table.sin), as_rows(table.cos));
    };
    return for_each_rotated([&](const RotatedStage& stage) { return rotation_here(stage, step); }, stages);
}

namespace {

constexpr double kWholeNumber = 0.1;        // how far a first position may be from a whole number
constexpr double kFarthestStart = 1000000;  // first positions beyond this are no mistake that anybody makes
constexpr Index kWidest = 1 << 20;

/// w of theta_t = 10000^(-2t/w), even and larger than the head is wide.
Index fitted_width_of(const Turns& found, const Turns& right) {
    const std::vector<double> thetas = thetas_of(found);
    const auto width = static_cast<double>(2 * thetas.size());
    const double base = base_of(thetas), model = base_of(right_thetas(right));
    if (thetas.size() < 2 || !same(thetas.front(), 1) || !(base > 1) || !(base < model))
        throw NotEnough{"wider angles"};
    if (std::any_of(kOtherBases.begin(), kOtherBases.end(), [&](double one) { return same(base, one); }))
        throw NotEnough{"a base that is not listed"};
    const double other = width * std::log(model) / std::log(base);
    const double whole = 2 * std::round(other / 2);
    if (!(std::abs(other - whole) <= kSame * whole) || whole <= width || whole > static_cast<double>(kWidest))
        throw NotEnough{"an even width"};
    return static_cast<Index>(whole);
}

/// N of angles (N + m) theta_t in row m, where `first` is right for row 0; the slowest pair knows it without a turn.
Index fitted_first(const Turns& found, const std::vector<double>& thetas, Index first) {
    if (found.angle.rows() == 0 || static_cast<std::size_t>(found.angle.cols()) != thetas.size() || thetas.empty())
        throw NotEnough{"angles of as many pairs"};
    const double theta = thetas.back(), right = static_cast<double>(first) * theta;
    const double moved = std::remainder(found.angle(0, found.angle.cols() - 1) - right, 2 * kPi) / theta;
    const double whole = std::round(moved);
    if (!(std::abs(moved - whole) <= kWholeNumber) || std::abs(whole) > kFarthestStart || whole == 0 || whole == 1)
        throw NotEnough{"a first position of its own"};
    if (first > 0 && static_cast<Index>(whole) == -first) throw NotEnough{"what does not start again"};  // mistake 63
    return static_cast<Index>(whole);
}

/// How far queries or keys of a layer stand from where they should.
Index moved_by(const Replay& at, std::span<const RotatedStage> stages) {
    const Turns found = turns_of_rows(layer_of(at), stages);
    return fitted_first(found, right_angles(at).thetas, positions_of(at) - found.angle.rows());
}

/// How far both do, as the candidate's table has it or, where it reports none, its queries.
Index table_moved_by(const Replay& at) {
    const Turns found = found_turns(at);
    return fitted_first(found, right_angles(at).thetas, positions_of(at) - found.angle.rows());
}

/// "2 places further on", "1 place back".
std::string in_words(Index count) {
    const Index size = std::abs(count);
    return std::to_string(size) + (size == 1 ? " place " : " places ") + (count > 0 ? "further on" : "back");
}

Variant moved_alone(const std::string& how, std::span<const RotatedStage> stages) {
    const auto places = [stages](const Replay& at) { return moved_by(at, stages); };
    Variant way{how, moved(stages, places)};
    way.measured = [places](const Replay& at) { return in_words(places(at)); };
    return way;
}

}  // namespace

Variant fitted_width() {
    const auto table = [](const Replay&, const Turns& found, const Turns& right) {
        std::vector<double> thetas = inverse_frequencies(fitted_width_of(found, right), base_of(right_thetas(right)));
        thetas.resize(static_cast<std::size_t>(right.angle.cols()));
        return table_of(thetas, right.angle.rows(), right_length(right));
    };
    Variant way{"10000^(-2t/w) of another width w", fitted_tables(table)};
    way.measured = [](const Replay& at) {
        return "w = " + std::to_string(fitted_width_of(found_turns(at), right_turns(at)));
    };
    return way;
}

namespace {

/// Base of the candidate's own rows of distances, which have one; whether it is listed is for the caller to ask.
double base_of_rows(const Replay& at) {
    const std::vector<double> thetas = frequencies_found(at);
    const double base = base_of(thetas);
    if (thetas.size() < 3 || !(base > 1) || !same(thetas, thetas_by_base(thetas.size(), base)))
        throw NotEnough{"frequencies of one base"};
    return base;
}

double own_base_of_rows(const Replay& at) {
    const double base = base_of_rows(at);
    if (is_listed_base(base, 10000, frequencies_found(at).size())) throw NotEnough{"a base that is not listed"};
    return base;
}

/// w of 10000^(-2t/w), even and not the model's width; what has a listed base is mistake 89.
Index width_of_rows(const Replay& at) {
    const double base = base_of_rows(at);
    if (std::any_of(kOtherBases.begin(), kOtherBases.end(), [&](double one) { return same(base, one); }))
        throw NotEnough{"a base that is not listed"};
    const auto width = static_cast<double>(2 * frequencies_found(at).size());
    const double other = width * std::log(10000.0) / std::log(base), whole = 2 * std::round(other / 2);
    const bool is_listed = whole == width || whole == 2 * width || 2 * whole == width;
    if (!(std::abs(other - whole) <= kSame * whole) || is_listed || whole > static_cast<double>(kWidest))
        throw NotEnough{"an even width that is not listed"};
    return static_cast<Index>(whole);
}

}  // namespace

Variant fitted_relative_width() {
    Variant way{"relative sinusoids: 10000^(-2t/w) of another width w",
                relative_rows_with([](const Replay& at, Index width) {
                    std::vector<double> thetas;
                    for (Index t = 0; t < width / 2; ++t)
                        thetas.push_back(
                            std::pow(10000.0, -2 * static_cast<double>(t) / static_cast<double>(width_of_rows(at))));
                    return thetas;
                })};
    way.measured = [](const Replay& at) { return "w = " + std::to_string(width_of_rows(at)); };
    return way;
}

Variant fitted_relative_base() {
    Variant way{"relative sinusoids of a base of their own", relative_rows_with([](const Replay& at, Index width) {
                    return inverse_frequencies(width, own_base_of_rows(at));
                })};
    way.measured = [](const Replay& at) { return "base " + as_number(own_base_of_rows(at)); };
    return way;
}

Variant fitted_first_position() {
    const auto table = [](const Replay& at) {
        const RightAngles right = right_angles(at);
        return rotary_table<double>(right.thetas, table_moved_by(at), positions_of(at), right.length);
    };
    Variant way{"from a number of its own",
                {{"/rotary.sin", {}, [table](const Replay& at) { return as_rows(table(at).sin); }},
                 {"/rotary.cos", {}, [table](const Replay& at) { return as_rows(table(at).cos); }}}};
    way.measured = [](const Replay& at) { return "positions from " + std::to_string(table_moved_by(at)); };
    return way;
}

Variant fitted_first_position_of_queries() { return moved_alone("queries alone stand elsewhere", kRotatedQueries); }

Variant fitted_first_position_of_keys() { return moved_alone("keys alone stand elsewhere", kRotatedKeys); }

namespace a_factor_per_pair {  // mistake 108

/// Length of the candidate's sines and cosines; right where it is that of the reference.
enum class Length { right, another };

Variant all_rows(const std::string& how, Length length) {
    return {how, fitted_tables([length](const Replay&, const Turns& found, const Turns& right) {
                const double own = length_of(found), known = right_length(right);
                if (same(own, known) != (length == Length::right)) throw NotEnough{"sines of this length"};
                return table_of(scaled_thetas(found, right, 0), right.angle.rows(),
                                length == Length::right ? known : own);
            })};
}

RotaryTable<double> long_rows(const Replay&, const Turns& found, const Turns& right) {
    const Index first = first_longer_row(found, right), rest = right.angle.rows() - first;
    RotaryTable<double> rows = table_of(right_thetas(right), right.angle.rows(), right_length(right));
    const RotaryTable<double> other =
        table_of(scaled_thetas(found, right, first), right.angle.rows(), length_of(found, first));
    rows.sin.bottomRows(rest) = other.sin.bottomRows(rest);
    rows.cos.bottomRows(rest) = other.cos.bottomRows(rest);
    return rows;
}

/// The angles of a model that has no table of its own.
std::vector<Formula> not_scaled() {
    return angles_by([](const Replay& at) {
        const std::vector<double> plain = inverse_frequencies(head_width(at)), known = right_angles(at).thetas;
        if (same(known, plain) || same(known, thetas_by_base(known.size(), base_of(known))))
            throw NotEnough{"a scaled table"};
        return plain;
    });
}

Mistake mistake() {
    return {.number = 108,
            .name =
                "each pair of channels has a scale of its own (LongRoPE, a ramp, another theta), or not that of the "
                "model",
            .symptom = "texts of one length are right, shorter or longer ones drift",
            .betrays = "every pair turns by m theta_t', and theta_t' / theta_t is another number for each t",
            .evidence = "llama.cpp #24823: the long factors by the length that was allocated",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos"},
            .variants = {all_rows("at all positions", Length::right),
                         all_rows("at all positions, and sine and cosine are multiplied, too", Length::another),
                         {"from one position on", fitted_tables(long_rows)},
                         {"the model's scale is left out: 10000^(-2t/d)", not_scaled()}}};
}

}  // namespace a_factor_per_pair

namespace attention_factor {  // mistake 109

enum class Factor { left_out, applied, another };

Variant way(const std::string& how, Factor factor) {
    Variant one{
        how, fitted_tables([factor](const Replay&, const Turns& found, const Turns& right) {
            const double own = length_of(found), known = right_length(right);
            const Factor is = same(own, 1) ? Factor::left_out : same(known, 1) ? Factor::applied : Factor::another;
            if (same(own, known) || is != factor) throw NotEnough{"sines of another length"};
            return table_of(right_thetas(right), right.angle.rows(), factor == Factor::left_out ? 1 : own);
        })};
    one.measured = [](const Replay& at) {
        return "length " + as_number(length_of(found_turns(at))) + " for " + as_number(right_length(right_turns(at)));
    };
    return one;
}

Mistake mistake() {
    return {.number = 109,
            .name =
                "the attention factor of YaRN or LongRoPE is left out of sine and cosine, or applied where there is "
                "none",
            .symptom = "attention is too flat or too sharp by one factor, whatever the text",
            .betrays = "sin^2 + cos^2 is one number everywhere, and not the right one; the angles are right",
            .evidence = "",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos"},
            .variants = {way("left out", Factor::left_out), way("applied where there is none", Factor::applied),
                         way("another factor", Factor::another)}};
}

}  // namespace attention_factor

std::vector<Mistake> rope_scaling_mistakes() {
    return {
        a_factor_per_pair::mistake(),  // 108
        attention_factor::mistake(),   // 109
    };
}

}  // namespace locus::conformance
