// Linear attention with rotary positions in plain loops, and mistake 64.
#include <cmath>

#include "tests/conformance/toy/term_ports.h"

namespace locus::conformance::toy {

namespace {

constexpr double kEps = 1e-6;

template <class Scalar>
class ToyLinear {
public:
    ToyLinear(const KitCase& one, const Slip& slip)
        : given_(one),
          slip_(slip),
          causal_(one.config.at("causal").get<bool>()),
          q_(given_("layer.0.q")),
          k_(given_("layer.0.k")),
          v_(given_("layer.0.v")),
          visible_(given_.visible()),
          heads_(q_.extent(1)),
          length_(q_.extent(2)),
          width_(q_.extent(3)) {}

    Trace run() {
        const double root = std::sqrt(double(width_));
        if (slip_.is(64, 5)) scale(q_, root);
        if (slip_.is(64, 6)) scale(q_, std::sqrt(root)), scale(k_, std::sqrt(root));
        if (slip_.is(64, 14)) clear_padding(k_);
        // Rotation inside phi: in both sums, in both and nothing else known, in the numerator alone.
        const bool inside = slip_.is(64, 0) || slip_.is(64, 1) || slip_.is(64, 2);
        A phi_q = phi(slip_.is(64, 1) ? turned(q_) : q_), phi_k = phi(slip_.is(64, 1) ? turned(k_) : k_);
        const A all_keys = phi_k;
        const bool forgotten = slip_.is(64, 13) || slip_.is(64, 14);
        if (!forgotten) clear_padding(phi_k);
        A above_q = inside ? phi(turned(q_)) : turned(phi_q), above_k = inside ? phi(turned(k_)) : turned(phi_k);
        if (inside) clear_padding(above_k);
        const bool turned_below = slip_.is(64, 0) || slip_.is(64, 3) || slip_.is(64, 4);
        const A below = turned_below       ? denominators(above_q, above_k)
                        : slip_.is(64, 15) ? denominators(phi_q, all_keys)
                                           : denominators(phi_q, phi_k);
        A weights = products(above_q, slip_.is(64, 16) ? turned(all_keys) : above_k);
        for (Index n = 0; n < weights.runs(); ++n)
            for (Index j = 0; j < length_; ++j)
                weights.run(n)[j] /=
                    below.values[static_cast<std::size_t>(n)] * static_cast<Scalar>(slip_.is(64, 7) ? root : 1);
        Trace trace{StageFilter{}, Scheme::rotary};
        trace.add("layer.0.phi_q", as_stage(phi_q));
        trace.add("layer.0.phi_k", as_stage(phi_k));
        trace.add("layer.0.phi_q_rot", as_stage(above_q));
        trace.add("layer.0.phi_k_rot", as_stage(above_k));
        trace.add("layer.0.denominator", as_stage(below));
        trace.add("layer.0.weights", as_stage(weights));
        trace.add("layer.0.context", as_stage(context(weights)));
        return trace;
    }

private:
    using A = Array<Scalar>;

    static void scale(A& x, double by) {
        for (Scalar& value : x.values) value /= static_cast<Scalar>(by);
    }
    static A phi(A x) {
        for (Scalar& value : x.values) value = value > 0 ? value + 1 : std::exp(value);
        return x;
    }
    bool hidden(Index run) const { return !visible_(run / (heads_ * length_), run % length_); }
    void clear_padding(A& keys) const {
        for (Index n = 0; n < keys.runs(); ++n)
            if (hidden(n)) std::fill(keys.run(n), keys.run(n) + width_, Scalar(0));
    }
    A turned(A x) const {
        for (Index n = 0; n < x.runs(); ++n)
            for (Index t = 0; 2 * t < width_; ++t) {
                const double angle = double(n % length_) / std::pow(10000.0, 2 * double(t) / double(width_));
                Scalar &a = x.run(n)[2 * t], &b = x.run(n)[2 * t + 1];
                const Scalar s = static_cast<Scalar>(std::sin(angle)), c = static_cast<Scalar>(std::cos(angle));
                const Scalar first = a * c - b * s;
                b = a * s + b * c;
                a = first;
            }
        return x;
    }
    Index seen(Index query) const { return causal_ ? query + 1 : length_; }
    A products(const A& q, const A& k) const {
        A y({q.extent(0), heads_, length_, length_});
        for (Index n = 0; n < q.runs(); ++n)
            for (Index j = 0; j < seen(n % length_); ++j)
                for (Index c = 0; c < width_; ++c) y.run(n)[j] += q.run(n)[c] * k.run(n / length_ * length_ + j)[c];
        return y;
    }
    A denominators(const A& q, const A& k) const {
        A sums({q.extent(0), heads_, length_});
        const auto eps = static_cast<Scalar>(kEps);
        const bool per_product = slip_.is(64, 9) || slip_.is(64, 10),
                   per_feature = slip_.is(64, 11) || slip_.is(64, 12);
        const bool padding_too = slip_.is(64, 10) || slip_.is(64, 12);
        for (Index n = 0; n < q.runs(); ++n) {
            Scalar& sum = sums.values[static_cast<std::size_t>(n)];
            for (Index j = 0; j < seen(n % length_); ++j) {
                const Index key = n / length_ * length_ + j;
                const bool counts = padding_too || !hidden(key);
                Scalar product = 0;
                for (Index c = 0; c < width_; ++c)
                    product += q.run(n)[c] * (k.run(key)[c] + (per_feature && counts ? eps : 0));
                sum += product + (per_product && counts ? eps : 0);
            }
            if (slip_.is(64, 8)) sum += eps;
            const bool bound = !slip_.is(64, 4) && !slip_.is(64, 8) && !per_product && !per_feature;
            if (bound && sum < eps) sum = eps;
        }
        return sums;
    }
    A context(const A& weights) const {
        A y({q_.extent(0), length_, heads_ * width_});
        for (Index n = 0; n < weights.runs(); ++n)
            for (Index j = 0; j < length_; ++j)
                for (Index c = 0; c < width_; ++c)
                    y(n / (heads_ * length_), n % length_, n / length_ % heads_ * width_ + c) +=
                        weights.run(n)[j] * v_.run(n / length_ * length_ + j)[c];
        return y;
    }

    Given<Scalar> given_;
    Slip slip_;
    bool causal_;
    A q_, k_, v_;
    Array<char> visible_;  // [B,T]
    Index heads_, length_, width_;
};

}  // namespace

template <class Scalar>
Trace run_linear(const KitCase& one, const Slip& slip) {
    return ToyLinear<Scalar>(one, slip).run();
}

template Trace run_linear<float>(const KitCase&, const Slip&);
template Trace run_linear<double>(const KitCase&, const Slip&);

}  // namespace locus::conformance::toy
