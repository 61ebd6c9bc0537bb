#include "core/positions/rope_decay.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace locus {

namespace {

using Complex = std::complex<double>;

/// sum over j of |S_j|.
double sum_of_partial_sums(const std::vector<double>& theta, double distance) {
    Complex partial = 0;
    double sum = 0;
    for (const double theta_t : theta) {
        partial += std::polar(1.0, distance * theta_t);
        sum += std::abs(partial);
    }
    return sum;
}

/// h_t = q_t conj(k_t), one complex number per plane.
std::vector<Complex> plane_products(const RowVector<double>& q, const RowVector<double>& k,
                                    const std::vector<double>& theta, RotaryLayout layout) {
    const auto planes = static_cast<Index>(theta.size());
    LOCUS_CHECK(q.size() == 2 * planes && k.size() == 2 * planes,
                "score_curve: q of " + std::to_string(q.size()) + " and k of " + std::to_string(k.size()) +
                    " channels, expected " + std::to_string(2 * planes) + ", two per angle");
    std::vector<Complex> products;
    for (Index t = 0; t < planes; ++t) {
        const bool interleaved = layout == RotaryLayout::interleaved;
        const Index a = interleaved ? 2 * t : t, b = interleaved ? 2 * t + 1 : planes + t;
        products.push_back(Complex(q[a], q[b]) * std::conj(Complex(k[a], k[b])));
    }
    return products;
}

}  // namespace

double decay_bound(const std::vector<double>& theta, double distance) {
    LOCUS_CHECK(!theta.empty(), "decay_bound: no angles, expected one per pair of channels");
    return sum_of_partial_sums(theta, distance) / static_cast<double>(theta.size());
}

std::vector<double> score_curve(const RowVector<double>& q, const RowVector<double>& k,
                                const std::vector<double>& theta, RotaryLayout layout, Index count) {
    const std::vector<Complex> products = plane_products(q, k, theta, layout);
    std::vector<double> curve;
    for (Index r = 0; r < count; ++r) {
        Complex sum = 0;
        for (std::size_t t = 0; t < theta.size(); ++t)
            sum += products[t] * std::polar(1.0, static_cast<double>(r) * theta[t]);
        curve.push_back(sum.real());
    }
    return curve;
}

std::vector<double> score_bound(const RowVector<double>& q, const RowVector<double>& k,
                                const std::vector<double>& theta, RotaryLayout layout, Index count) {
    std::vector<Complex> products = plane_products(q, k, theta, layout);
    products.push_back(0);
    double largest_step = 0;
    for (std::size_t t = 0; t + 1 < products.size(); ++t)
        largest_step = std::max(largest_step, std::abs(products[t + 1] - products[t]));
    std::vector<double> bound;
    for (Index r = 0; r < count; ++r)
        bound.push_back(largest_step * sum_of_partial_sums(theta, static_cast<double>(r)));
    return bound;
}

}  // namespace locus
