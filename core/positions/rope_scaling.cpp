#include "core/positions/rope_scaling.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>

namespace locus {

namespace {

constexpr double kFastTurns = 32, kSlowTurns = 1;  // YaRN's beta_fast and beta_slow: turns over the original length

/// The plane that makes `turns` full turns over the original length; a real number.
double plane_of_turns(double turns, double width, double base, double original_length) {
    return width * std::log(original_length / (2 * std::numbers::pi * turns)) / (2 * std::log(base));
}

std::vector<double> ntk(Index width, double base, double stretch) {
    LOCUS_CHECK(width > 2,
                "rope scaling: width is " + std::to_string(width) + ", expected 4 or more: NTK divides by width - 2");
    const double d = static_cast<double>(width);
    return inverse_frequencies(width, base * std::pow(stretch, d / (d - 2)));
}

void need_original_length(const RopeOptions& options) {
    LOCUS_CHECK(options.original_length > 0, std::string("rope scaling: ") + to_string(options.scaling) +
                                                 " needs the length of the training texts, e.g. " +
                                                 to_string(options.scaling) + ",4,2048");
}

std::vector<double> yarn(Index width, const RopeOptions& options) {
    LOCUS_CHECK(options.factor >= 1 && options.base > 1,
                "rope scaling: yarn stretches, expected a factor of 1 or more and a base above 1");
    const YarnRamp ramp = yarn_ramp(width, options.base, options.original_length);
    // An empty ramp would divide by 0; transformers adds the same 0.001 where high = low.
    const double low = static_cast<double>(ramp.low), high = static_cast<double>(ramp.high);
    const double span = high > low ? high - low : 0.001;
    std::vector<double> theta = inverse_frequencies(width, options.base);
    for (std::size_t t = 0; t < theta.size(); ++t) {
        const double share = std::clamp((static_cast<double>(t) - low) / span, 0.0, 1.0);
        theta[t] = theta[t] / options.factor * share + theta[t] * (1 - share);
    }
    return theta;
}

}  // namespace

YarnRamp yarn_ramp(Index width, double base, Index original_length) {
    LOCUS_CHECK(base > 1, "yarn_ramp: base is " + std::to_string(base) + ", expected more than 1");
    LOCUS_CHECK(width > 0 && original_length > 0, "yarn_ramp: " + std::to_string(width) + " channels and a text of " +
                                                      std::to_string(original_length) +
                                                      " tokens, expected 1 or more of each");
    const double d = static_cast<double>(width), length = static_cast<double>(original_length);
    return {std::max<Index>(static_cast<Index>(std::floor(plane_of_turns(kFastTurns, d, base, length))), 0),
            std::min<Index>(static_cast<Index>(std::ceil(plane_of_turns(kSlowTurns, d, base, length))), width - 1)};
}

RopeFrequencies rope_frequencies(Index width, const RopeOptions& options, Index length) {
    LOCUS_CHECK(options.factor > 0 && std::isfinite(options.factor),
                "rope scaling: the factor is " + std::to_string(options.factor) + ", expected a number above 0");
    const double s = options.factor;
    RopeFrequencies frequencies{inverse_frequencies(width, options.base), 1};
    switch (options.scaling) {
        case RopeScaling::none:
            break;
        case RopeScaling::linear:
            for (double& theta : frequencies.theta) theta /= s;
            break;
        case RopeScaling::ntk:
            frequencies.theta = ntk(width, options.base, s);
            break;
        case RopeScaling::dynamic_ntk: {
            need_original_length(options);
            const double original = static_cast<double>(options.original_length);
            if (length > options.original_length)
                frequencies.theta = ntk(width, options.base, s * static_cast<double>(length) / original - (s - 1));
            break;
        }
        case RopeScaling::yarn:
            need_original_length(options);
            frequencies = {yarn(width, options), 0.1 * std::log(s) + 1};
            break;
    }
    return frequencies;
}

const char* to_string(RopeScaling scaling) {
    switch (scaling) {
        case RopeScaling::linear:
            return "linear";
        case RopeScaling::ntk:
            return "ntk";
        case RopeScaling::dynamic_ntk:
            return "dynamic";
        case RopeScaling::yarn:
            return "yarn";
        case RopeScaling::none:
            break;
    }
    return "none";
}

RopeOptions parse_rope_scaling(const std::string& text, double base) {
    const auto refuse = [&]() {
        return Error(Fault::usage, "rope scaling is \"" + text +
                                       "\", expected none, linear,S, ntk,S, dynamic,S,LENGTH or yarn,S,LENGTH");
    };
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        parts.push_back(text.substr(from, comma - from));
        from = comma + 1;
    }
    RopeOptions options;
    options.base = base;
    bool known = false;
    for (const RopeScaling scaling :
         {RopeScaling::none, RopeScaling::linear, RopeScaling::ntk, RopeScaling::dynamic_ntk, RopeScaling::yarn})
        if (parts[0] == to_string(scaling)) {
            options.scaling = scaling;
            known = true;
        }
    const bool has_length = options.scaling == RopeScaling::dynamic_ntk || options.scaling == RopeScaling::yarn;
    const std::size_t expected = options.scaling == RopeScaling::none ? 1 : has_length ? 3 : 2;
    if (!known || parts.size() != expected) throw refuse();
    const auto read = [&](const std::string& part, auto& value) {
        const char* end = part.data() + part.size();
        const auto result = std::from_chars(part.data(), end, value);
        if (part.empty() || result.ec != std::errc{} || result.ptr != end || !(value > 0)) throw refuse();
    };
    if (expected > 1) read(parts[1], options.factor);
    if (expected > 2) read(parts[2], options.original_length);
    return options;
}

template <class Scalar>
Matrix<Scalar> xpos_factors(Index width, Index length) {
    LOCUS_CHECK(width > 0 && width % 2 == 0,
                "xpos_factors: width is " + std::to_string(width) + ", expected an even number");
    Matrix<Scalar> factors(length, width / 2);
    const double d = static_cast<double>(width);
    for (Index m = 0; m < length; ++m)
        for (Index t = 0; t < width / 2; ++t) {
            const double zeta = (2.0 * static_cast<double>(t) + 0.4 * d) / (1.4 * d);
            factors(m, t) = Scalar(std::pow(zeta, static_cast<double>(m - length / 2) / 512));
        }
    return factors;
}

template <class Scalar>
Matrix<Scalar> scale_planes(const ConstView<Scalar>& x, const ConstView<Scalar>& factors, RotaryLayout layout) {
    const Index planes = factors.cols();
    LOCUS_CHECK(x.rows() == factors.rows() && x.cols() == 2 * planes,
                "scale_planes: x of [" + std::to_string(x.rows()) + ", " + std::to_string(x.cols()) +
                    "] and factors of [" + std::to_string(factors.rows()) + ", " + std::to_string(planes) +
                    "], expected one factor per row and pair of channels");
    Matrix<Scalar> scaled(x.rows(), x.cols());
    for (Index m = 0; m < x.rows(); ++m)
        for (Index t = 0; t < planes; ++t) {
            const auto [a, b] = plane_channels(t, planes, layout);
            scaled(m, a) = x(m, a) * factors(m, t);
            scaled(m, b) = x(m, b) * factors(m, t);
        }
    return scaled;
}

template Matrix<float> xpos_factors<float>(Index, Index);
template Matrix<double> xpos_factors<double>(Index, Index);
template Matrix<float> scale_planes<float>(const ConstView<float>&, const ConstView<float>&, RotaryLayout);
template Matrix<double> scale_planes<double>(const ConstView<double>&, const ConstView<double>&, RotaryLayout);

}  // namespace locus
