#include "core/positions/rotary.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace locus {

namespace {

template <class Scalar>
void check_fits(const char* function, const ConstView<Scalar>& x, const RotaryTable<Scalar>& table) {
    LOCUS_CHECK(table.cos.rows() == table.sin.rows() && table.cos.cols() == table.sin.cols(),
                std::string(function) + ": cosines " + std::to_string(table.cos.rows()) + " x " +
                    std::to_string(table.cos.cols()) + ", expected " + std::to_string(table.sin.rows()) + " x " +
                    std::to_string(table.sin.cols()) + " as the sines");
    LOCUS_CHECK(x.rows() == table.length(), std::string(function) + ": " + std::to_string(x.rows()) +
                                                " rows but angles for " + std::to_string(table.length()) +
                                                " positions, expected as many");
    LOCUS_CHECK(x.cols() >= table.width(), std::string(function) + ": vectors of " + std::to_string(x.cols()) +
                                               " channels but angles for " + std::to_string(table.width()) +
                                               ", expected at most as many");
}

/// Rotates one row, plane by plane, by sign * angle (RoFormer, eq. 34), with a and b the two channels of a plane:
///     y_a = x_a cos - x_b sin
///     y_b = x_b cos + x_a sin
/// kStep channels lie from plane to plane, `second` from the first channel of a plane to the other; with kStep a
/// constant the loop becomes vector instructions.  Both lines are sums, with the sign in front of the sine, because
/// GCC 12 fuses a sum and a difference of the same products into one rounding even under -ffp-contract=off.
template <Index kStep, class Scalar>
void rotate_row(const Scalar* __restrict x, const Scalar* __restrict sin, const Scalar* __restrict cos, Index planes,
                Index second, Scalar sign, Scalar* __restrict y) {
    const Scalar opposite = -sign;
    for (Index t = 0; t < planes; ++t) {
        const Scalar x_a = x[t * kStep], x_b = x[t * kStep + second];
        y[t * kStep] = x_a * cos[t] + x_b * (opposite * sin[t]);
        y[t * kStep + second] = x_b * cos[t] + x_a * (sign * sin[t]);
    }
}

/// Rotates by sign * angle, sign = +1 or -1: only the sine changes with it.
template <class Scalar>
Matrix<Scalar> rotate_by_sign(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout,
                              Scalar sign) {
    const Index planes = table.sin.cols();
    Matrix<Scalar> y(x.rows(), x.cols());
    for (Index m = 0; m < x.rows(); ++m) {
        const Scalar *sin = table.sin.row(m).data(), *cos = table.cos.row(m).data();
        if (layout == RotaryLayout::interleaved)
            rotate_row<2>(x.row(m).data(), sin, cos, planes, Index(1), sign, y.row(m).data());
        else
            rotate_row<1>(x.row(m).data(), sin, cos, planes, planes, sign, y.row(m).data());
    }
    y.rightCols(x.cols() - table.width()) = x.rightCols(x.cols() - table.width());
    return y;
}

}  // namespace

template <class Scalar>
RotaryTable<Scalar> RotaryTable<Scalar>::rows(Index first, Index count) const {
    LOCUS_CHECK(first >= 0 && count >= 0 && first + count <= length(),
                "rotary table: rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                    ", expected some of 0 to " + std::to_string(length()));
    return {sin.middleRows(first, count), cos.middleRows(first, count)};
}

template <class Scalar>
RotaryTable<Scalar> rotary_table(const std::vector<double>& theta, Index first, Index length, double factor) {
    LOCUS_CHECK(!theta.empty() && length >= 0,
                "rotary_table: " + std::to_string(theta.size()) + " angles and " + std::to_string(length) +
                    " positions, expected one angle or more and no fewer than 0 positions");
    const auto planes = static_cast<Index>(theta.size());
    RotaryTable<Scalar> table{Matrix<Scalar>(length, planes), Matrix<Scalar>(length, planes)};
    for (Index m = 0; m < length; ++m)
        for (Index t = 0; t < planes; ++t) {
            const double angle = static_cast<double>(first + m) * theta[static_cast<std::size_t>(t)];
            table.sin(m, t) = Scalar(std::sin(angle) * factor);
            table.cos(m, t) = Scalar(std::cos(angle) * factor);
        }
    return table;
}

template <class Scalar>
RotaryTable<Scalar> rotary_table_of(const ConstView<Scalar>& sinusoids, SinusoidLayout layout) {
    LOCUS_CHECK(sinusoids.cols() > 0 && sinusoids.cols() % 2 == 0,
                "rotary_table_of: rows of " + std::to_string(sinusoids.cols()) +
                    " numbers, expected an even count: channels are rotated in pairs");
    const Index planes = sinusoids.cols() / 2;
    if (layout == SinusoidLayout::concatenated) return {sinusoids.leftCols(planes), sinusoids.rightCols(planes)};
    RotaryTable<Scalar> table{Matrix<Scalar>(sinusoids.rows(), planes), Matrix<Scalar>(sinusoids.rows(), planes)};
    for (Index t = 0; t < planes; ++t) {
        table.sin.col(t) = sinusoids.col(2 * t);
        table.cos.col(t) = sinusoids.col(2 * t + 1);
    }
    return table;
}

template <class Scalar>
Matrix<Scalar> rotate(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout) {
    check_fits("rotate", x, table);
    return rotate_by_sign<Scalar>(x, table, layout, Scalar(1));
}

template <class Scalar>
Matrix<Scalar> rotate_back(const ConstView<Scalar>& y, const RotaryTable<Scalar>& table, RotaryLayout layout) {
    check_fits("rotate_back", y, table);
    return rotate_by_sign<Scalar>(y, table, layout, Scalar(-1));
}

template <class Scalar>
Matrix<Scalar> rotation_matrix(const RotaryTable<Scalar>& table, Index m, RotaryLayout layout) {
    LOCUS_CHECK(m >= 0 && m < table.length(),
                "rotation_matrix: row " + std::to_string(m) + ", expected 0 to " + std::to_string(table.length() - 1));
    const Index planes = table.sin.cols();
    Matrix<Scalar> r_m = Matrix<Scalar>::Zero(table.width(), table.width());
    for (Index t = 0; t < planes; ++t) {
        const auto [a, b] = plane_channels(t, planes, layout);
        r_m(a, a) = r_m(b, b) = table.cos(m, t);
        r_m(a, b) = -table.sin(m, t);
        r_m(b, a) = table.sin(m, t);
    }
    return r_m;
}

template <class Scalar>
Matrix<Scalar> rotate_by_matrix(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout) {
    check_fits("rotate_by_matrix", x, table);
    Matrix<Scalar> y = x;
    for (Index m = 0; m < x.rows(); ++m)
        y.row(m).head(table.width()) = x.row(m).head(table.width()) * rotation_matrix(table, m, layout).transpose();
    return y;
}

template <class Scalar>
Matrix<Scalar> rotate_by_complex(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout) {
    check_fits("rotate_by_complex", x, table);
    const Index planes = table.sin.cols();
    Matrix<Scalar> y = x;
    for (Index m = 0; m < x.rows(); ++m)
        for (Index t = 0; t < planes; ++t) {
            const auto [a, b] = plane_channels(t, planes, layout);
            const std::complex<Scalar> rotated =
                std::complex<Scalar>(x(m, a), x(m, b)) * std::complex<Scalar>(table.cos(m, t), table.sin(m, t));
            y(m, a) = rotated.real();
            y(m, b) = rotated.imag();
        }
    return y;
}

std::vector<Index> half_split_order(Index width) {
    LOCUS_CHECK(width > 0 && width % 2 == 0,
                "half_split_order: width is " + std::to_string(width) + ", expected an even number");
    std::vector<Index> order;
    for (Index parity = 0; parity < 2; ++parity)
        for (Index c = parity; c < width; c += 2) order.push_back(c);
    return order;
}

// Decay

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
        const auto [a, b] = plane_channels(t, planes, layout);
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

template struct RotaryTable<float>;
template struct RotaryTable<double>;
template RotaryTable<float> rotary_table<float>(const std::vector<double>&, Index, Index, double);
template RotaryTable<double> rotary_table<double>(const std::vector<double>&, Index, Index, double);
template RotaryTable<float> rotary_table_of<float>(const ConstView<float>&, SinusoidLayout);
template RotaryTable<double> rotary_table_of<double>(const ConstView<double>&, SinusoidLayout);
template Matrix<float> rotate<float>(const ConstView<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<double> rotate<double>(const ConstView<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<float> rotate_back<float>(const ConstView<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<double> rotate_back<double>(const ConstView<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<float> rotation_matrix<float>(const RotaryTable<float>&, Index, RotaryLayout);
template Matrix<double> rotation_matrix<double>(const RotaryTable<double>&, Index, RotaryLayout);
template Matrix<float> rotate_by_matrix<float>(const ConstView<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<double> rotate_by_matrix<double>(const ConstView<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<float> rotate_by_complex<float>(const ConstView<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<double> rotate_by_complex<double>(const ConstView<double>&, const RotaryTable<double>&, RotaryLayout);

}  // namespace locus
