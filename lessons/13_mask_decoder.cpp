// Lesson 13: Enhanced mask decoder
//
// Question: A new [MASK] opened beside the new [MASK]: both follow "new". What tells store from mall?
// Before: 12. Minutes: 12. Page: decoder.
// Show: text=a+new+%5BMASK%5D+opened+beside+the+new+%5BMASK%5D&decoder.ten=yes
#include <algorithm>
#include <limits>

#include "core/io/model_request.h"
#include "core/models/block.h"
#include "core/models/deberta_weights.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

/// One pass over the text: with a mask decoder or none, and I multiplied by `strength`.
Trace run(const Deberta<double>& model, const ModelInput& input, MaskDecoder decoder, double strength,
          const std::string& stages = "mlm.logits_at_positions") {
    DebertaOptions options;
    options.decoder = decoder;
    options.absolute_strength = strength;
    return model.forward(input, options, StageFilter(stages));
}

/// Logits of the masked tokens, one row each.
Matrix<double> logits(const Trace& trace) { return trace.at("mlm.logits_at_positions").as<double>().rows(); }

/// Each [MASK] and the "new" before it see one another and nothing else, so both pairs get the same picture.
ModelInput blindfolded(ModelInput input) {
    const Index tokens = input.length();
    input.mask = IndexTensor({1, tokens, tokens});
    for (Index n = 0; n < 2; ++n)
        for (Index i = input.mask_positions[2 * n + 1] - 1; i <= input.mask_positions[2 * n + 1]; ++i)
            for (Index j = input.mask_positions[2 * n + 1] - 1; j <= input.mask_positions[2 * n + 1]; ++j)
                input.mask[i * tokens + j] = 1;
    return input;
}

/// What the attention of qcqced123's listing makes its queries of; parameters in the order of its listing.
const Matrix<double>& query_source(const Matrix<double>& x, const Matrix<double>& /*rel_pos_emb*/,
                                   const Mask& /*padding_mask*/, const Matrix<double>* /*attention_mask*/ = nullptr,
                                   const Matrix<double>* emd = nullptr) {
    return emd ? *emd : x;
}

double largest(const Matrix<double>& values) { return values.cwiseAbs().maxCoeff(); }

/// Tokens of a text that share the row of their distance to token 0 with another token.
double blurred(const RelativeBuckets& buckets) {
    double count = 0;
    for (Index i = 0; i < buckets.queries(); ++i)
        count += (i > 0 && buckets.row(i, 0) == buckets.row(i - 1, 0)) ||
                 (i + 1 < buckets.queries() && buckets.row(i, 0) == buckets.row(i + 1, 0));
    return count;
}

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "13", "Enhanced mask decoder",
        "A new [MASK] opened beside the new [MASK]: both follow \"new\". What tells store from mall?");
    return lesson.run(argc, argv, [&] {
        const Checkpoint checkpoint = open_checkpoint(resolve_model("tiny-v3"));
        const auto tokenizer = open_tokenizer(checkpoint.folder);
        const Deberta<double> model = open_deberta<double>(checkpoint);
        const std::string text = "a new [MASK] opened beside the new [MASK].";
        const ModelInput input = input_of_texts({text}, *tokenizer, Family::deberta), blind = blindfolded(input);
        lesson.say(
            "The sentence is a new store opened beside the new mall. [MASK] stands for a hidden word, which the model "
            "guesses. The nearest words do not tell the blanks apart: each has \"new\" one to its left. DeBERTa adds a "
            "learned vector per position, I, but only in the decoder and only to the query (and to the residual, which "
            "is the query here). H is what enters the last layer; that layer runs twice with the same weights, from Q0 "
            "= H + I:\n"
            "  I  where ─┐             pass 1                 pass 2\n"
            "            + ── Q0 ──> ┌─────────┐ ── Q1 ──> ┌─────────┐ ── Q2 ──> words\n"
            "  H  what ──┤           │ layer 5 │           │ layer 5 │\n"
            "            ├── K, V ─> └─────────┘           └─────────┘\n"
            "            └────────────── K, V ──────────────────^\n");
        const Trace trace = run(model, input, MaskDecoder::official, 1, "layer.4.output,emd.*,mlm.logits_at_positions");
        const DebertaWeights<double> weights(model.config(), checkpoint.weights);
        const auto of = [&](const std::string& name) -> const Tensor<double>& { return trace.at(name).as<double>(); };
        const auto off = [&](const std::string& name, const std::string& source, int part) {
            return largest(of(name).rows() - project_heads(of(source), weights.projection(5, part), 6).rows());
        };
        lesson.prove("K and V of both passes from H, Q of pass 2 from pass 1: difference",
                     std::max({off("emd.0.k", "layer.4.output", 1), off("emd.0.v", "layer.4.output", 2),
                               off("emd.1.k", "layer.4.output", 1), off("emd.1.v", "layer.4.output", 2),
                               off("emd.1.q", "emd.0.output", 0)}),
                     0);
        const Matrix<double> with = logits(trace), without = logits(run(model, input, MaskDecoder::official, 0));
        const Matrix<double> blind_with = logits(run(model, blind, MaskDecoder::official, 1));
        const Matrix<double> blind_without = logits(run(model, blind, MaskDecoder::official, 0));
        // 8 layers, each rounding sums of 192 products; logits are the largest numbers of all.
        const double rounding = 8 * 192 * std::numeric_limits<double>::epsilon() * largest(blind_without);
        lesson.say(
            "A blindfold: let each [MASK] and its \"new\" see one another and nothing else. Logits are the scores of "
            "the 6016 words before softmax:");
        lesson.prove("blindfold, no I: largest difference between both [MASK]",
                     largest(blind_without.row(0) - blind_without.row(1)), rounding);
        lesson.prove_at_least("blindfold, with I: that difference over that bound",
                              largest(blind_with.row(0) - blind_with.row(1)) / rounding, 1000);

        lesson.say("Now the whole sentence, with Q0 = H + I and with Q0 = H:");
        std::vector<std::vector<std::string>> rows = {{"H + I", "p", "H alone", "p", "H + I", "p", "H alone", "p"}};
        double new_words = 0, largest_change = 0;
        std::vector<std::vector<Guess>> lists;
        for (Index n = 0; n < 2; ++n)
            for (const Matrix<double>* l : {&with, &without})
                lists.push_back(best_words(l->row(n).cast<float>(), tokenizer.get(), 5));
        for (std::size_t rank = 0; rank < 5; ++rank) {
            rows.emplace_back();
            for (const auto& list : lists) {
                rows.back().push_back(list[rank].piece);
                rows.back().push_back(lesson::text_of(list[rank].probability, "%.3f"));
            }
        }
        lesson.table("five best words and their probabilities, first [MASK] left, second right:", rows);
        for (std::size_t n = 0; n < 4; n += 2)
            for (const Guess& word : lists[n + 1]) {
                const auto before =
                    std::find_if(lists[n].begin(), lists[n].end(), [&](const Guess& one) { return one.id == word.id; });
                if (before == lists[n].end())
                    new_words += 1;
                else
                    largest_change = std::max<double>(largest_change, std::abs(before->probability - word.probability));
            }
        lesson.prove_equal("words of these ten that are new without I", new_words, 0);
        const double spread = std::min(lists[0][0].probability - lists[0][4].probability,
                                       lists[2][0].probability - lists[2][4].probability);
        lesson.prove("largest change of these probabilities; the first and the fifth lie farther apart", largest_change,
                     spread);
        lesson.prove_at_least("largest change of a logit, over rounding", largest(with - without) / rounding, 1000);
        const RelativeBuckets buckets = model.relative_buckets(input.length(), DebertaOptions());
        double hidden = 0;
        for (Index i = 0; i < input.length(); ++i) hidden += buckets.row(i, 0) - buckets.span() != i;
        lesson.say(
            "Each blank keeps its own five words with and without I; only words of nearly equal probability change "
            "places. store is a word for the first blank alone. This model tells the blanks apart by distances, not "
            "by their nearest words: the distance to [CLS], which is token 0, is the position itself:");
        lesson.prove_equal("tokens whose distance to [CLS] is not their position", hidden, 0);
        const Matrix<double> last_layer = logits(run(model, input, MaskDecoder::none, 1));
        lesson.say(
            "transformers leaves the decoder out and reads layer 5 as it is. The encoder is the same, the words are "
            "not: its logits are no test for a mask decoder.");
        lesson.prove_at_least("change of a logit without decoder, over that without I",
                              largest(with - last_layer) / largest(with - without), 1);
        lesson.correct("qcqced123, layer", "attention(x, pos, mask, emd)", "attention(x, pos, mask, None, emd)");
        lesson.say(
            "The fourth argument is attention_mask, so emd, there the query H + I, stays empty, and I (numbers up to " +
            lesson.number("largest of I", largest(model.absolute_rows(input.length())), "%.2f") + ") never arrives:");
        const Matrix<double> h = of("layer.4.output").rows(), query = of("emd.query.0").rows(), none;
        lesson.prove("what I adds to the query in that call", largest(query_source(h, none, Mask(), &query) - h), 0);
        double passes = 0;
        for (const std::string& name : trace.names()) passes += name.starts_with("emd.") && name.ends_with(".q");
        lesson.ask("How often does the decoder run the last layer?", passes, 0, "Twice, with the same weights.");
        lesson.choose("Into which of Q, K and V of pass 1 does I go?", {"Q only", "K and V only", "all three"},
                      off("emd.0.k", "layer.4.output", 1) > 0 ? 2 : 0, "K and V are made of H alone.");
        lesson.exercise(
            "Far distances share rows. How many of 512 positions does the distance to [CLS] blur in DeBERTa v3 base?",
            [&] {
                lesson.say("It has 256 rows for distances to the left, one each for 0 … 128, then logarithmic:");
                const double shared = blurred(RelativeBuckets::logarithmic(512, 512, 256, 512, OffsetClamp::official));
                lesson.prove_at_least("positions that share their row (512 in 256 rows: at least 257)", shared, 257);
                lesson.prove_equal("positions of our 12 that do", blurred(buckets), 0);
                lesson.say(
                    "In long texts the distance to [CLS] tells few positions apart, and I tells more than it does "
                    "here.");
            });
        lesson.end(
            {{"core/models/deberta_decoder.cpp", "deberta_decoder"}, {"core/models/dialect.h", "DebertaOptions"}},
            "He et al. 2021, section 3.2; qcqced123 and joowan1108.", "14");
    });
}
