#pragma once
// Longer texts than a rotary model was trained on: other angles, and xPos.
// transformers modeling_rope_utils.py; Chen et al. 2023 (interpolation), Peng et al. 2023 (YaRN), Sun et al. 2022
// (xPos).
#include <string>
#include <vector>

#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

enum class RopeScaling {
    none,
    linear,       // position interpolation: theta_t / s
    ntk,          // base' = base s^(d/(d-2)): the lowest frequency is divided by s, the highest untouched
    dynamic_ntk,  // the same with s L/L0 - (s - 1) in place of s, only for texts longer than L0
    yarn,         // fast planes untouched, slow ones interpolated, a ramp between; sine and cosine times 0.1 ln s + 1
};

struct RopeOptions {
    double base = 10000;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1;          // s, above 0; YaRN wants 1 or more
    Index original_length = 0;  // L0, tokens of the training texts; dynamic_ntk and yarn need it
};

/// The angles and what sine and cosine are multiplied with.
struct RopeFrequencies {
    std::vector<double> theta;  // [d/2], radians per position
    double attention_factor = 1;
};

/// theta_t for heads of `width` channels and a text of `length` tokens (only dynamic_ntk looks at it).
/// Throws Error(usage) for an odd width, a factor that is not above 0, a missing original length, NTK with width 2.
RopeFrequencies rope_frequencies(Index width, const RopeOptions& options, Index length);

/// "none", "linear,4", "ntk,4", "dynamic,4,2048", "yarn,4,2048": scaling, s, L0.  Throws Error(usage) otherwise.
RopeOptions parse_rope_scaling(const std::string& text, double base = 10000);
const char* to_string(RopeScaling scaling);

/// The planes between which YaRN's ramp runs (Peng et al. 2023): all below low are untouched, all above high
/// interpolated.  Throws Error(usage) unless base is above 1, and width and original_length are above 0.
struct YarnRamp {
    Index low = 0, high = 0;
};
YarnRamp yarn_ramp(Index width, double base, Index original_length);

/// xPos: rotated queries times zeta_t^(p/512), rotated keys times zeta_t^(-p/512), zeta_t = (2t + 0.4 d) / (1.4 d),
/// with p counted from the middle of the text -> [length, d/2] factors for queries; keys take the inverse.
/// Throws Error(usage) unless width is even and above 0.
template <class Scalar>
Matrix<Scalar> xpos_factors(Index width, Index length);

/// Every plane t of row m times factors(m, t).  x [T,d], factors [T,d/2] -> [T,d].  Throws Error(usage) if shapes
/// differ.
template <class Scalar>
Matrix<Scalar> scale_planes(const ConstView<Scalar>& x, const ConstView<Scalar>& factors, RotaryLayout layout);

}  // namespace locus
