#pragma once
// What a step reports of the losses of its targets.
#include <vector>

namespace locus {

/// In double; 0 where there are no targets.
template <class Scalar>
double mean_loss(const std::vector<Scalar>& losses) {
    double sum = 0;
    for (const Scalar loss : losses) sum += static_cast<double>(loss);
    return losses.empty() ? 0 : sum / static_cast<double>(losses.size());
}

}  // namespace locus
