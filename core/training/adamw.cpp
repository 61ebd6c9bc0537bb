#include "core/training/adamw.h"

#include <algorithm>
#include <cmath>

namespace locus {

template <class Scalar>
AdamW<Scalar>::AdamW(const Parameters<Scalar>& like, AdamWSettings settings)
    : settings_(settings), first_(like.zeros()), second_(like.zeros()) {}

template <class Scalar>
void AdamW<Scalar>::step(Parameters<Scalar>& values, const Parameters<Scalar>& gradients, double rate,
                         ThreadPool& pool) {
    LOCUS_CHECK(values.size() == first_.size() && gradients.size() == first_.size(),
                "AdamW: " + std::to_string(values.size()) + " values and " + std::to_string(gradients.size()) +
                    " gradients, expected " + std::to_string(first_.size()));
    ++steps_;
    const auto beta1 = Scalar(settings_.beta1), beta2 = Scalar(settings_.beta2), eps = Scalar(settings_.eps);
    const auto correction1 = Scalar(1 - std::pow(settings_.beta1, static_cast<double>(steps_)));
    const auto correction2 = Scalar(1 - std::pow(settings_.beta2, static_cast<double>(steps_)));
    const auto& entries = values.entries();
    pool.parallel_for(static_cast<Index>(entries.size()), [&](Index at, int) {
        const auto& one = entries[static_cast<std::size_t>(at)];
        const bool decays = !one.name.ends_with("bias") && !one.name.ends_with("LayerNorm.weight");
        const auto decay = Scalar(decays ? settings_.weight_decay : 0);
        auto value = values.numbers().segment(one.first, one.size).array();
        const auto gradient = gradients.numbers().segment(one.first, one.size).array();
        auto first = first_.numbers().segment(one.first, one.size).array();
        auto second = second_.numbers().segment(one.first, one.size).array();
        first = beta1 * first + (1 - beta1) * gradient;
        second = beta2 * second + (1 - beta2) * gradient * gradient;
        value -= Scalar(rate) * ((first / correction1) / ((second / correction2).sqrt() + eps) + decay * value);
    });
}

template <class Scalar>
void AdamW<Scalar>::restore(Index steps, Parameters<Scalar> first, Parameters<Scalar> second) {
    LOCUS_CHECK(first.size() == first_.size() && second.size() == second_.size(),
                "AdamW: the saved moments have " + std::to_string(first.size()) + " numbers, expected " +
                    std::to_string(first_.size()));
    steps_ = steps;
    first_ = std::move(first);
    second_ = std::move(second);
}

template <class Scalar>
double gradient_norm(const Parameters<Scalar>& gradients) {
    double sum = 0;
    for (const auto& one : gradients.entries())
        sum += gradients.numbers().segment(one.first, one.size).template cast<double>().squaredNorm();
    return std::sqrt(sum);
}

template <class Scalar>
double clip_gradients(Parameters<Scalar>& gradients, double limit) {
    LOCUS_CHECK(limit > 0,
                "gradients cannot be clipped to a length of " + std::to_string(limit) + ", expected above 0");
    const double norm = gradient_norm(gradients);
    if (norm > limit) gradients.numbers() *= Scalar(limit / norm);
    return norm;
}

double learning_rate(double peak, Index step, Index warmup, Index total) {
    if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(std::max<Index>(1, warmup));
    const auto left = static_cast<double>(total - step),
               whole = static_cast<double>(std::max<Index>(1, total - warmup));
    return peak * std::clamp(left / whole, 0.0, 1.0);
}

template class AdamW<float>;
template class AdamW<double>;
template double gradient_norm<float>(const Parameters<float>&);
template double gradient_norm<double>(const Parameters<double>&);
template double clip_gradients<float>(Parameters<float>&, double);
template double clip_gradients<double>(Parameters<double>&, double);

}  // namespace locus
