// The optimiser and the learning rate by their formulas.
#include <catch2/catch.hpp>

#include "core/training/adamw.h"

namespace locus::test::test_adamw {

TEST_CASE("AdamW: the first step moves every number by the rate, against its gradient, and decays weights alone",
          "[training][law]") {
    Parameters<double> values({{"a.weight", {2, 2}}, {"a.bias", {2}}, {"LayerNorm.weight", {2}}});
    values.numbers() << 1, 2, 3, 4, 5, 6, 7, 8;
    Parameters<double> gradients = values.zeros();
    gradients.numbers() << 3, -2, 1, 0.5, -1, 2, 4, -4;
    AdamW<double> optimiser(values, {0.9, 0.999, 0, 0.1});
    ThreadPool pool(1);
    optimiser.step(values, gradients, 0.01, pool);
    const double expected[] = {1 - 0.01 * 1.1, 2 + 0.01 * 0.8, 3 - 0.01 * 1.3, 4 - 0.01 * 1.4,
                               5 + 0.01,       6 - 0.01,       7 - 0.01,       8 + 0.01};
    for (Index n = 0; n < 8; ++n) CHECK(std::abs(values.numbers()[n] - expected[n]) <= 1e-12);
    // The second step by the formula.
    Parameters<double> before = values;
    gradients.numbers() << 1, 1, 1, 1, 1, 1, 1, 1;
    optimiser.step(values, gradients, 0.01, pool);
    const double m = (0.9 * 0.1 * 3 + 0.1) / (1 - 0.81), v = (0.999 * 0.001 * 9 + 0.001) / (1 - 0.999 * 0.999);
    CHECK(std::abs(values.numbers()[0] -
                   (before.numbers()[0] - 0.01 * (m / std::sqrt(v) + 0.1 * before.numbers()[0]))) <= 1e-12);
}

TEST_CASE("learning rate: up over the warm-up, down to 0, and gradients are cut to their length", "[training][law]") {
    CHECK(learning_rate(2, 0, 4, 12) == 0.5);
    CHECK(learning_rate(2, 3, 4, 12) == 2);
    CHECK(learning_rate(2, 4, 4, 12) == 2);
    CHECK(learning_rate(2, 8, 4, 12) == 1);
    CHECK(learning_rate(2, 12, 4, 12) == 0);
    CHECK(learning_rate(2, 20, 4, 12) == 0);
    Parameters<double> gradients({{"a", {2}}});
    gradients.numbers() << 3, 4;
    CHECK(clip_gradients(gradients, 10) == 5);
    CHECK(gradients.numbers()[0] == 3);
    CHECK(clip_gradients(gradients, 1) == 5);
    CHECK(std::abs(gradients.numbers()[1] - 0.8) <= 1e-15);
}

}  // namespace locus::test::test_adamw
