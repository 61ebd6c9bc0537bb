#include "core/models/word_logits.h"
#include "tests/central_differences.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/naive_reference.h"

namespace locus::test::test_label_smoothing {

TEST_CASE("label smoothing: no logits go below the entropy, and those of q' reach it", "[label_smoothing][law]") {
    for (const SmoothingShare share : {SmoothingShare::all_words, SmoothingShare::other_words})
        for (const double epsilon : {0.0, 0.1, 0.5})
            for (const Index words : {2, 3, 50}) {
                const LabelSmoothing smoothing{epsilon, share};
                const double least = least_smoothed_loss(words, smoothing);
                const RowVector<double> target = smoothed_target(words, 1, smoothing);
                CHECK(std::abs(target.sum() - 1) <= 1e-15 * static_cast<double>(words));
                const RowVector<double> best = (target.array() + 1e-300).log() + 3;  // any constant may be added
                CHECK(std::abs(smoothed_loss<double>(best, 1, smoothing) - least) <= 1e-13);
                for (unsigned seed = 0; seed < 20; ++seed) {
                    const RowVector<double> worse = best + random_rows(1, words, seed, 0.1).row(0);
                    CHECK(smoothed_loss<double>(worse, 1, smoothing) >= least - 1e-13);
                    // Only without smoothing may a logit run away for free.
                    if (epsilon > 0) CHECK(smoothed_loss<double>(worse, 1, smoothing) > least);
                }
            }
}

TEST_CASE("label smoothing: the minimum in closed form", "[label_smoothing][golden]") {
    // Szegedy: one word of 1 - e + e/V, V - 1 words of e/V.  tensor2tensor: one of 1 - e, V - 1 of e/(V-1).
    const double right = 1 - 0.1 + 0.1 / 4, wrong = 0.1 / 4;
    CHECK(std::abs(least_smoothed_loss(4, {0.1, SmoothingShare::all_words}) +
                   (right * std::log(right) + 3 * wrong * std::log(wrong))) <= 1e-15);
    CHECK(std::abs(least_smoothed_loss(4, {0.1, SmoothingShare::other_words}) +
                   (0.9 * std::log(0.9) + 0.1 * std::log(0.1 / 3))) <= 1e-15);
    CHECK(least_smoothed_loss(37000, {0.0, SmoothingShare::other_words}) == 0);
}

TEST_CASE("label smoothing: equals its loops, and cross entropy at epsilon 0", "[label_smoothing][law]") {
    const RowVector<double> logits = random_rows(1, 9, 7, 3).row(0);
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    double loss = 0;
    for (Index w = 0; w < 9; ++w) loss -= (w == 4 ? 0.9 + 0.1 / 9 : 0.1 / 9) * (logits[w] - std::log(sum));
    CHECK(std::abs(smoothed_loss<double>(logits, 4, {}) - loss) <= 1e-14);
    CHECK(std::abs(smoothed_loss<float>(logits.cast<float>(), 4, {}) - loss) <= 1e-5);
    CHECK(std::abs(smoothed_loss<double>(logits, 4, {0, SmoothingShare::other_words}) - (std::log(sum) - logits[4])) <=
          1e-14);
}

TEST_CASE("label smoothing: huge logits do not overflow, a hidden word of no share adds nothing", "[label_smoothing]") {
    const RowVector<float> huge{{3000, 2990, -4000}};
    CHECK(smoothed_loss<float>(huge, 0, {0.0, SmoothingShare::all_words}) == Approx(4.5398e-5).epsilon(1e-2));
    const RowVector<double> hidden{{1, 1, -std::numeric_limits<double>::infinity()}};
    CHECK(smoothed_loss<double>(hidden, 0, {0.0, SmoothingShare::all_words}) == Approx(std::log(2.0)));
    const RowVector<double> broken{{1, std::nan(""), 1}};
    CHECK(std::isnan(smoothed_loss<double>(broken, 0, {})));
}

TEST_CASE("label smoothing: what cannot be is refused with one sentence", "[label_smoothing][bad input]") {
    CHECK(refusal([] { smoothed_target(1, 0, {}); }, Fault::usage) == "label smoothing: 1 words, expected 2 or more");
    CHECK(refusal([] { smoothed_target(3, 3, {}); }, Fault::usage) == "label smoothing: label 3, expected 0 to 2");
    CHECK(refusal(
              [] {
                  smoothed_target(3, 0, {1.0, SmoothingShare::all_words});
              },
              Fault::usage) == "label smoothing: epsilon is 1.000000, expected 0 or more, below 1");
    CHECK(refusal(
              [] {
                  smoothed_target(3, 0, {std::nan(""), SmoothingShare::all_words});
              },
              Fault::usage)
              .find("expected 0 or more") != std::string::npos);
    CHECK(refusal(
              [] {
                  smoothed_losses(Tensor<float>({1, 2, 5}), IndexTensor({2, 1}), {});
              },
              Fault::usage) ==
          "label smoothing: labels are [2, 1] for logits of [1, 2, 5], expected [B, T] for [B, T, V]");
}

TEST_CASE("label smoothing backward: central differences; the smoothed target itself pulls nowhere",
          "[label_smoothing][backward]") {
    for (const SmoothingShare share : {SmoothingShare::all_words, SmoothingShare::other_words})
        for (const double epsilon : {0.0, 0.1}) {
            const LabelSmoothing smoothing{epsilon, share};
            RowVector<double> logits = random_rows(1, 7, 3, 2);
            const RowVector<double> d_logits = smoothed_loss_backward<double>(logits, 2, smoothing);
            check_differences("logits", logits, d_logits, [&] { return smoothed_loss<double>(logits, 2, smoothing); });
            CHECK(std::abs(d_logits.sum()) <= 1e-15 * 10);
            const RowVector<float> single = smoothed_loss_backward<float>(logits.cast<float>(), 2, smoothing);
            CHECK(distance(single, d_logits) <= 1e-6);
            if (epsilon == 0) continue;
            const RowVector<double> best = smoothed_target(7, 2, smoothing).array().log() + 3;
            CHECK(max_abs(smoothed_loss_backward<double>(best, 2, smoothing)) <= 1e-15);
        }
}

}  // namespace locus::test::test_label_smoothing
