#include "tests/conformance/toy/toy_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::conformance::toy {

template <class Scalar>
ToyAttention<Scalar>::ToyAttention(Family family, const Trace& inputs, bool rotates_values)
    : family_(family), inputs_(inputs), turns_values_(rotates_values) {
    q_ = stage("q"), k_ = stage("k"), v_ = stage("v");
    q_r_ = stage("q_r"), k_r_ = stage("k_r"), r_k_ = stage("r_k");
    u_ = stage("bias.u"), bias_ = stage("bias.v"), keep_ = stage("keep");
    mask_ = read<double>(inputs, "mask"), index_ = read<double>(inputs, "relative.index");
    sin_ = read<Scalar>(inputs, "rotary.sin"), cos_ = read<Scalar>(inputs, "rotary.cos");
    B_ = q_.extent(0), H_ = q_.extent(1), Q_ = q_.extent(2), K_ = k_.extent(2), d_ = q_.extent(3);
}

template <class Scalar>
void ToyAttention<Scalar>::attend() {
    if (family_ == Family::deberta) disentangled_scores();
    if (family_ == Family::roformer) rotary_scores();
    if (family_ == Family::transformer_xl) shifted_scores();
    softmax_and_context();
}

template <class Scalar>
bool ToyAttention<Scalar>::sees(Index b, Index i, Index j) const {
    if (family_ == Family::transformer_xl) return mask_(i, j) != 0;
    return mask_.shape.size() == 2 ? mask_(b, j) != 0 : mask_(b, i, j) != 0;
}

template <class Scalar>
void ToyAttention<Scalar>::disentangled_scores() {
    A c2c = pairs(), c2p = pairs(), p2c = pairs();
    scores_ = pairs();
    scale_ = 1 / std::sqrt(Scalar(3 * d_));
    each_pair([&](Index b, Index h, Index i, Index j) {
        for (Index c = 0; c < d_; ++c) {
            c2c(b, h, i, j) += q_(b, h, i, c) * k_(b, h, j, c);
            c2p(b, h, i, j) += q_(b, h, i, c) * k_r_(h, row(i, j), c);
            p2c(b, h, i, j) += k_(b, h, j, c) * q_r_(h, row(i, j), c);
        }
        scores_(b, h, i, j) = (c2c(b, h, i, j) + c2p(b, h, i, j) + p2c(b, h, i, j)) * scale_;
    });
    report("c2c", c2c), report("c2p", c2p), report("p2c", p2c);
}

template <class Scalar>
Array<Scalar> ToyAttention<Scalar>::rotated(const A& x, Scalar way) const {
    A y(x.shape);
    for (Index b = 0; b < B_; ++b)
        for (Index h = 0; h < H_; ++h)
            for (Index i = 0; i < x.extent(2); ++i)
                for (Index t = 0; 2 * t < d_; ++t) {
                    const Scalar a = x(b, h, i, 2 * t), c = x(b, h, i, 2 * t + 1), sine = way * sin_(i, t);
                    y(b, h, i, 2 * t) = a * cos_(i, t) - c * sine;
                    y(b, h, i, 2 * t + 1) = c * cos_(i, t) + a * sine;
                }
    return y;
}

template <class Scalar>
void ToyAttention<Scalar>::rotary_scores() {
    q_rot_ = rotated(q_, 1), k_rot_ = rotated(k_, 1);
    report("q_rot", q_rot_), report("k_rot", k_rot_);
    if (turns_values_) {
        v_ = rotated(v_, 1);
        report("v_rot", v_);
    }
    scale_ = 1 / std::sqrt(Scalar(d_));
    scores_ = pairs();
    each_pair([&](Index b, Index h, Index i, Index j) {
        for (Index c = 0; c < d_; ++c) scores_(b, h, i, j) += q_rot_(b, h, i, c) * k_rot_(b, h, j, c);
        scores_(b, h, i, j) *= scale_;
    });
}

template <class Scalar>
void ToyAttention<Scalar>::shifted_scores() {
    const Index R = r_k_.extent(1);
    A ac = pairs(), raw({B_, H_, Q_, R}), bd = pairs();
    for (Index b = 0; b < B_; ++b)
        for (Index h = 0; h < H_; ++h)
            for (Index i = 0; i < Q_; ++i)
                for (Index r = 0; r < R; ++r)
                    for (Index c = 0; c < d_; ++c) raw(b, h, i, r) += (q_(b, h, i, c) + bias_(h, c)) * r_k_(h, r, c);
    scale_ = 1 / std::sqrt(Scalar(d_));
    scores_ = pairs();
    each_pair([&](Index b, Index h, Index i, Index j) {
        for (Index c = 0; c < d_; ++c) ac(b, h, i, j) += (q_(b, h, i, c) + u_(h, c)) * k_(b, h, j, c);
        if (sees(b, i, j)) bd(b, h, i, j) = raw(b, h, i, j + Q_ - 1 - i);
        scores_(b, h, i, j) = (ac(b, h, i, j) + bd(b, h, i, j)) * scale_;
    });
    report("ac", ac), report("bd_raw", raw), report("bd", bd);
}

template <class Scalar>
void ToyAttention<Scalar>::softmax_and_context() {
    report("scores", scores_);
    probs_ = pairs(), context_ = A({B_, Q_, H_ * d_});
    if (keep_.empty()) {
        keep_ = pairs();
        for (Scalar& value : keep_.values) value = 1;
    }
    for (Index b = 0; b < B_; ++b)
        for (Index h = 0; h < H_; ++h)
            for (Index i = 0; i < Q_; ++i) {
                Scalar top = -std::numeric_limits<Scalar>::infinity(), sum = 0;
                for (Index j = 0; j < K_; ++j)
                    if (sees(b, i, j)) top = std::max(top, scores_(b, h, i, j));
                for (Index j = 0; j < K_; ++j)
                    if (sees(b, i, j)) sum += probs_(b, h, i, j) = std::exp(scores_(b, h, i, j) - top);
                for (Index j = 0; j < K_ && sum > 0; ++j) probs_(b, h, i, j) /= sum;
                for (Index j = 0; j < K_; ++j)
                    for (Index c = 0; c < d_; ++c)
                        context_(b, i, h * d_ + c) += probs_(b, h, i, j) * keep_(b, h, i, j) * v_(b, h, j, c);
            }
    report("probs", probs_), report("context", context_);
}

template class ToyAttention<float>;
template class ToyAttention<double>;

namespace {

/// The backward pass of the same attention.
template <class Scalar>
class ToyBackward : public ToyAttention<Scalar> {
    using Base = ToyAttention<Scalar>;
    using A = Array<Scalar>;
    using Base::B_;
    using Base::bias_;
    using Base::d_;
    using Base::each_pair;
    using Base::family_;
    using Base::H_;
    using Base::k_;
    using Base::K_;
    using Base::k_r_;
    using Base::k_rot_;
    using Base::keep_;
    using Base::pairs;
    using Base::probs_;
    using Base::q_;
    using Base::Q_;
    using Base::q_r_;
    using Base::q_rot_;
    using Base::r_k_;
    using Base::rotated;
    using Base::row;
    using Base::scale_;
    using Base::sees;
    using Base::trace_;
    using Base::turns_values_;
    using Base::u_;
    using Base::v_;

public:
    ToyBackward(Family family, const Trace& inputs, const Injection& injected, bool rotates_values)
        : Base(family, inputs, rotates_values),
          injected_(injected),
          d_context_(read<Scalar>(inputs, "grad.layer.0.context")) {}

    Trace run() {
        Base::attend();
        softmax_backward();
        if (family_ == Family::deberta) disentangled_backward();
        if (family_ == Family::roformer) rotary_backward();
        if (family_ == Family::transformer_xl) shifted_backward();
        return std::move(trace_);
    }

private:
    void report_gradient(const std::string& stem, const A& values) {
        trace_.template add<Scalar>("grad.layer.0." + stem, as_stage(values));
    }

    void softmax_backward() {
        A d_weights = pairs(), d_probs = pairs(), d_scores = pairs();
        d_v_ = A(v_.shape);
        const A v = injected_.is(130, 7) && turns_values_ ? rotated(v_, -1) : v_;
        each_pair([&](Index b, Index h, Index i, Index j) {
            const Scalar keep = keep_(b, h, i, j), mask = keep != 0 ? Scalar(1) : Scalar(0);
            const Scalar of_v = injected_.is(132, 0)   ? 1
                                : injected_.is(132, 1) ? mask
                                : injected_.is(132, 2) ? keep * keep
                                                       : keep;
            for (Index c = 0; c < d_; ++c) {
                d_weights(b, h, i, j) += d_context_(b, i, h * d_ + c) * v(b, h, j, c);
                if (injected_.is(133, 2) && Q_ == K_)
                    d_v_(b, h, i, c) += probs_(b, h, i, j) * keep * d_context_(b, j, h * d_ + c);
                else
                    d_v_(b, h, j, c) += probs_(b, h, i, j) * of_v * d_context_(b, i, h * d_ + c);
            }
            const Scalar of_probs = injected_.is(38, 3) || injected_.is(38, 6) ? Scalar(1)
                                    : injected_.is(132, 3)                     ? mask
                                    : injected_.is(132, 4)                     ? keep * keep
                                                                               : keep;
            d_probs(b, h, i, j) = d_weights(b, h, i, j) * of_probs;
        });
        A y = probs_;
        if (injected_.is(38, 1) || injected_.is(38, 2))
            each_pair([&](Index b, Index h, Index i, Index j) { y(b, h, i, j) *= keep_(b, h, i, j); });
        const A& dy = injected_.is(38, 2) ? d_weights : d_probs;
        for (Index n = 0; n < y.runs(); ++n) {
            Scalar sum = 0;
            for (Index j = 0; j < K_; ++j) {
                const Scalar weight = injected_.is(38, 4) ? keep_.run(n)[j] : Scalar(1);
                const Scalar probability = injected_.is(38, 7) ? Scalar(1) : y.run(n)[j];
                sum += probability * weight * (injected_.is(38, 5) ? d_weights : dy).run(n)[j];
            }
            if (injected_.is(38, 0)) sum = 0;
            if (injected_.is(38, 8)) sum /= static_cast<Scalar>(K_);
            for (Index j = 0; j < K_; ++j) {
                if (injected_.is(38, 9)) {  // over queries
                    sum = 0;
                    for (Index i = n / Q_ * Q_; i < (n / Q_ + 1) * Q_; ++i) sum += y.run(i)[j] * dy.run(i)[j];
                }
                d_scores.run(n)[j] = y.run(n)[j] * (dy.run(n)[j] - sum);
                if (injected_.is(38, 6)) d_scores.run(n)[j] *= keep_.run(n)[j];
            }
        }
        if (injected_.is(38, 6))
            each_pair([&](Index b, Index h, Index i, Index j) { d_probs(b, h, i, j) *= keep_(b, h, i, j); });
        report_gradient("probs", d_probs), report_gradient("scores", d_scores);
        d_sum_ = d_scores;
        for (Scalar& value : d_sum_.values) value *= scale_;
        if (injected_.is(129, 0)) d_sum_ = d_scores;
        if (injected_.is(129, 1))
            for (Scalar& value : d_sum_.values) value *= scale_;
        if (injected_.is(129, 2))
            for (std::size_t n = 0; n < d_sum_.values.size(); ++n)
                d_sum_.values[n] = d_scores.values[n] / std::sqrt(static_cast<Scalar>(d_));
    }

    /// 129: what the gradient of one term is multiplied with beside the others.
    Scalar scale_of(int left_out, int twice) const {
        return injected_.is(129, left_out) ? 1 / scale_ : injected_.is(129, twice) ? scale_ : Scalar(1);
    }
    /// The same of a whole gradient.
    A scaled_alone(A x, int left_out, int twice) const {
        const Scalar factor = scale_of(left_out, twice);
        for (Scalar& value : x.values) value *= factor;
        return x;
    }

    /// True if this write counts: of several to one place 78 keeps the last or the first.
    static void put(Scalar& place, char& written, Scalar value, bool overwrites, bool first) {
        if (!overwrites)
            place += value;
        else if (!written || !first)
            place = value;
        written = 1;
    }

    /// Gradients of pairs by rows of the table: for every query [B,H,Q,2k], or for every key [B,H,K,2k].
    A scattered(bool by_query, bool mirrored, bool overwrites = false) const {
        const Index lines = by_query ? Q_ : K_, rows = k_r_.extent(1);
        A all({B_, H_, lines, rows});
        std::vector<char> written(all.values.size(), 0);
        each_pair([&](Index b, Index h, Index i, Index j) {
            const Index r = mirrored ? row(j, i) : row(i, j), line = by_query ? i : j;
            Scalar& place = all(b, h, line, r);
            const Scalar scale = by_query ? scale_of(4, 7) : scale_of(5, 8);
            put(place, written[static_cast<std::size_t>(&place - all.values.data())], scale * d_sum_(b, h, i, j),
                injected_.is(78, 0) || injected_.is(78, 1) || overwrites, injected_.is(78, 1));
        });
        return all;
    }

    /// 135: the rows that offsets beyond the span are clamped to lose what came there.
    static A without_ends(A all, bool first, bool last) {
        for (Index n = 0; n < all.runs(); ++n) {
            if (first) all.run(n)[0] = 0;
            if (last) all.run(n)[all.width() - 1] = 0;
        }
        return all;
    }

    /// sum over samples of all^T x -> [H,2k,d].
    A table_gradient(const A& all, const A& x) const {
        A table({H_, all.width(), d_});
        const Index begin = injected_.is(79, 3) ? B_ - 1 : 0, end = injected_.is(79, 2) ? 1 : B_;
        for (Index b = begin; b < end; ++b)
            for (Index h = 0; h < H_; ++h)
                for (Index i = 0; i < all.extent(2); ++i)
                    for (Index r = 0; r < all.width(); ++r)
                        for (Index c = 0; c < d_; ++c) table(h, r, c) += all(b, h, i, r) * x(b, h, i, c);
        if (injected_.is(79, 4))
            for (Scalar& value : table.values) value /= static_cast<Scalar>(B_);
        return table;
    }

    /// The same pair by pair, each over the one before.
    A overwritten_table(bool by_query) const {
        const bool first = injected_.is(78, 3) || injected_.is(78, 5),
                   through_batch = injected_.is(78, 4) || injected_.is(78, 5);
        const A& x = by_query ? q_ : k_;
        A table(k_r_.shape), sample(k_r_.shape);
        std::vector<char> written(static_cast<std::size_t>(H_ * k_r_.extent(1)), 0);
        for (Index b = 0; b < B_; ++b) {
            for (Index h = 0; h < H_; ++h)
                for (Index i = 0; i < Q_; ++i)
                    for (Index j = 0; j < K_; ++j) {
                        char& before = written[static_cast<std::size_t>(h * k_r_.extent(1) + row(i, j))];
                        for (Index c = 0; c < d_ && !(before && first); ++c)
                            sample(h, row(i, j), c) = d_sum_(b, h, i, j) * x(b, h, by_query ? i : j, c);
                        before = 1;
                    }
            if (through_batch) continue;
            for (std::size_t n = 0; n < table.values.size(); ++n) table.values[n] += sample.values[n];
            sample = A(k_r_.shape);
            std::fill(written.begin(), written.end(), 0);
        }
        return through_batch ? sample : table;
    }

    void disentangled_backward() {
        const bool square = Q_ == K_;
        const A by_query =
            without_ends(scattered(true, injected_.is(79, 6) && square), injected_.is(135, 0) || injected_.is(135, 1),
                         injected_.is(135, 0) || injected_.is(135, 2));
        const A by_key =
            without_ends(scattered(false, injected_.is(79, 1) && square), injected_.is(135, 3), injected_.is(135, 3));
        A d_q(q_.shape), d_k(k_.shape);
        each_pair([&](Index b, Index h, Index i, Index j) {
            for (Index c = 0; c < d_; ++c) {
                const Scalar d_c2c = scale_of(3, 6) * d_sum_(b, h, i, j);
                const bool turned_q = injected_.is(133, 1) && square, turned_k = injected_.is(133, 0) && square;
                if (!injected_.is(131, 1)) d_q(b, h, turned_q ? j : i, c) += d_c2c * k_(b, h, turned_q ? i : j, c);
                if (!injected_.is(131, 3)) d_k(b, h, turned_k ? i : j, c) += d_c2c * q_(b, h, turned_k ? j : i, c);
            }
        });
        for (Index b = 0; b < B_; ++b)
            for (Index h = 0; h < H_; ++h)
                for (Index r = 0; r < k_r_.extent(1); ++r)
                    for (Index c = 0; c < d_; ++c) {
                        const Scalar of_c2p = injected_.is(131, 11) ? 2 : 1, of_p2c = injected_.is(131, 12) ? 2 : 1;
                        for (Index i = 0; i < Q_ && !injected_.is(131, 0); ++i)
                            d_q(b, h, i, c) += of_c2p * by_query(b, h, i, r) * k_r_(h, r, c);
                        for (Index j = 0; j < K_ && !injected_.is(131, 2); ++j)
                            d_k(b, h, j, c) += of_p2c * by_key(b, h, j, r) * q_r_(h, r, c);
                    }
        const bool overwrites = injected_.is(78) && injected_.variant >= 2;
        A by_query_there = injected_.is(79, 5) && square ? scattered(true, true) : by_query;
        const A by_key_there = injected_.is(79, 0) && square ? scattered(false, true) : by_key;
        if (injected_.is(78, 6)) by_query_there = scattered(true, false, true);
        if (injected_.is(135, 4)) by_query_there = without_ends(by_query, true, true);
        const A d_k_r =
            overwrites && !injected_.is(78, 6) ? overwritten_table(true) : table_gradient(by_query_there, q_);
        report_gradient("k_r", scaled_alone(d_k_r, 13, 14));
        report_gradient(
            "q_r", overwrites && !injected_.is(78, 6) ? overwritten_table(false) : table_gradient(by_key_there, k_));
        report_gradient("v", d_v_), report_gradient("k", scaled_alone(d_k, 11, 12));
        report_gradient("q", scaled_alone(d_q, 9, 10));
    }

    /// Channels t and t + d/2 side by side, or apart again.
    A in_halves(const A& x, bool beside) const {
        A y(x.shape);
        for (Index n = 0; n < x.runs(); ++n)
            for (Index c = 0; c < d_; ++c) {
                const Index apart = c % 2 * (d_ / 2) + c / 2;
                y.run(n)[beside ? c : apart] = x.run(n)[beside ? apart : c];
            }
        return y;
    }

    void rotary_backward() {
        A d_q(q_.shape), d_k(k_.shape);
        each_pair([&](Index b, Index h, Index i, Index j) {
            for (Index c = 0; c < d_; ++c) {
                const bool turned_q = injected_.is(133, 1), turned_k = injected_.is(133, 0);
                const A &k = injected_.is(130, 5) ? k_ : k_rot_, &q = injected_.is(130, 6) ? q_ : q_rot_;
                d_q(b, h, turned_q ? j : i, c) += d_sum_(b, h, i, j) * k(b, h, turned_q ? i : j, c);
                d_k(b, h, turned_k ? i : j, c) += d_sum_(b, h, i, j) * q(b, h, turned_k ? j : i, c);
            }
        });
        const auto turned_back = [&](const A& x, bool forward, bool not_at_all) {
            if (injected_.is(130, 9)) return rotated(rotated(x, -1), -1);
            if (injected_.is(130, 10)) return in_halves(rotated(in_halves(x, true), -1), false);
            return not_at_all ? x : rotated(x, forward ? 1 : -1);
        };
        const bool forward = injected_.is(130, 0), none = injected_.is(130, 1);
        const bool turns = turns_values_ || injected_.is(130, 4);
        report_gradient("v", turns ? turned_back(d_v_, forward || injected_.is(130, 8), none) : d_v_);
        report_gradient("k", scaled_alone(turned_back(d_k, forward || injected_.is(130, 3), none), 11, 12));
        report_gradient("q", scaled_alone(turned_back(d_q, forward || injected_.is(130, 2), none), 9, 10));
    }

    void shifted_backward() {
        const Index R = r_k_.extent(1);
        A raw({B_, H_, Q_, R}), d_q(q_.shape), d_k(k_.shape), with_v(q_.shape), d_u(u_.shape), d_bias(u_.shape);
        each_pair([&](Index b, Index h, Index i, Index j) {
            const Index off = injected_.is(134, 2) ? 1 : injected_.is(134, 3) ? -1 : 0;
            const Index to = injected_.is(134, 0) ? j : injected_.is(134, 1) ? j - Q_ + 1 + i : j + Q_ - 1 - i + off;
            if (sees(b, i, j) && to >= 0 && to < R) raw(b, h, i, to) = scale_of(4, 7) * d_sum_(b, h, i, j);
            for (Index c = 0; c < d_; ++c) {
                const Scalar d_ac = scale_of(3, 6) * d_sum_(b, h, i, j);
                const Scalar bias = injected_.is(131, 6) ? Scalar(0) : injected_.is(131, 7) ? bias_(h, c) : u_(h, c);
                d_q(b, h, i, c) += d_ac * k_(b, h, j, c);
                d_k(b, h, j, c) += d_ac * (q_(b, h, i, c) + bias);
            }
        });
        const Index begin = injected_.is(79, 3) ? B_ - 1 : 0, end = injected_.is(79, 2) ? 1 : B_;
        const Scalar part = injected_.is(79, 4) ? Scalar(1) / static_cast<Scalar>(B_) : Scalar(1);
        for (Index b = 0; b < B_; ++b)
            for (Index h = 0; h < H_; ++h)
                for (Index i = 0; i < Q_; ++i)
                    for (Index c = 0; c < d_; ++c) {
                        const bool counts = b >= begin && b < end;
                        if (counts) d_u(h, c) += part * d_q(b, h, i, c);
                        Scalar of_positions = 0;
                        for (Index r = 0; r < R; ++r) of_positions += raw(b, h, i, r) * r_k_(h, r, c);
                        if (counts) d_bias(h, c) += part * of_positions;
                        if (injected_.is(131, 5)) d_q(b, h, i, c) = 0;
                        if (!injected_.is(131, 4)) d_q(b, h, i, c) += of_positions;
                        if (injected_.is(131, 13)) d_q(b, h, i, c) += of_positions;
                        const Scalar bias = injected_.is(131, 8)   ? Scalar(0)
                                            : injected_.is(131, 9) ? u_(h, c)
                                                                   : bias_(h, c);
                        with_v(b, h, i, c) = q_(b, h, i, c) + bias;
                    }
        if (injected_.is(131, 10)) std::swap(d_bias, d_u);
        if (injected_.is(131, 14)) d_bias = d_u = plus(d_bias, d_u);
        report_gradient("bias.v", d_bias), report_gradient("bias.u", d_u);
        report_gradient("r_k", table_gradient(raw, with_v));
        report_gradient("v", d_v_), report_gradient("k", scaled_alone(d_k, 11, 12));
        report_gradient("q", scaled_alone(d_q, 9, 10));
    }

    Injection injected_;
    A d_context_, d_v_, d_sum_;
};

}  // namespace

template <class Scalar>
Trace run_toy_attention(Family family, const Trace& inputs, const Injection& injected, bool rotates_values) {
    return ToyBackward<Scalar>(family, inputs, injected, rotates_values).run();
}

template Trace run_toy_attention<float>(Family, const Trace&, const Injection&, bool);
template Trace run_toy_attention<double>(Family, const Trace&, const Injection&, bool);

}  // namespace locus::conformance::toy
