#include "tests/conformance/toy/relative_port.h"

#include <cmath>

namespace locus::conformance::toy {

template <class Scalar>
Array<Scalar> sinusoids(const std::vector<Index>& distances, Index width, bool interleaved) {
    Array<Scalar> rows({static_cast<Index>(distances.size()), width});
    const Index half = width / 2;
    for (Index n = 0; n < rows.runs(); ++n)
        for (Index t = 0; t < half; ++t) {
            const double angle = static_cast<double>(distances[static_cast<std::size_t>(n)]) *
                                 std::pow(10000.0, -2.0 * static_cast<double>(t) / static_cast<double>(width));
            rows(n, interleaved ? 2 * t : t) = static_cast<Scalar>(std::sin(angle));
            rows(n, interleaved ? 2 * t + 1 : half + t) = static_cast<Scalar>(std::cos(angle));
        }
    return rows;
}

template <class Scalar>
Array<Scalar> token_rows(const Array<Scalar>& x, Index first, Index last) {
    Array<Scalar> y({x.extent(0), last - first, x.width()});
    for (Index b = 0; b < x.extent(0); ++b)
        for (Index t = first; t < last; ++t)
            for (Index c = 0; c < x.width(); ++c) y(b, t - first, c) = x(b, t, c);
    return y;
}

template <class Scalar>
Array<Scalar> after(const Array<Scalar>& memory, const Array<Scalar>& x) {
    if (memory.empty()) return x;
    const Index kept = memory.extent(1);
    Array<Scalar> y({x.extent(0), kept + x.extent(1), x.width()});
    for (Index b = 0; b < x.extent(0); ++b)
        for (Index t = 0; t < y.extent(1); ++t)
            for (Index c = 0; c < x.width(); ++c) y(b, t, c) = t < kept ? memory(b, t, c) : x(b, t - kept, c);
    return y;
}

template <class Scalar>
Array<Scalar> biased(const Array<Scalar>& q, const Array<Scalar>& bias, double factor) {
    Array<Scalar> y = q;
    for (Index b = 0; b < q.extent(0); ++b)
        for (Index h = 0; h < q.extent(1); ++h)
            for (Index i = 0; i < q.extent(2); ++i)
                for (Index c = 0; c < q.width(); ++c) y(b, h, i, c) += static_cast<Scalar>(factor) * bias(h, c);
    return y;
}

std::string segment_name(std::size_t segment, std::size_t segments) {
    return segments > 1 ? "segment." + std::to_string(segment) + "." : "";
}

template Array<float> sinusoids<float>(const std::vector<Index>&, Index, bool);
template Array<double> sinusoids<double>(const std::vector<Index>&, Index, bool);
template Array<float> token_rows<float>(const Array<float>&, Index, Index);
template Array<double> token_rows<double>(const Array<double>&, Index, Index);
template Array<float> after<float>(const Array<float>&, const Array<float>&);
template Array<double> after<double>(const Array<double>&, const Array<double>&);
template Array<float> biased<float>(const Array<float>&, const Array<float>&, double);
template Array<double> biased<double>(const Array<double>&, const Array<double>&, double);

}  // namespace locus::conformance::toy
