#include "core/conformance/mistakes/relative_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "core/conformance/formulas/transformer_xl.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

RelativeDistances relative_distances(const Replay& at, bool reversed) {
    RelativeDistances made{{}, 0, reversed};
    Index clamp = 0;
    if (at.family() == Family::transformer_xl && !reversed) {
        clamp = at.transformer_xl().clamp_len;
        made.distances = transformer_xl_distances(keys_of(at), 0);
    } else {
        const XlnetConfig& config = at.xlnet();
        if (reversed && !config.bi_data) throw NotEnough{"reversed text"};
        clamp = config.clamp_len;
        made.distances = xlnet_distances(queries_of(at), keys_of(at), config.direction, 0, reversed);
    }
    made.clamp = static_cast<double>(std::max<Index>(clamp, 0));
    return made;
}

Index width_of(const Replay& at) {
    return at.family() == Family::transformer_xl ? at.transformer_xl().d_model : at.xlnet().d_model;
}

/// Sinusoids of distances that clamp_len has cut in another way.
std::vector<Formula> clamped_by(std::function<std::vector<double>(const RelativeDistances&)> cut) {
    return relative_rows_by([cut](const RelativeDistances& of, Index width) {
        if (of.clamp == 0) throw NotEnough{"a clamp_len"};
        return sinusoidal_rows<double>(cut(of), width, SinusoidLayout::concatenated);
    });
}

constexpr int kFarthest = 8192;  // distances that are looked for
constexpr double kSameRow = 1e-3;

/// The distance of a row [sin | cos], as far as it is a whole number; pair 0 turns by 1 and shows it up to 2 pi.
std::optional<double> distance_of(const Matrix<double>& rows, Index row) {
    const Index half = rows.cols() / 2;
    const double turned = std::atan2(rows(row, 0), rows(row, half));
    for (int n = 0; n <= kFarthest; ++n)
        for (const double distance : {static_cast<double>(n), -static_cast<double>(n)}) {
            if (std::abs(std::remainder(distance - turned, 2 * std::numbers::pi)) > kSameRow) continue;
            const Matrix<double> right = sinusoidal_rows<double>({distance}, 2 * half, SinusoidLayout::concatenated);
            if ((right.row(0) - rows.row(row)).cwiseAbs().maxCoeff() <= kSameRow) return distance;
        }
    return std::nullopt;
}

/// Distances of all rows as the candidate's first and last one show them.  Throws NotEnough for those of other ways,
/// and of mistake 94.
std::vector<double> distances_found(const Replay& at, const char* stem, const RelativeDistances& right) {
    const Tensor<double>* rows = at.claimed(stem);
    const auto count = std::ssize(right.distances);
    if (!rows || right.clamp > 0 || count < 3 || rows->rows().rows() != count) throw NotEnough{"distances not cut"};
    const auto first = distance_of(rows->matrix(), 0), last = distance_of(rows->matrix(), count - 1);
    if (!first || !last || std::abs(*last - *first) != static_cast<double>(count - 1))
        throw NotEnough{"rows of whole numbers"};
    const double begins = std::abs(right.distances.front()), ends = std::abs(right.distances.back());
    if (std::abs(std::abs(*first) - begins) <= 1 || std::abs(*first) == ends) throw NotEnough{"another beginning"};
    std::vector<double> all;
    for (Index n = 0; n < count; ++n) all.push_back(*first + (*last > *first ? 1 : -1) * static_cast<double>(n));
    return all;
}

}  // namespace

std::vector<double> RelativeDistances::cut(double least, double most) const {
    std::vector<double> all = distances;
    if (clamp > 0)
        for (double& distance : all) distance = std::clamp(distance, least, most);
    return all;
}

namespace {

/// rows(replay, distances, width) for both directions.
template <class Rows>
std::vector<Formula> both_directions(Rows rows) {
    const auto formula = [&](const char* stem, bool reversed) {
        return Formula{stem, {}, [=](const Replay& at) {
                           const Matrix<double> made = rows(at, relative_distances(at, reversed), width_of(at));
                           return as_tensor<double>({made.rows(), made.cols()}, made);
                       }};
    };
    return {formula("/positions.r", false), formula("/positions.r_backward", true)};
}

/// [sin | cos] of distances [R] times frequencies [D/2] -> [R,D].
Matrix<double> waves_of(const std::vector<double>& distances, const std::vector<double>& theta) {
    const auto half = static_cast<Index>(theta.size());
    Matrix<double> rows(static_cast<Index>(distances.size()), 2 * half);
    for (Index n = 0; n < rows.rows(); ++n)
        for (Index t = 0; t < half; ++t) {
            const double angle = distances[static_cast<std::size_t>(n)] * theta[static_cast<std::size_t>(t)];
            rows(n, t) = std::sin(angle);
            rows(n, half + t) = std::cos(angle);
        }
    return rows;
}

}  // namespace

std::vector<Formula> relative_rows_by(std::function<Matrix<double>(const RelativeDistances&, Index width)> rows) {
    return both_directions([rows](const Replay&, const RelativeDistances& of, Index width) { return rows(of, width); });
}

std::vector<Formula> relative_rows_with(std::function<std::vector<double>(Index width)> frequencies) {
    return both_directions([frequencies](const Replay&, const RelativeDistances& of, Index width) {
        return waves_of(of.cut(), frequencies(width));
    });
}

std::vector<Formula> relative_rows_with(std::function<std::vector<double>(const Replay& at, Index width)> frequencies) {
    return both_directions([frequencies](const Replay& at, const RelativeDistances& of, Index width) {
        return waves_of(of.cut(), frequencies(at, width));
    });
}

std::vector<double> frequencies_found(const Replay& at) {
    const Tensor<double>* rows = at.claimed("/positions.r");
    const std::vector<double> distances = relative_distances(at, false).cut();
    const auto one = std::find_if(distances.begin(), distances.end(), [](double x) { return std::abs(x) == 1; });
    if (!rows || rows->rank() != 2 || rows->extent(0) != std::ssize(distances) || rows->extent(1) != width_of(at) ||
        one == distances.end())
        throw NotEnough{"the candidate's own rows, one of them of distance 1"};
    const auto row = rows->matrix().row(one - distances.begin());
    std::vector<double> thetas;
    for (Index t = 0; t < row.size() / 2; ++t) {
        thetas.push_back(*one * std::atan2(row(t), row(row.size() / 2 + t)));
        if (!(thetas.back() > 0)) throw NotEnough{"angles that grow with the distance"};
    }
    return thetas;
}

std::vector<Variant> other_signs_and_clamps() {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto negated = [](const RelativeDistances& of, Index width) {
        std::vector<double> all = of.cut();
        for (double& distance : all) distance = -distance;
        return sinusoidal_rows<double>(all, width, SinusoidLayout::concatenated);
    };
    return {
        {"with the other sign, key minus query", relative_rows_by(negated)},
        {"clamp_len is not followed", clamped_by([](const auto& of) { return of.distances; })},
        {"clamp_len cuts one too far", clamped_by([](const auto& of) { return of.cut(-of.clamp - 1, of.clamp + 1); })},
        {"clamp_len cuts one too near", clamped_by([](const auto& of) { return of.cut(-of.clamp + 1, of.clamp - 1); })},
        {"clamp_len cuts keys before the query alone", clamped_by([infinity](const auto& of) {
             return of.reversed ? of.cut(-of.clamp, infinity) : of.cut(-infinity, of.clamp);
         })},
        {"clamp_len cuts keys behind the query alone", clamped_by([infinity](const auto& of) {
             return of.reversed ? of.cut(-infinity, of.clamp) : of.cut(-of.clamp, infinity);
         })},
        {"distances beyond clamp_len begin again at 0", clamped_by([](const auto& of) {
             std::vector<double> all = of.distances;
             for (double& distance : all) distance = std::fmod(distance, of.clamp);
             return all;
         })}};
}

Variant other_beginning() {
    const auto formula = [](const char* stem, bool reversed) {
        return Formula{stem, {}, [=](const Replay& at) {
                           return sinusoids_of(at, distances_found(at, stem, relative_distances(at, reversed)),
                                               SinusoidLayout::concatenated);
                       }};
    };
    return {"a table of all positions is cut at the wrong end, or is of another length",
            {formula("/positions.r", false), formula("/positions.r_backward", true)},
            {},
            [](const Replay& at) {
                const std::vector<double> all = distances_found(at, "/positions.r", relative_distances(at, false));
                return "distances " + format_number(all.front()) + " to " + format_number(all.back());
            }};
}

}  // namespace locus::conformance
