// Lesson 14: SiFT
//
// Question: The same small noise is a whisper to one word and a shout to another. How does SiFT make it fair?
// Before: 12. Minutes: 10. Page: none.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/attention/softmax.h"
#include "core/io/checkpoint.h"
#include "core/models/layers.h"
#include "lessons/print.h"
#include "lessons/seeded.h"

using namespace locus;

namespace {

constexpr double kEps = 1e-7;  // of every norm here

Matrix<double> softmax(const Matrix<double>& logits) { return masked_softmax<double>(logits, Mask()); }

/// -sum_c p_c log s_c, one number per token.
Matrix<double> cross_entropy(const Matrix<double>& p, const Matrix<double>& s) {
    return -(p.array() * s.array().log()).rowwise().sum();
}

/// The loss of the official code: both cross entropies, called symmetric KL there.
double symmetric(const Matrix<double>& s, const Matrix<double>& t) {
    return (cross_entropy(softmax(t), softmax(s)) + cross_entropy(softmax(s), softmax(t))).sum();
}

/// The step of the official code: each token's gradient is divided by its own largest entry.
Matrix<double> sift_step(const Matrix<double>& gradient, double rate) {
    Matrix<double> step = rate * gradient;
    for (Index t = 0; t < step.rows(); ++t) step.row(t) /= 1e-6 + gradient.row(t).cwiseAbs().maxCoeff();
    return step;
}

std::string percent(double share) { return lesson::text_of(100 * share, "%.3f") + " %"; }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "14", "SiFT",
        "The same small noise is a whisper to one word and a shout to another. How does SiFT make it fair?");
    return lesson.run(argc, argv, [&] {
        lesson.say(
            "Fine-tuning gets steadier if small changes of the word vectors change no answer: add noise in the "
            "direction that hurts most, and punish the change. But vectors differ in length ‖x‖ (root of the sum of "
            "squares). Seed 002's example: apple 0.1, democracy 10, noise 0.01. SiFT first takes off the mean and "
            "divides by the standard deviation, norm(x), and adds its noise then:");
        const Norm<double> plain;  // the norm of SiFT has no parameters
        const Index width = 192;
        lesson::Seeded seeded(14);
        Matrix<double> words = seeded.gaussians(2, width);
        words.row(0) *= 0.1 / words.row(0).norm();
        words.row(1) *= 10 / words.row(1).norm();
        const RowVector<double> noise = 0.01 * seeded.gaussians(1, width).row(0).normalized();
        const Matrix<double> normed = layer_norm<double>(words, plain, kEps);
        const char* const names[] = {"apple", "democracy"};
        std::vector<std::vector<std::string>> rows = {{"word", "‖x‖", "noise / ‖x‖", "‖norm(x)‖", "noise / ‖norm(x)‖"}};
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
        lesson.prove("after norm: farthest length from √192, relatively; ε = 1e-7 allows", far, kEps / (2 * shortest));
        const Checkpoint tiny = open_checkpoint(resolve_model("tiny-v3"));
        const auto learned = [&](const char* name) -> RowVector<double> {
            return read_rows<double>(*tiny.weights, std::string("embeddings.LayerNorm.") + name, 0, width).transpose();
        };
        const Matrix<double> all = read_rows<double>(*tiny.weights, "embeddings.word_embeddings.weight", 0, 6000);
        lesson.correct("seed 002", "a norm like layer norm before the noise", "layer norm without its γ and β");
        rows = {{"word vectors of tiny-v3", "shortest", "longest", "longest / shortest"}};
        double spread = 0;
        for (const auto& [title, norm, apply] :
             {std::tuple{"as they are", plain, false},
              {"norm", plain, true},
              {"then times γ, plus β", Norm<double>{learned("weight"), learned("bias")}, true}}) {
            const Matrix<double> lengths = (apply ? layer_norm<double>(all, norm, kEps) : all).rowwise().norm();
            spread = lengths.maxCoeff() / lengths.minCoeff();
            rows.push_back({title, lesson::text_of(lengths.minCoeff(), "%.3f"),
                            lesson::text_of(lengths.maxCoeff(), "%.3f"), lesson::text_of(spread, "%.3f")});
        }
        lesson.table("length of 6000 trained words; γ and β of the model's own norm, which follows:", rows);
        lesson.prove_at_least("behind γ and β: longest word over shortest; 1 without them", spread, 1.1);

        lesson.say(
            "One step of the official code, on z = norm(x) of two words, 4 channels, and a model that is one matrix: "
            "answers softmax(z Wᵀ). Start at random: δ0 normal, σ = 0.01, cut at ±2σ. The loss L compares answers p' "
            "of z + δ with the clean p; its gradient g says where L grows. Go there by η = 0.0001, g divided by the "
            "largest entry of its own word (of which seed 002 says nothing):");
        const Matrix<double> W{{2, -2, 2, -2}, {1, 1, -1, -1}, {0, 1, 0, -1}};
        const Matrix<double> z = layer_norm<double>(Matrix<double>{{1, 1, -2, 0}, {1, -1, 1, -1}}, plain, kEps);
        const double sigma = 0.01, eta = 1e-4;
        const Matrix<double> delta0 = (sigma * seeded.gaussians(2, 4)).cwiseMax(-2 * sigma).cwiseMin(2 * sigma);
        const auto answers = [&](const Matrix<double>& delta) { return softmax(dense<double>(z + delta, {W, {}})); };
        const Matrix<double> clean = answers(0 * delta0);
        const auto loss = [&](const Matrix<double>& delta) { return cross_entropy(clean, answers(delta)).sum(); };
        const auto gradient = [&](const Matrix<double>& delta) -> Matrix<double> {
            return (answers(delta) - clean) * W;
        };
        const Matrix<double> g = gradient(delta0), step = sift_step(g, eta);
        const Matrix<double> sizes = g.cwiseAbs().rowwise().maxCoeff(), steps = step.cwiseAbs().rowwise().maxCoeff();
        rows = {{"word", "surest answer p", "largest of |g|", "step η·g", "step of SiFT"}};
        for (Index w = 0; w < 2; ++w)
            rows.push_back({names[w], lesson::text_of(clean.row(w).maxCoeff(), "%.4f"),
                            lesson::text_of(sizes(w), "%.2e"), lesson::text_of(eta * sizes(w), "%.2e"),
                            lesson::text_of(steps(w), "%.2e")});
        lesson.table("largest entries of each word:", rows);
        // A central difference errs by h² / 6 of a third derivative, which the range of the columns of W, cubed,
        // exceeds.
        const double h = 1e-5, range = 4;
        double wrong = 0;
        for (Index n = 0; n < g.size(); ++n) {
            Matrix<double> up = delta0, down = delta0;
            up.data()[n] += h;
            down.data()[n] -= h;
            wrong = std::max(wrong, std::abs((loss(up) - loss(down)) / (2 * h) - g.data()[n]));
        }
        lesson.prove("g = (p' − p) W against (L(δ+h) − L(δ−h)) / 2h", wrong, h * h * range * range * range);
        // Each entry is divided by 1e-6 more than its word's largest, so that a gradient of 0 does no harm.
        lesson.prove("largest entry of each word's step over η, minus 1", (steps.array() / eta - 1).abs().maxCoeff(),
                     1e-6 / sizes.minCoeff());
        lesson.prove_at_least("L rises by at least g · step, for L is convex", loss(delta0 + step) - loss(delta0),
                              (g.array() * step.array()).sum());
        const Matrix<double> s{{1, 2, 0}}, t{{0.5, 1.5, 1}};
        lesson.say(
            "The model then learns from z + δ: λ times a loss that the code calls symmetric KL and that is two cross "
            "entropies. Its gradient is p' − p as well, but it is not 0 for equal answers (true KL of these: " +
            lesson.number("KL + KL", symmetric(s, t) - (symmetric(s, s) + symmetric(t, t)) / 2, "%.6f") + "):");
        lesson.prove("that loss for logits (1, 2, 0) and (0.5, 1.5, 1), minus 2.178335", symmetric(s, t) - 2.178335,
                     5e-7);

        lesson.ask("The gradient of a word is (1, −2, ½, 0) and η = 0.1. What is the second entry of the step?",
                   sift_step(Matrix<double>{{1, -2, 0.5, 0}}, 0.1)(0, 1), 1e-4,
                   "−2 is the largest entry: it becomes −η.");
        lesson.choose("Noise of length 0.01 on raw vectors changes which word more, relative to its length?",
                      {"apple, of length 0.1", "democracy, of length 10"}, share > other ? 0 : 1,
                      "0.01 / 0.1 is 10 %.");
        lesson.exercise("Start at δ0 = 0 instead of at random. Where does the step go?", [&] {
            const Matrix<double> nowhere = sift_step(gradient(0 * delta0), eta);
            lesson.say("Without noise p' is p, so g = (p' − p) W is 0 and points nowhere: hence the noise.");
            lesson.prove_equal("entries of the step that are not 0",
                               static_cast<double>((nowhere.array() != 0).count()), 0);
        });
        lesson.end({{"core/models/layers.h", "layer_norm"}},
                   "He et al. 2021, section 4; microsoft/DeBERTa sift.py; seed 002.", "15");
    });
}
