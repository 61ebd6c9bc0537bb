#include "tests/conformance/toy/term_ports.h"

#include <cmath>

#include "core/io/safetensors.h"

namespace locus::conformance::toy {

template <class Scalar>
Given<Scalar>::Given(const KitCase& one) : inputs_(read_trace(one.folder / "inputs.safetensors")) {}

template <class Scalar>
Array<Scalar> Given<Scalar>::operator()(const std::string& name) const {
    const Stage& stage = inputs_.at(name);
    Array<Scalar> values(stage.shape());
    for (Index n = 0; n < stage.size(); ++n)
        values.values[static_cast<std::size_t>(n)] = static_cast<Scalar>(stage.at(n));
    return values;
}

template <class Scalar>
Array<char> Given<Scalar>::visible() const {
    const Stage& stage = inputs_.at("mask");
    Array<char> values(stage.shape());
    for (Index n = 0; n < stage.size(); ++n) values.values[static_cast<std::size_t>(n)] = stage.at(n) != 0;
    return values;
}

namespace {

/// Max over all keys, hidden ones too, taken away in a type of few digits.
template <class Scalar>
Scalar shortened(Scalar value, int variant) {
    if (variant == 1) return static_cast<Scalar>(static_cast<float>(Eigen::half(static_cast<float>(value))));
    if (variant == 2) return static_cast<Scalar>(static_cast<float>(Eigen::bfloat16(static_cast<float>(value))));
    return value;
}

}  // namespace

template <class Scalar>
Trace run_softmax(const KitCase& one, const Injection& injected) {
    const Given<Scalar> given(one);
    Array<Scalar> scores = given("layer.0.scores");
    const Array<char> visible = given.visible();
    const Index heads = scores.extent(1), queries = scores.extent(2), keys = scores.extent(3);
    Array<Scalar> probs(scores.shape);
    for (Index n = 0; n < scores.runs(); ++n) {
        Scalar* row = scores.run(n);
        const char* sees = visible.run(n / (heads * queries) * queries + n % queries);
        if (injected.is(34)) {
            const Scalar maximum = shortened(*std::max_element(row, row + keys), injected.variant);
            for (Index j = 0; j < keys; ++j)
                row[j] = shortened(shortened(row[j], injected.variant) - maximum, injected.variant);
        }
        Scalar most = -std::numeric_limits<Scalar>::infinity(), sum = 0;
        for (Index j = 0; j < keys; ++j)
            if (sees[j]) most = std::max(most, row[j]);
        for (Index j = 0; j < keys; ++j)
            if (sees[j]) sum += std::exp(row[j] - most);
        for (Index j = 0; j < keys; ++j)
            if (sees[j]) probs.run(n)[j] = std::exp(row[j] - most) / sum;
    }
    Trace trace;
    trace.add("layer.0.probs", as_stage(probs));
    return trace;
}

template <class Scalar>
Trace run_term(const KitCase& one, const Injection& injected) {
    const std::string kind = one.config.value("kind", "");
    if (kind == "linear_attention") return run_linear<Scalar>(one, injected);
    if (kind == "rotary_cache" || one.config.contains("layout")) return run_rotation<Scalar>(one, injected);
    if (one.id == "L1/softmax_huge_hidden") return run_softmax<Scalar>(one, injected);
    LOCUS_CHECK(one.config.contains("span") || one.config.contains("position_buckets"),
                "toy ports: " + one.id + " is no term that they compute");
    return run_disentangled<Scalar>(one, injected);
}

template class Given<float>;
template class Given<double>;
template Trace run_softmax<float>(const KitCase&, const Injection&);
template Trace run_softmax<double>(const KitCase&, const Injection&);
template Trace run_term<float>(const KitCase&, const Injection&);
template Trace run_term<double>(const KitCase&, const Injection&);

// Linear attention with rotary positions in plain loops, and mistake 64.

namespace {

constexpr double kEps = 1e-6;

template <class Scalar>
class ToyLinear {
public:
    ToyLinear(const KitCase& one, const Injection& injected)
        : given_(one),
          injected_(injected),
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
        if (injected_.is(64, 5)) scale(q_, root);
        if (injected_.is(64, 6)) scale(q_, std::sqrt(root)), scale(k_, std::sqrt(root));
        if (injected_.is(64, 14)) clear_padding(k_);
        // Rotation inside phi: in both sums, in both and nothing else known, in the numerator alone.
        const bool inside = injected_.is(64, 0) || injected_.is(64, 1) || injected_.is(64, 2);
        A phi_q = phi(injected_.is(64, 1) ? rotated(q_) : q_), phi_k = phi(injected_.is(64, 1) ? rotated(k_) : k_);
        const A all_keys = phi_k;
        const bool forgotten = injected_.is(64, 13) || injected_.is(64, 14);
        if (!forgotten) clear_padding(phi_k);
        A above_q = inside ? phi(rotated(q_)) : rotated(phi_q), above_k = inside ? phi(rotated(k_)) : rotated(phi_k);
        if (inside) clear_padding(above_k);
        const bool turned_below = injected_.is(64, 0) || injected_.is(64, 3) || injected_.is(64, 4);
        const A below = turned_below           ? denominators(above_q, above_k)
                        : injected_.is(64, 15) ? denominators(phi_q, all_keys)
                                               : denominators(phi_q, phi_k);
        A weights = products(above_q, injected_.is(64, 16) ? rotated(all_keys) : above_k);
        for (Index n = 0; n < weights.runs(); ++n)
            for (Index j = 0; j < length_; ++j)
                weights.run(n)[j] /=
                    below.values[static_cast<std::size_t>(n)] * static_cast<Scalar>(injected_.is(64, 7) ? root : 1);
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
    Scalar phi(Scalar x) const {
        if (injected_.is(64, 17)) return x > 0 ? x : std::expm1(x);
        if (injected_.is(64, 18)) return std::max(x, Scalar(0));
        if (injected_.is(64, 19)) return std::max(x, Scalar(0)) + 1;
        if (injected_.is(64, 20)) return std::exp(x);
        if (injected_.is(64, 21)) return std::log(1 + std::exp(x));
        return x > 0 ? x + 1 : std::exp(x);
    }
    A phi(A x) const {
        if (injected_.is(64, 22)) return x;
        for (Scalar& value : x.values) value = phi(value);
        return x;
    }
    bool hidden(Index run) const { return !visible_(run / (heads_ * length_), run % length_); }
    void clear_padding(A& keys) const {
        for (Index n = 0; n < keys.runs(); ++n)
            if (hidden(n)) std::fill(keys.run(n), keys.run(n) + width_, Scalar(0));
    }
    A rotated(A x) const {
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
        const bool per_product = injected_.is(64, 9) || injected_.is(64, 10),
                   per_feature = injected_.is(64, 11) || injected_.is(64, 12);
        const bool padding_too = injected_.is(64, 10) || injected_.is(64, 12);
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
            if (injected_.is(64, 8)) sum += eps;
            const bool bound = !injected_.is(64, 4) && !injected_.is(64, 8) && !per_product && !per_feature;
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
    Injection injected_;
    bool causal_;
    A q_, k_, v_;
    Array<char> visible_;  // [B,T]
    Index heads_, length_, width_;
};

}  // namespace

template <class Scalar>
Trace run_linear(const KitCase& one, const Injection& injected) {
    return ToyLinear<Scalar>(one, injected).run();
}

template Trace run_linear<float>(const KitCase&, const Injection&);
template Trace run_linear<double>(const KitCase&, const Injection&);

}  // namespace locus::conformance::toy
