#pragma once
// The optimiser: Adam with decoupled weight decay, after the gradient's length has been limited.
#include "core/fast/thread_pool.h"
#include "core/training/parameters.h"

namespace locus {

struct AdamWSettings {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0.01;
};

/// Moments of every parameter, and how many steps they have seen.
template <class Scalar>
class AdamW {
public:
    /// Biases and the weights of norms are not decayed, as in microsoft/DeBERTa's optimiser groups.
    AdamW(const Parameters<Scalar>& like, AdamWSettings settings);

    /// m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  with both divided by 1 - b^t:
    /// value -= rate (m / (sqrt(v) + eps) + decay value).  Source: Loshchilov and Hutter 2019, algorithm 2; torch
    /// AdamW. Throws Error(usage) if the parameters are not those it was made for.
    void step(Parameters<Scalar>& values, const Parameters<Scalar>& gradients, double rate, ThreadPool& pool);

    Index steps() const { return steps_; }
    const Parameters<Scalar>& first() const { return first_; }
    const Parameters<Scalar>& second() const { return second_; }
    /// Goes on from a saved state.
    void restore(Index steps, Parameters<Scalar> first, Parameters<Scalar> second);

private:
    AdamWSettings settings_;
    Parameters<Scalar> first_, second_;
    Index steps_ = 0;
};

/// Euclidean length of all gradients together, summed in double in a fixed order.
template <class Scalar>
double gradient_norm(const Parameters<Scalar>& gradients);
/// Scales them so that the length is at most `limit`; returns the length they had.  Source: Pascanu et al. 2013.
template <class Scalar>
double clip_gradients(Parameters<Scalar>& gradients, double limit);

/// The learning rate of step s (0 is the first): peak (s + 1) / warmup while s < warmup, so that the first step moves
/// and step warmup - 1 has the peak, then peak (total - s) / (total - warmup), 0 from s = total on.  The fall is that
/// of transformers' get_linear_schedule_with_warmup; the rise there is peak s / warmup, 0 at the first step.
double learning_rate(double peak, Index step, Index warmup, Index total);

extern template class AdamW<float>;
extern template class AdamW<double>;

}  // namespace locus
