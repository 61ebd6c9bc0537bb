#pragma once
// What every version of the ladder is given, and the context that it must compute.
#include <catch2/catch.hpp>

#include <cmath>
#include <random>

#include "core/attention/disentangled.h"
#include "core/products.h"
#include "cuda/ladder/kernel_versions.h"
#include "tests/max_abs.h"

namespace locus::test {

inline cuda::FusedInput ladder_input(Index queries, Index keys, Index width, Index rows) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    const auto tensor = [&](const Shape& shape) {
        Tensor<float> made(shape);
        for (Index n = 0; n < made.size(); ++n) made.data()[n] = normal(random);
        return made;
    };
    cuda::FusedInput input;
    input.q = tensor({2, 3, queries, width});
    input.k = tensor({2, 3, keys, width});
    input.v = tensor({2, 3, keys, width});
    input.k_r = tensor({3, rows, width});
    input.q_r = tensor({3, rows, width});
    input.scale = static_cast<float>(1 / score_divisor<double>(3, width));
    return input;
}

/// Scores carry the error of three sums, which shares turn into twice as much; then the sum over the keys.
inline void check_ladder_context(const cuda::FusedInput& input, const RelativeBuckets& buckets,
                                 const Tensor<float>& found) {
    REQUIRE(found.shape() == input.q.shape());
    const Index heads = input.q.extent(1), width = input.q.extent(3), keys = input.k.extent(2);
    for (Index at = 0; at < input.q.extent(0) * heads; ++at) {
        const auto wide = [](const auto& view) { return Matrix<double>(view.template cast<double>()); };
        const Matrix<double> q = wide(input.q.matrix(at)), k = wide(input.k.matrix(at)), v = wide(input.v.matrix(at)),
                             k_r = wide(input.k_r.matrix(at % heads)), q_r = wide(input.q_r.matrix(at % heads));
        const Matrix<double> scores = (content_to_content<double>(q, k) + content_to_position<double>(q, k_r, buckets) +
                                       position_to_content<double>(k, q_r, buckets)) *
                                      input.scale;
        const Matrix<double> context = times<double>(masked_softmax<double>(scores, Mask()), v);
        const auto longest = [](const Matrix<double>& rows) { return rows.rowwise().norm().maxCoeff(); };
        const double products = longest(q) * longest(k) + longest(q) * longest(k_r) + longest(k) * longest(q_r);
        const double of_scores = input.scale * (double(width) + 4) * 0x1p-24 * products;
        const double allowed = max_abs(v) * (2 * of_scores + (2 * double(keys) + 8) * 0x1p-24);
        const Matrix<double> gap = found.matrix(at).cast<double>() - context;
        INFO("head " << at << ": largest difference " << max_abs(gap) << ", allowed " << allowed);
        CHECK((gap.allFinite() && max_abs(gap) <= allowed));
    }
}

/// launch(version, input, buckets) -> context, for every version of which takes(version) is true.
template <class Takes, class Launch>
void ladder_check(Takes takes, Launch launch) {
    for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{1, 1}, {33, 33}, {7, 40}, {40, 7}})
        for (const bool logarithmic : {false, true})
            for (const cuda::NamedVersion& named : cuda::kKernelVersions) {
                if (!takes(named.version)) continue;
                INFO("version " << named.name << ", " << queries << " x " << keys << (logarithmic ? ", log" : ""));
                const RelativeBuckets buckets =
                    logarithmic ? RelativeBuckets::logarithmic(queries, keys, 8, 32, OffsetClamp::official)
                                : RelativeBuckets::clamped(queries, keys, 8);
                const cuda::FusedInput input = ladder_input(queries, keys, 32, 16);
                check_ladder_context(input, buckets, launch(named.version, input, buckets));
            }
}

}  // namespace locus::test
