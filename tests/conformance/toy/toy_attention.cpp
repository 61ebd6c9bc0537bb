#include "tests/conformance/toy/toy_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::conformance::toy {

template <class Scalar>
ToyAttention<Scalar>::ToyAttention(Family family, const Trace& inputs, bool turns_values)
    : family_(family), inputs_(inputs), turns_values_(turns_values) {
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

}  // namespace locus::conformance::toy
