// The rotation of queries and keys in plain loops, in both layouts and after a cached prefix, and the mistakes in it.
#include <cmath>

#include "tests/conformance/toy/term_ports.h"

namespace locus::conformance::toy {

namespace {

/// Which part of a head a port rotates: channels of d / divisor, from the first or up to the last one.
struct RotatedPart {
    Index first, count;
    Index width;  // of the exponent 2t / width
};

template <class Scalar>
class ToyRotation {
public:
    ToyRotation(const KitCase& one, const Injection& injected)
        : given_(one), injected_(injected), halves_(one.config.value("layout", "") == "half-split") {}

    Trace run(const KitCase& one) {
        const A q = given_("layer.0.q"), k = given_("layer.0.k");
        fresh_ = q.extent(2);
        keys_ = k.extent(2);
        const A q_rot = rotated(q, true), k_rot = rotated(k, false);
        Trace trace{StageFilter{}, Scheme::rotary};
        for (const bool sine : {true, false})
            if (const std::string name = sine ? "rotary.sin" : "rotary.cos";
                std::find(one.stages.begin(), one.stages.end(), name) != one.stages.end())
                trace.add(name, as_stage(table(q.width(), sine)));
        trace.add("layer.0.q_rot", as_stage(q_rot));
        trace.add("layer.0.k_rot", as_stage(k_rot));
        if (one.config.value("kind", "") == "rotary_cache") trace.add("layer.0.scores", as_stage(scores(q_rot, k_rot)));
        return trace;
    }

private:
    using A = Array<Scalar>;

    bool is(int mistake, int variant) const { return injected_.is(mistake, variant); }
    bool is(int mistake) const { return injected_.is(mistake); }

    double theta(Index t, Index width) const {
        if (is(61, 0)) width = 64;
        if (is(91)) t %= std::max<Index>(1, width / 4);
        return std::pow(is(89) ? 42000.0 : 10000.0, -2 * double(t) / double(width));
    }

    A table(Index width, bool sine) const {
        A rows({keys_, width / 2});
        for (Index m = 0; m < keys_; ++m)
            for (Index t = 0; t < width / 2; ++t) {
                const double angle = position(m, m) * theta(t, width);
                rows(m, t) = static_cast<Scalar>(sine ? std::sin(angle) : std::cos(angle));
            }
        return rows;
    }

    /// Of row `m` that should stand at `right`, where nothing concerns queries or keys alone.
    double position(Index, Index right) const {
        if (is(94, 0)) return double(right + 1);
        if (is(94, 1)) return double(right + 5);
        return is(90) ? double(right) / 3 : double(right);
    }

    double position_of(Index m, Index right, bool query) const {
        const bool second_step = right >= keys_ - fresh_;
        if (is(63) && second_step && fresh_ < keys_ && !is(63, query ? 1 : 0))
            return is(63, 3) ? 0.0 : double(right - (keys_ - fresh_));
        if (is(94, query ? 2 : 3)) return double(right + 1);
        if (is(94, query ? 4 : 5)) return double(right + 3);
        return position(m, right);
    }

    RotatedPart part(Index width) const {
        if (is(93, 0)) return {0, width / 2, width};
        if (is(93, 1)) return {0, width / 2, width / 2};
        if (is(93, 2)) return {0, width / 4, width};
        if (is(93, 3)) return {0, width / 4, width / 4};
        if (is(93, 4)) return {width / 2, width / 2, width};
        if (is(93, 5)) return {width / 2, width / 2, width / 2};
        return {0, width, width};
    }

    A rotated(const A& x, bool query) const {
        const Index rows = x.extent(2), width = x.width();
        if (is(57, query ? 1 : 0)) return x;
        const bool other = is(56) || is(57, query ? 3 : 2);
        const bool by_halves = halves_ != other;
        A y = x;
        for (Index n = 0; n < x.runs(); ++n) {
            if (is(88) && n / rows % x.extent(1) != 0) continue;
            const Index m = n % rows, right = query ? keys_ - fresh_ + m : m;
            const double at = position_of(m, right, query);
            if (is(92))
                turn_crossed(x.run(n), y.run(n), width, at);
            else
                turn(y.run(n), width, at, by_halves);
            if (is(118, 2) && query) turn(y.run(n), width, at, by_halves);
        }
        return is(56, 1) ? reordered(y, halves_) : y;
    }

    void turn(Scalar* row, Index width, double at, bool by_halves) const {
        const RotatedPart own = part(width);
        for (Index t = 0; 2 * t < own.count; ++t) {
            Scalar &first = row[own.first + (by_halves ? t : 2 * t)],
                   &second = row[own.first + (by_halves ? t + own.count / 2 : 2 * t + 1)];
            const double angle = at * theta(t, own.width);
            Scalar s = static_cast<Scalar>(std::sin(angle)), c = static_cast<Scalar>(std::cos(angle));
            if (is(58)) s = -s;
            if (is(60)) std::swap(s, c);
            const Scalar a = first, b = second;
            first = a * c - b * s;
            second = b * c + (is(117) ? first : a) * s;
        }
    }

    /// Partner, cosine and sine of a channel by orders of their own: mistake 92.
    void turn_crossed(const Scalar* x, Scalar* y, Index width, double at) const {
        const Index half = width / 2;
        const bool partners = is(92, 0) || (!is(92, 1) && halves_), cosines = is(92, 1) || is(92, 2),
                   sines = is(92, 1) || is(92, 3);
        for (Index c = 0; c < width; ++c) {
            const bool first = partners ? c < half : c % 2 == 0;
            const Index step = partners ? half : 1;
            const Scalar partner = first ? -x[c + step] : x[c - step];
            const double of_cosine = theta(cosines ? c % half : c / 2, width),
                         of_sine = theta(sines ? c % half : c / 2, width);
            y[c] = x[c] * static_cast<Scalar>(std::cos(at * of_cosine)) +
                   partner * static_cast<Scalar>(std::sin(at * of_sine));
        }
    }

    /// Pairs of neighbours one half after the other, or of halves side by side.
    static A reordered(const A& x, bool to_halves) {
        A y = x;
        const Index half = x.width() / 2;
        for (Index n = 0; n < x.runs(); ++n)
            for (Index t = 0; t < half; ++t)
                for (const Index second : {Index(0), Index(1)}) {
                    const Index beside = 2 * t + second, apart = t + second * half;
                    y.run(n)[to_halves ? apart : beside] = x.run(n)[to_halves ? beside : apart];
                }
        return y;
    }

    A scores(const A& q, const A& k) const {
        A y({q.extent(0), q.extent(1), fresh_, keys_});
        const auto root = static_cast<Scalar>(std::sqrt(double(q.width())));
        for (Index n = 0; n < q.runs(); ++n)
            for (Index j = 0; j < keys_; ++j) {
                Scalar sum = 0;
                for (Index c = 0; c < q.width(); ++c) sum += q.run(n)[c] * k.run(n / fresh_ * keys_ + j)[c];
                y.run(n)[j] = sum / root;
            }
        return y;
    }

    Given<Scalar> given_;
    Injection injected_;
    bool halves_;
    Index fresh_ = 0, keys_ = 0;  // queries of this step, and keys of all steps
};

}  // namespace

template <class Scalar>
Trace run_rotation(const KitCase& one, const Injection& injected) {
    return ToyRotation<Scalar>(one, injected).run(one);
}

template Trace run_rotation<float>(const KitCase&, const Injection&);
template Trace run_rotation<double>(const KitCase&, const Injection&);

}  // namespace locus::conformance::toy
