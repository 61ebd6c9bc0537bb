// Lesson 23: Two streams
//
// Question: A word must not see itself while it is predicted, but later words must see it. How can both hold?
// Before: 22. Minutes: 15. Page: permutation.
// Show: permutation.stream=content&permutation.side=cell
#include "core/io/model_request.h"
#include "core/models/xlnet.h"
#include "core/positions/factorisation_order.h"
#include "lessons/support/print.h"

using namespace locus;

namespace {

using Ids = std::vector<std::int64_t>;

/// A checkpoint whose projection of distances W_kR is 0: near and far, left and right are all the same to it.
class WithoutDistances : public WeightSource {
public:
    explicit WithoutDistances(std::shared_ptr<const WeightSource> all) : all_(std::move(all)) {}
    std::optional<Shape> shape(const std::string& name) const override { return all_->shape(name); }
    std::vector<std::string> names() const override { return all_->names(); }
    std::string location() const override { return all_->location(); }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        return rows_f64(name, first, rows).cast<float>();
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return all_->rows_f64(name, first, rows) * (name.ends_with("rel_attn.r") ? 0 : 1);
    }

private:
    std::shared_ptr<const WeightSource> all_;
};

/// What comes out of the last layer, a row for every word, and the attention weights of the first layer's first head.
struct Streams {
    Matrix<double> g, h, probabilities, g_weights, h_weights;
};

/// All words are targets; `sees` is the mask of the query stream.
Streams run(const Xlnet<double>& model, const Ids& tokens, const Visibility& sees,
            Dialect dialect = Dialect::reference) {
    const Index length = std::ssize(tokens);
    ModelInput input;
    input.tokens = IndexTensor({1, length}, tokens);
    input.perm_mask = IndexTensor({1, length, length});
    input.target_mapping = IndexTensor({1, length, length});
    for (Index n = 0; n < length * length; ++n) input.perm_mask[n] = sees.data()[n] ? 0 : 1;
    for (Index t = 0; t < length; ++t) input.target_mapping[t * length + t] = 1;
    const Trace trace =
        model.forward({input}, dialect, StageFilter("layer.?.g.output,layer.?.output,layer.0.*probs,lm.logits"));
    return {trace.at("layer.3.g.output").as<double>().rows(), trace.at("layer.3.output").as<double>().rows(),
            masked_softmax<double>(trace.at("lm.logits").as<double>().rows(), Mask()),
            trace.at("layer.0.g.probs").as<double>().matrix(), trace.at("layer.0.probs").as<double>().matrix()};
}

/// How far g_i (left half) and h_i (right half) move when word j is exchanged for another.
Matrix<double> moves(const Xlnet<double>& model, const Ids& tokens, std::int64_t other, const Visibility& sees,
                     Dialect dialect = Dialect::reference) {
    const Index length = std::ssize(tokens);
    const Streams before = run(model, tokens, sees, dialect);
    Matrix<double> moved(length, 2 * length);
    for (Index j = 0; j < length; ++j) {
        Ids exchanged = tokens;
        exchanged[static_cast<std::size_t>(j)] = other;
        const Streams after = run(model, exchanged, sees, dialect);
        moved.col(j) = (after.g - before.g).cwiseAbs().rowwise().maxCoeff();
        moved.col(length + j) = (after.h - before.h).cwiseAbs().rowwise().maxCoeff();
    }
    return moved;
}

/// Cells of the diagonal that are not 0.
double own_words(const Matrix<double>& cells) { return static_cast<double>((cells.diagonal().array() != 0).count()); }

}  // namespace

int main(int argc, char** argv) {
    lesson::Lesson lesson(
        "23", "Two streams",
        "A word must not see itself while it is predicted, but later words must see it. How can both hold?");
    return lesson.run(argc, argv, [&] {
        const Checkpoint files = open_checkpoint(resolve_model("tiny-xlnet"));
        const XlnetConfig config = parse_xlnet_config(files.config_json, files.config_file.string());
        const Xlnet<double> model(config, files.weights);
        const auto tokenizer = open_tokenizer(files.folder);
        Ids tokens;
        for (const char* word : {"the", "capital", "of", "france", "store"})
            tokens.push_back(tokenizer->encode(word).ids[0]);
        const std::int64_t other = tokens.back();
        tokens.pop_back();
        lesson.say(
            "XLNet keeps two vectors per word. z is the order of prediction; z < t are the words before its t-th:\n"
            "  h, content stream   begins as the word's vector   sees h of z \u2264 t: itself too\n"
            "  g, query stream     begins the same for all       sees h of z < t: not itself\n"
            "Both go through the same weights. g asks \"which word stands here?\"; h is what others see of a word. "
            "The network is the built-in tiny-xlnet, four layers; \"the capital of france\", z = 3,2,4,1. Exchange one "
            "word for \"store\" and see which outputs of the last layer move:");
        const std::vector<Index> order = {2, 1, 3, 0};
        const Visibility before = query_visibility(order), upto = content_visibility(order);
        const Matrix<double> moved = moves(model, tokens, other, before);
        lesson.show("  how far g_i moves           how far h_i moves           (column: word)", moved, "%6.2f", 4);
        lesson.prove("leak test: how far g moves by words that it must not see",
                     moved.leftCols(4).cwiseProduct((1 - before.cast<double>().array()).matrix()).maxCoeff(), 0);
        const Matrix<double> may_move = (Matrix<double>(4, 8) << before.cast<double>(), upto.cast<double>()).finished();
        lesson.prove_equal("cells of 32 in which moving and being allowed to see disagree",
                           static_cast<double>(((moved.array() > 0) != (may_move.array() > 0)).count()), 0);

        lesson.correct("NLP 기초, eq. (3)", "g(t) \u2190 Attention(Q = g(t), KV = h(z \u2264 t))",
                       "g(t) \u2190 Attention(Q = g(t), KV = h(z < t))");
        lesson.prove_equal("with \u2264, words of 4 that reach their own g, so that the answer is given",
                           own_words(moves(model, tokens, other, upto).leftCols(4)), 4);
        lesson.correct("NLP 기초, fig. 13", "content vector g(z1) = g3 holds its own word",
                       "content vector h(z1) = h3 holds its own word");
        const Visibility other_order = query_visibility({2, 1, 0, 3});
        const Streams one = run(model, tokens, before), two = run(model, tokens, other_order);
        lesson.prove_equal("tokens of 4 that attend to themselves in h, minus those in g",
                           own_words(one.h_weights) - own_words(one.g_weights), 4);

        lesson.say(
            "Why g at all? After 3 and 2, the order 3,2,4,1 wants word 4 and the order 3,2,1,4 wants word 1, from the "
            "same two words. One vector made of them could give one answer only. g begins the same, too; only its "
            "distances i \u2212 j to the known words differ:");
        const auto best = [&](const RowVector<double>& p) {
            RowVector<double> left = p;
            std::string text;
            for (int n = 0; n < 3; ++n) {
                Index word = 0;
                const double chance = left.maxCoeff(&word);
                left(word) = 0;
                text += (n ? ", " : "") + display_piece(tokenizer->piece(word)) + " " + lesson::text_of(chance, "%.2f");
            }
            return text;
        };
        lesson.table("known: \"capital of\", words 2 and 3",
                     {{"order", "wanted", "i \u2212 j", "best words"},
                      {"3,2,4,1", "word 4", "2 1", best(one.probabilities.row(3))},
                      {"3,2,1,4", "word 1", "\u22121 \u22122", best(two.probabilities.row(0))}});
        lesson.prove("the content is the same: largest difference of h3 and h2 between both orders",
                     (one.h - two.h).middleRows(1, 2).cwiseAbs().maxCoeff(), 0);
        lesson.prove_at_least("share of the probability that lies on different words for the two",
                              (one.probabilities.row(3) - two.probabilities.row(0)).cwiseAbs().sum() / 2, 0.5);
        const Xlnet<double> blind(config, std::make_shared<WithoutDistances>(files.weights));
        lesson.prove(
            "with distances wiped out (W_kR = 0) both questions are one: difference of g4 and g1",
            (run(blind, tokens, before).g.row(3) - run(blind, tokens, other_order).g.row(0)).cwiseAbs().maxCoeff(), 0);

        lesson.ask("z = 3,2,4,1 over four words: how many of the 16 pairs may g see?",
                   static_cast<double>(before.cast<int>().sum()), 0, "0 + 1 + 2 + 3.");
        lesson.ask("And h?", static_cast<double>(upto.cast<int>().sum()), 0, "The same and each word itself.");
        lesson.exercise(
            "The original code subtracts 1e30 from hidden scores. What does g3, first in the order, see then?", [&] {
                const Matrix<double> leak = moves(model, tokens, other, before, Dialect::official).leftCols(4);
                lesson.show("g of the original code: row i moves by", leak, "%6.2f");
                lesson.prove_equal("words of 4 that move g3: all weigh alike when all are hidden, itself too",
                                   static_cast<double>((leak.row(2).array() > 0).count()), 4);
            });
        lesson.end({{"core/attention/two_stream.h", "two_stream_masks"}, {"core/models/xlnet.h", "run_segment"}},
                   "Yang et al. 2019, section 2.3; NLP 기초, equations 1 to 4.", "24");
    });
}
