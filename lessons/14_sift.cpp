// Lesson 14: SiFT
//
// Question: The same noise is large for a short word vector and small for a long one. How does SiFT treat both alike?
// Before: 12. Minutes: 12. Page: none.
#include <cmath>
#include <functional>
#include <limits>

#include "core/models/layers.h"
#include "core/training/sift.h"
#include "lessons/support/print.h"
#include "lessons/support/seeded.h"
#include "lessons/support/sentence_to_learn.h"

using namespace locus;

namespace {

constexpr double kEps = 1e-7;  // under the root of every norm here

std::string percent(double share) { return lesson::text_of(100 * share, "%.3f") + " %"; }

/// (f(h) - f(-h)) / 2h, and what h twice as large would change: three times its error for small h.
std::pair<double, double> slope(const std::function<double(double)>& f, double h) {
    const double near = (f(h) - f(-h)) / (2 * h);
    return {near, std::abs((f(2 * h) - f(-2 * h)) / (4 * h) - near)};
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "14", "SiFT",
        "The same noise is large for a short word vector and small for a long one. How does SiFT treat both alike?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "Fine-tuning gets steadier if small changes of the word vectors change no answer: add noise in the "
            "direction that hurts most, and punish the change. But vectors differ in length \u2016x\u2016 (root of the "
            "sum of squares). joowan1108's example: apple 0.1, democracy 10, noise 0.01. SiFT first takes off the mean "
            "and divides by the standard deviation, norm(x), and adds its noise then:");
        const Index width = 192;
        lesson::Seeded seeded(14);
        Matrix<double> words = seeded.gaussians(2, width);
        words.row(0) *= 0.1 / words.row(0).norm();
        words.row(1) *= 10 / words.row(1).norm();
        const RowVector<double> noise = 0.01 * seeded.gaussians(1, width).row(0).normalized();
        const Matrix<double> normed = sift_normalise<double>(words);
        const char* const names[] = {"apple", "democracy"};
        std::vector<std::vector<std::string>> rows = {
            {"word", "\u2016x\u2016", "noise / \u2016x\u2016", "\u2016norm(x)\u2016", "noise / \u2016norm(x)\u2016"}};
        for (Index w = 0; w < 2; ++w)
            rows.push_back({names[w], lesson::text_of(words.row(w).norm(), "%.1f"),
                            percent(noise.norm() / words.row(w).norm()), lesson::text_of(normed.row(w).norm(), "%.2f"),
                            percent(noise.norm() / normed.row(w).norm())});
        lesson.table("the same noise on two words of 192 channels:", rows);
        const double share = noise.norm() / words.row(0).norm(), other = noise.norm() / words.row(1).norm();
        lesson.prove("raw: apple's share over democracy's, minus 100", share / other - 100,
                     100 * width * std::numeric_limits<double>::epsilon());
        // The eps under the root shortens a vector of variance v by eps / (2 v).
        const double shortest = words.row(0).squaredNorm() / width - std::pow(words.row(0).mean(), 2);
        const double far = (normed.rowwise().norm().array() / std::sqrt(double(width)) - 1).abs().maxCoeff();
        lesson.prove("after norm: farthest length from \u221a192, relatively; \u03b5 = 1e-7 allows", far,
                     kEps / (2 * shortest));
        lesson::SentenceToLearn text("the capital of france is [MASK].", "paris");
        const Matrix<double> all = text.values.matrix(kWordTable).middleRows(0, 6000);
        const Norm<double> own{text.values.row("embeddings.LayerNorm.weight"),
                               text.values.row("embeddings.LayerNorm.bias")};
        const auto spread = [](const Matrix<double>& vectors) {
            return vectors.rowwise().norm().maxCoeff() / vectors.rowwise().norm().minCoeff();
        };
        lesson.correct("joowan1108, DeBERTa", "a norm like layer norm before the noise",
                       "layer norm without its \u03b3 and \u03b2");
        lesson.say("Of 6000 word vectors of tiny-v3 the longest is " + lesson.number("raw", spread(all), "%.2f") +
                   " times as long as the shortest, and " +
                   lesson.number("norm", spread(sift_normalise<double>(all)), "%.2f") +
                   " times after norm. The model's own norm, with \u03b3 and \u03b2, comes after the noise:");
        lesson.prove_at_least("after \u03b3 and \u03b2 instead: longest over shortest",
                              spread(layer_norm<double>(all, own, kEps)), 1.1);

        lesson.say(
            "One real step, \"the capital of france is [MASK].\" in tiny-v3, where [MASK] hides paris. Start at "
            "random: \u03b40 normal, \u03c3 = 0.01, cut at \u00b12\u03c3. The loss compares the answer p' for norm(x) "
            "+ \u03b4 with the clean p, \u2212\u03a3 p log p'; its gradient g says where it grows. Go there by \u03b7 "
            "= 0.0001, g divided by the largest entry of its own word (of which the review says nothing):");
        Parameters<double> gradients = text.values.zeros();
        const SiftSettings settings;
        const SiftTape<double> tape =
            text.sift(settings.deviation * seeded.gaussians(text.batch.rows(), width), gradients);
        const Matrix<double> step = tape.delta - tape.delta0;
        const Matrix<double> sizes = tape.grad.cwiseAbs().rowwise().maxCoeff(),
                             steps = step.cwiseAbs().rowwise().maxCoeff();
        rows = {{"word", "largest of |g|", "step \u03b7\u00b7g", "step of SiFT"}};
        for (const auto& [name, w] : {std::pair<const char*, Index>{"capital", 2}, {"france", 4}, {"[MASK]", 6}})
            rows.push_back({name, lesson::text_of(sizes(w), "%.2e"), lesson::text_of(settings.rate * sizes(w), "%.2e"),
                            lesson::text_of(steps(w), "%.2e")});
        lesson.table("largest entries of three of its words:", rows);
        const auto loss = [&](const Matrix<double>& delta) {
            return lesson::cross_entropy(tape.logits_clean, text.answer(text.values, tape.xhat + delta).logits);
        };
        const auto [along, off] = slope([&](double h) { return loss(tape.delta0 + h * step / step.norm()); }, 1e-2);
        lesson.prove("g along the step against a difference of two losses",
                     (tape.grad.array() * step.array()).sum() / step.norm() - along, off);
        // Each entry is divided by 1e-6 more than its word's largest, so that a gradient of 0 does no harm.
        lesson.prove("largest entry of each word's step over \u03b7, minus 1",
                     (steps.array() / settings.rate - 1).abs().maxCoeff(), 1e-6 / sizes.minCoeff());
        const double entropy = loss(0 * step);
        lesson.prove_at_least(
            "the step makes it worse: how far p' is from p, Σ p (log p − log p'), over that by noise alone",
            (loss(tape.delta) - entropy) / (loss(tape.delta0) - entropy), 1);
        const RowVector<double> s{{1, 2, 0}}, t{{0.5, 1.5, 1}};
        const auto symmetric = symmetric_cross_entropy<double>;
        lesson.say(
            "The model then learns its task and, \u03bb = 5 times, \u2212\u03a3 p log p' \u2212 \u03a3 p' log p, which "
            "the code calls symmetric KL. Equal answers do not make it 0, nor least: here they give " +
            lesson.number("equal answers", 2 * entropy, "%.3f") + ", the noise " +
            lesson.number("noise", symmetric(tape.logits0.row(0), tape.logits_clean.row(0)), "%.3f") +
            ", noise and step " + lesson.number("step", tape.loss, "%.3f") +
            ". But its gradient, where the probabilities in front of the logs are held constant, is p' \u2212 p: 0 "
            "where the answers agree:");
        lesson.prove("that loss for logits (1, 2, 0) and (0.5, 1.5, 1), minus 2.178335", symmetric(s, t) - 2.178335,
                     5e-7);
        lesson.say(
            "Who learns? \u03b4 is added to norm(x) as to a constant: the vectors of words learn from the clean pass "
            "alone, everything after them from both. Take the row of france. If the noisy pass keeps its old "
            "norm(x):");
        const Index france = text.batch.tokens[4];
        const RowVector<double> way = gradients.matrix(kWordTable).row(france).normalized();
        const auto total = [&](double h, bool moves) {
            Parameters<double> moved = text.values;
            moved.matrix(kWordTable).row(france) += h * way;
            const Matrix<double> x = text.xhat(moved);
            const auto clean = text.answer(moved, x);
            const auto noisy = text.answer(moved, (moves ? x : tape.xhat) + tape.delta);
            return mean_loss(clean.losses) + settings.weight * (lesson::cross_entropy(tape.logits, clean.logits) +
                                                                lesson::cross_entropy(tape.logits_clean, noisy.logits));
        };
        const double given = gradients.matrix(kWordTable).row(france).norm();
        const auto [held, error] = slope([&](double h) { return total(h, false); }, 1e-3);
        lesson.prove("its gradient against a difference of two whole losses", given - held, error);
        lesson.prove_at_least(
            "if the noisy pass moved, too: its error, as a multiple of the one above",
            std::abs(given - slope([&](double h) { return total(h, true); }, 1e-3).first) / std::abs(given - held),
            100);

        lesson.ask(
            "The gradient of a word is (1, \u22122, \u00bd, 0) and \u03b7 = 0.1. What is the second entry of the step?",
            sift_perturb<double>(Matrix<double>::Zero(1, 4), Matrix<double>{{1, -2, 0.5, 0}}, 0.1)(0, 1), 1e-4,
            "\u22122 is the largest entry: it becomes \u2212\u03b7.");
        lesson.choose("Noise of length 0.01 on raw vectors changes which word more, relative to its length?",
                      {"apple, of length 0.1", "democracy, of length 10"}, share > other ? 0 : 1,
                      "0.01 / 0.1 is 10 %.");
        lesson.exercise("Start at \u03b40 = 0 instead of at random. Where does the step go?", [&] {
            const Matrix<double> nowhere = text.sift(0 * step, gradients).delta;
            lesson.say("Without noise p' is p, and g, which begins with p' \u2212 p, points nowhere: hence the noise.");
            lesson.prove_equal("entries of the step that are not 0",
                               static_cast<double>((nowhere.array() != 0).count()), 0);
        });
        lesson.end({{"core/training/sift.h", "sift_step"}},
                   "He et al. 2021, section 4; microsoft/DeBERTa sift.py; joowan1108, DeBERTa.", "15");
    });
}
