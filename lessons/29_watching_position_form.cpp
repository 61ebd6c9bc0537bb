// Lesson 29: Watching position form
//
// Question: A fresh model knows nothing of order. When does it begin to, and what does it learn?
// Before: 08, 13. Minutes: 15. Page: training.
// Show: training.layer=1&training.head=0&training.cell=14,11
#include <cmath>
#include <limits>

#include "core/attention/disentangled.h"
#include "lessons/support/print.h"
#include "lessons/support/small_learner.h"

using namespace locus;

namespace {

constexpr Index kWidth = 32, kSpan = 12, kSteps = 150;
constexpr double kEps = std::numeric_limits<double>::epsilon();

DebertaConfig config_of(Terms terms, bool shared = true) {
    DebertaConfig config;
    config.vocab_size = lesson::kWords;
    config.hidden_size = config.embedding_size = config.attention_head_size = kWidth;
    config.num_hidden_layers = 2, config.num_attention_heads = 1, config.intermediate_size = 64;
    config.max_position_embeddings = config.max_relative_positions = kSpan;
    config.position_biased_input = false, config.share_att_key = shared, config.norm_rel_ebd = true;
    config.terms = terms;
    return config;
}

void learn(lesson::SmallLearner& learner, Index step) {
    learner.learn(lesson::sentences_of_step(step), learning_rate(0.003, step, kSteps / 10, kSteps));
}

const std::string kSelf0 = "encoder.layer.0.attention.self.", kSelf1 = "encoder.layer.1.attention.self.";

/// With a second W_k and a second W_q for the distances, which hold the same numbers.
Parameters<double> untied_gradients(const lesson::SmallLearner& tied, const PackedBatch& batch) {
    lesson::SmallLearner untied(config_of({}, false), tied.pool);
    for (const auto& entry : untied.values.entries()) {
        std::string name = entry.name;
        if (const std::size_t at = name.find("pos_"); at != std::string::npos) name.erase(at, 4);
        untied.values.row(entry.name) = tied.values.row(name);
    }
    return untied.gradients(batch);
}

double largest(const Matrix<double>& values) { return values.cwiseAbs().maxCoeff(); }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson("29", "Watching position form",
                          "A fresh model knows nothing of order. When does it begin to, and what does it learn?");
    return lesson.run(argc, argv, [&] {
        ThreadPool pool(1);
        lesson::SmallLearner all(config_of({}), pool), without(config_of({false, false, false}), pool), fresh = all;
        const PackedBatch judged = lesson::kept_back(false), one = lesson::batch_of({{2, 0, 3}});
        const auto c2p = [&](const LayerInside<double>& in) -> Matrix<double> {
            return content_to_position<double>(in.q, in.k_r, RelativeBuckets::clamped(9, 9, kSpan)) /
                   score_divisor<double>(3, kWidth);
        };
        std::vector<std::string> labels;
        std::vector<double> steps, learnt, blind;
        Matrix<double> growth(5, 13);
        Index half = -1;
        for (Index step = 0; step <= kSteps; ++step) {
            if (step % 5 == 0) {
                steps.push_back(static_cast<double>(step));
                learnt.push_back(all.loss(judged)), blind.push_back(without.loss(judged));
            }
            const LayerInside<double> first = *all.look(one).uses[0].inside;
            if (half < 0 && first.probs[0](4, 2) > 0.5 && first.probs[0](8, 0) > 0.5) half = step;
            for (const Index shown : {0, 20, 30, 50, int(kSteps)})
                if (step == shown) {  // 8 ... 0 to the left, as the second blank sees them, then to the right
                    growth.row(std::ssize(labels)) << c2p(first).row(8), c2p(first).row(4).tail(4);
                    labels.push_back("step " + std::to_string(step));
                }
            if (step < kSteps) learn(all, step), learn(without, step);
        }
        lesson.say(
            "Two models of 2 layers, 1 head, D = 32, all numbers random and small, read 16 sentences a step, such as "
            "\"ben helped anna so [MASK] was helped by [MASK]\": ten names, three verbs. Some pairs of names are kept "
            "back to judge by. The second model has neither c2p nor p2c, so it knows no distances:");
        lesson.curves("pairs never seen", "step", steps, "loss, mean of \u2212ln p",
                      {{"c2c + c2p + p2c", 'o', learnt}, {"c2c alone", 't', blind}}, 7);
        lesson.prove("after 150 steps: loss, below ln 2", learnt.back(), std::log(2.0));
        // Each guess adds the same products in another order: 3 runs of a layer and a head, sums of 64 at most.
        const Matrix<double> guesses = without.guess(judged).logits,
                             swapped = without.guess(lesson::kept_back(true)).logits;
        const double change = largest(guesses - swapped), rounding = 4 * 64 * kEps * largest(guesses);
        lesson.prove("c2c alone: change of a guess where both names are exchanged", change, rounding);
        lesson.prove_at_least("so p of both orders add up to 1 at most: its loss stays at ln 2 or above", blind.back(),
                              std::log(2.0));
        const auto p = [&](lesson::SmallLearner& learner) {
            return lesson::text_of(std::exp(-learner.guess(one).losses[1]), "%.2f");
        };
        lesson.say("At the second blank p(ben) is " + p(fresh) + " fresh, " + p(all) + " with all terms, " +
                   p(without) +
                   " with c2c alone. Both learn which words are names. Order begins before the loss tells: at step " +
                   lesson.number("first step with half of the attention", static_cast<double>(half)) +
                   " in layer 0 each [MASK] gives more than half of its attention to the name that it repeats. q of "
                   "[MASK] times k_r of every distance, c2p / \u221a(3d):");
        lesson.heatmaps({{" 8  7  6  5  4  3  2  1  0 \u22121 \u22122 \u22123 \u22124  words to the left", growth}},
                        labels);
        const LayerInside<double> before = *fresh.look(one).uses[0].inside, after = *all.look(one).uses[0].inside;
        const Matrix<double> seen = c2p(after), &probs = after.probs[0];
        lesson.say(
            "Both blanks are the same word and ask for the same: what stands 2 or 8 to the left. From the second, a "
            "verb stands 2 to the left. c2p alone prefers ben to it by e^" +
            lesson.number("c2p", seen(8, 0) - seen(8, 6), "%.1f") + ", all terms by e^" +
            lesson.number("all terms", std::log(probs(8, 0) / probs(8, 6)), "%.1f") +
            ": words and positions work together. All of c2p:");
        lesson.heatmaps({{"step 0", c2p(before)}, {"step 150", seen}},
                        {"ben", "helped", "anna", "so", "[MASK]", "was", "helped", "by", "[MASK]"});
        lesson.prove_equal(
            "distances at which the two blanks differ",
            static_cast<double>((seen.row(8).segment(4, 5).array() != seen.row(4).head(5).array()).count()), 0);
        lesson.prove_at_least("largest |c2p| at the end over step 0", largest(seen) / largest(c2p(before)), 100);
        Trace stages(StageFilter("grad.emd.?.v"));
        const PackedBatch batch = lesson::sentences_of_step(0);
        Parameters<double> way = fresh.gradients(batch, &stages), apart = untied_gradients(fresh, batch);
        lesson.say(
            "Every step follows the gradient. Three things about it that ports get wrong, in the first step: a row of "
            "the relative table that no pair used has gradient 0; W_k makes both k and k_r, so its gradient is a sum "
            "of two parts; the decoder runs layer 1 twice, and both passes add:");
        const auto moved = (way.matrix("encoder.rel_embeddings.weight").array() != 0).rowwise().any();
        lesson.prove_equal("rows of 24 with a gradient that is not 0: distances \u22128 \u2026 8",
                           static_cast<double>(moved.count()), 17);
        const Matrix<double> tied = way.matrix(kSelf0 + "key_proj.weight");
        const Matrix<double> of_words = apart.matrix(kSelf0 + "key_proj.weight");
        const Matrix<double> of_places = apart.matrix(kSelf0 + "pos_key_proj.weight");
        lesson.prove("gradient of W_k minus those of a W_k for words and one for distances",
                     largest(tied - of_words - of_places), batch.rows() * kEps * largest(tied));
        lesson.prove_at_least("length of the part from k_r over the part from k", of_places.norm() / of_words.norm(),
                              0.5);
        RowVector<double> passes = -way.row(kSelf1 + "value_proj.bias");
        for (const char* pass : {"grad.emd.0.v", "grad.emd.1.v"})
            passes += stages.at(pass).as<double>().rows().colwise().sum();
        lesson.prove("gradient of layer 1's bias of v minus what both passes send", largest(passes),
                     batch.rows() * kEps * largest(way.row(kSelf1 + "value_proj.bias")));
        lesson.say(
            "A miniature: one pattern, and p2c alone learns it, too (--answer). locus train --ablate asks "
            "the same of assets/corpus: there, too, only taking both terms away raises the loss much.");

        lesson.ask("A blank is one of two names, and their order cannot be told. What is the least mean loss?",
                   std::log(2.0), 0.01, "p for one order is at most 1 \u2212 p for the other, best at \u00bd: ln 2.");
        lesson.ask("How many rows of a table of 24 do sentences of five words reach?",
                   static_cast<double>(RelativeBuckets::clamped(5, 5, kSpan).rows().size()), 0, "\u22124 \u2026 4.");
        lesson.choose(
            "The decoder of c2c alone adds a vector per position to the query. Why does it not tell ben from anna?",
            {"it learns too slowly", "keys and values know no position"}, change > rounding ? 0 : 1,
            "The blank knows where it stands, and sees a bag of words.");
        lesson.exercise("Take c2p away and keep p2c. Does order still form?", [&] {
            lesson::SmallLearner half_blind(config_of({false, true, false}), pool);
            for (Index step = 0; step < kSteps; ++step) learn(half_blind, step);
            lesson.say("It does: one term can say all that this pattern asks.");
            lesson.prove("loss after 150 steps, below ln 2", half_blind.loss(judged), std::log(2.0));
        });
        lesson.end({{"core/training/masked_words.h", "masked_language_step"},
                    {"core/attention/disentangled.h", "disentangled_backward"}},
                   "He et al. 2021, eq. 4, section 5.2.1; Loshchilov and Hutter 2019.", "");
    });
}
