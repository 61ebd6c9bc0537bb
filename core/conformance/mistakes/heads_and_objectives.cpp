// Mistakes 51 to 55 and 112.  What reads a layer's output: hidden states, the masked-word head, tied words, RTD and
// SiFT.
#include "core/attention/softmax.h"
#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/objectives.h"
#include "core/conformance/formulas/parameter_gradients.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/conformance/mistakes/fitted_weights.h"
#include "core/models/word_logits.h"

namespace locus::conformance {

namespace hidden_states_off_by_one {  // mistake 51

void need_layer(const Replay& at) {
    if (!at.scope().ends_with("layer." + std::to_string(at.layer()) + ".")) throw NotEnough{"a layer of the encoder"};
}

/// What the mask decoder asks and looks at is another hidden state than the last layer's input, which is number 2 from
/// the end: 1 is the last layer's output.
std::vector<Formula> decoder_reads(Index from_the_end) {
    std::vector<Formula> all = keys_and_values_from([from_the_end](const Replay& at) {
        decoder_pass(at);
        return hidden_state(at, from_the_end);
    });
    all.push_back({"/emd.query.0", {}, [from_the_end](const Replay& at) {
                       const Tensor<double>& h = hidden_state(at, from_the_end);
                       return sum_of(absolute_rows(at, h), h);
                   }});
    return decoder_of(std::move(all));
}

Mistake mistake() {
    return {.number = 51,
            .name = "a list of hidden states that begins with the embeddings is read as one that does not",
            .symptom = "every layer's output looks shifted by one layer; hs[-2] is right",
            .betrays = "layer.l.output == the output of layer l - 1",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"output"},
            .variants = {{"one too early",
                          {{"output",
                            {"x"},
                            [](const Replay& at) {
                                need_layer(at);
                                return at("x");
                            }}}},
                         {"one too late",
                          {{"output",
                            {},
                            [](const Replay& at) {
                                need_layer(at);
                                const auto next = at.expected("/layer." + std::to_string(at.layer() + 1) + ".output");
                                if (!next) throw NotEnough{"a layer after"};
                                return *next;
                            }}}},
                         {"one too late, in the mask decoder alone", decoder_reads(1), {"/emd.query.0", "k", "v"}},
                         {"one too early, in the mask decoder alone", decoder_reads(3), {"/emd.query.0", "k", "v"}}}};
}

}  // namespace hidden_states_off_by_one

namespace masked_word_head {  // mistake 52

/// mlm.transform with parts left out.
struct Steps {
    bool dense = true, activation = true, norm = true;
    double eps = -1;  // below 0: that of the configuration
    bool norm_first = false;
};

Variant transform(std::string how, Steps steps) {
    return {std::move(how), {{"/mlm.transform", {"/head_input"}, [steps](const Replay& at) {
                                  const HeadParts head = head_parts(at);
                                  const Tensor<double>& x = head_input(at);
                                  Matrix<double> rows = x.rows();
                                  if (steps.dense) rows = dense<double>(rows, head.dense);
                                  if (steps.activation && !steps.norm_first)
                                      rows = activate<double>(rows, head.activation);
                                  if (rows.cols() != head.norm.weight.size())
                                      throw NotEnough{"an embedding as wide as the model"};
                                  if (steps.norm)
                                      rows = layer_norm<double>(rows, head.norm, steps.eps < 0 ? head.eps : steps.eps);
                                  if (steps.norm_first) rows = activate<double>(rows, head.activation);
                                  return shaped(x, rows);
                              }}}};
}

/// The same of Transformer-XL and XLNet.
Tensor<double> language_logits_without_bias(const Replay& at) {
    if (is_adaptive(at)) return adaptive_head_without_biases(at).logits;
    const LanguageHead head = language_head(at);
    return language_logits(at, head, head.table, {});
}

Tensor<double> clusters_without_bias(const Replay& at) {
    if (!is_adaptive(at)) throw NotEnough{"an adaptive softmax"};
    return adaptive_head_without_biases(at).clusters;
}

Formula without_bias(const char* stem, const char* from) {
    return {stem, {from}, [=](const Replay& at) { return word_scores(at, stem, at(from), {}); }};
}

/// Transformer-XL: each row's loss at the token it read, whose logits are those of the next one.
Tensor<double> losses_of_tokens_read(const Replay& at) {
    const Tensor<double>& logits = at("/lm.logits");
    const ModelInput& input = at.input();
    if (input.labels.empty() || input.tokens.size() != logits.rows().rows()) throw NotEnough{"one label per row"};
    Tensor<double> losses(input.tokens.shape());
    for (Index n = 0; n < losses.size(); ++n)
        losses[n] = cross_entropy<double>(RowVector<double>(logits.rows().row(n)), input.tokens[n]);
    return losses;
}

/// Masked words: the loss of what stands in the text, mostly [MASK], for every token that has a label.
Tensor<double> losses_of_masked_text(const Replay& at) {
    const ModelInput& input = at.input();
    const Tensor<double>& logits = at("/mlm.logits");
    if (input.labels.empty() || input.tokens.size() != logits.rows().rows()) throw NotEnough{"labels"};
    std::vector<double> each;
    for (Index n = 0; n < input.labels.size(); ++n)
        if (input.labels[n] > 0) each.push_back(cross_entropy<double>(logits.rows().row(n), input.tokens[n]));
    const auto count = static_cast<Index>(each.size());
    return {{count}, std::move(each)};
}

/// Masked words, as of a model that reads from left to right: each label is looked up in the logits of the token
/// before.
Tensor<double> losses_of_the_token_before(const Replay& at) {
    const IndexTensor& labels = at.input().labels;
    const Tensor<double>& logits = at("/mlm.logits");
    if (labels.empty() || labels.size() != logits.rows().rows()) throw NotEnough{"labels"};
    std::vector<double> each;
    for (Index n = 0; n < labels.size(); ++n)
        if (labels[n] > 0 && n % at.input().length() > 0)
            each.push_back(cross_entropy<double>(RowVector<double>(logits.rows().row(n - 1)), labels[n]));
    const auto count = static_cast<Index>(each.size());
    return {{count}, std::move(each)};
}

/// Transformer-XL, whose labels are the next tokens already, shifted once more.  What a program puts at the end of a
/// row, where there is no further label, is taken as it is.
Tensor<double> losses_shifted_twice(const Replay& at) {
    const Tensor<double>& logits = at("/lm.logits");
    const IndexTensor& labels = at.input().labels;
    if (at.family() != Family::transformer_xl || labels.rank() != 2) throw NotEnough{"labels of a text"};
    const auto found = at.found("/lm.loss");
    Tensor<double> losses = found && found->shape() == labels.shape() ? *found : at.right("/lm.loss");
    const Index length = labels.extent(1);
    for (Index n = 0; n < labels.size(); ++n)
        if (n % length + 1 < length)
            losses[n] = cross_entropy<double>(RowVector<double>(logits.rows().row(n)), labels[n + 1]);
    return losses;
}

// An output matrix of its own, untied, is mistake 112.
Mistake mistake() {
    return {
        .number = 52,
        .name =
            "the head that predicts words lacks a part, has another eps or order, or takes the loss of other tokens",
        .symptom = "logits and loss are wrong although what the head reads is right",
        .betrays = "mlm.logits - mlm.transform E_word^T == bias; as many losses as labels above 0",
        .evidence = "transformers #15216, #15673, #18659; microsoft/DeBERTa #99, #74",
        .lesson = "13",
        .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"/mlm.transform", "/mlm.logits", "/mlm.loss", "/lm.clusters", "/lm.logits", "/lm.loss"},
        .variants = {
            transform("without its dense layer", {.dense = false}),
            transform("without its activation", {.activation = false}),
            transform("without its norm", {.norm = false}),
            transform("without all three", {.dense = false, .activation = false, .norm = false}),
            transform("its norm before its activation", {.norm_first = true}),
            transform("eps 1e-12", {.eps = 1e-12}),
            transform("eps 1e-6", {.eps = 1e-6}),
            transform("eps 1e-5", {.eps = 1e-5}),
            transform("eps 1e-3", {.eps = 1e-3}),
            {"without its bias",
             {without_bias("/mlm.logits", "/mlm.transform"),
              without_bias("/mlm.logits_at_positions", "/mlm.transform_at_positions"),
              {"/lm.clusters", {}, clusters_without_bias},
              {"/lm.logits", {}, language_logits_without_bias}}},
            {"a loss for tokens with label 0 too",
             {{"/mlm.loss", {"/mlm.logits"}, [](const Replay& at) { return losses(at, at("/mlm.logits"), true); }}}},
            {"the loss of the token that is read, not of the next one",
             {{"/lm.loss", {"/lm.logits"}, losses_of_tokens_read}}},
            {"the loss of the token that is read, not of its label",
             {{"/mlm.loss", {"/mlm.logits"}, losses_of_masked_text}}},
            {"labels that are the next tokens are shifted once more",
             {{"/lm.loss", {"/lm.logits"}, losses_shifted_twice}}},
            {"the loss of a label in the logits of the token before",
             {{"/mlm.loss", {"/mlm.logits"}, losses_of_the_token_before}}}}};
}

}  // namespace masked_word_head

namespace tied_table_counted_once {  // mistake 53

/// The table's gradient with one of its two shares alone.
std::vector<Formula> share(bool of_lookups) {
    return of_parameter("embeddings.word_embeddings.weight",
                        {"/grad.embeddings.sum", "/grad.mlm.logits", "/mlm.transform"}, [of_lookups](const Replay& at) {
                            const Matrix<double> one =
                                of_lookups ? word_table_of_lookups(at, add_lookups) : word_table_of_output(at);
                            return as_tensor<double>({one.rows(), one.cols()}, one);
                        });
}

Mistake mistake() {
    return {.number = 53,
            .name = "the gradient of the tied word table is counted once",
            .symptom = "the gradient of the word table is too small; all others are right",
            .betrays = "what is missing is (softmax(logits) - onehot)^T transform / N, or what lookups add",
            .evidence = "paiml/entrenar #314; NVIDIA/TransformerEngine #3437",
            .lesson = "29",
            .families = {Family::deberta},
            .stems = {"/grad.deberta.embeddings.word_embeddings.weight", "/grad.embeddings.word_embeddings.weight"},
            .variants = {{"only what its lookups add", share(true)}, {"only what the output adds", share(false)}}};
}

}  // namespace tied_table_counted_once

namespace replaced_tokens {  // mistake 54

Formula labels_by(const TokenRule& counts, const TokenRule& replaced) {
    return {"/rtd.labels", {}, [=](const Replay& at) { return replaced_labels(at, counts, replaced); }};
}

/// Tokens that should count, labelled by another rule.
Variant labelled(std::string how, const TokenRule& replaced) {
    return {std::move(how), {labels_by(is_visible, replaced)}};
}

/// The right labels of other tokens.
Variant counted(std::string how, const TokenRule& counts) {
    return {std::move(how),
            {labels_by(counts, is_replaced), {"/rtd.loss", {"/rtd.logits", "/rtd.labels"}, [=](const Replay& at) {
                                                  return replaced_losses(at, counts);
                                              }}}};
}

bool every_token(const DetectedToken&) { return true; }

/// One number, although padding holds no token: labels are right, what is averaged is not.
Tensor<double> mean_with_padding(const Replay& at) {
    const Replay everywhere = at.with({labels_by(every_token, is_replaced)});
    const Tensor<double> losses = replaced_losses(everywhere, every_token);
    double sum = 0;
    for (const double loss : losses.values()) sum += loss;
    return {{1}, {sum / static_cast<double>(losses.size())}};
}

/// What the head norms, as it is.
Formula not_normed(bool with_first) {
    return {"/rtd.norm", {}, [with_first](const Replay& at) { return detector_sum(at, with_first); }};
}

/// norm(h), without h_0.
Tensor<double> without_first(const Replay& at) {
    const Tensor<double> sum = detector_sum(at, false);
    return shaped(sum, layer_norm<double>(sum.rows(), detector_norm(at), config_of(at).layer_norm_eps));
}

/// The order of the head that predicts words: dense, activation, norm.
Tensor<double> normed_behind(const Replay& at) {
    const Tensor<double>& x = at("/rtd.norm");
    const Matrix<double> act = activate<double>(dense<double>(x.rows(), detector_dense(at)), config_of(at).hidden_act);
    return shaped(x, layer_norm<double>(act, detector_norm(at), config_of(at).layer_norm_eps));
}

Tensor<double> probabilities(const Replay& at) {
    return mapped(at.right("/rtd.logits"), [](double logit) { return 1 / (1 + std::exp(-logit)); });
}

// The stop-gradient that gradient-disentangled embedding sharing needs leaves every stage of a forward pass as it is,
// and no recorded gradient has both a generator and a discriminator: no hypothesis stands for it here.
Mistake mistake() {
    return {
        .number = 54,
        .name = "replaced-token detection labels correct guesses as replaced, counts other tokens, or has another head",
        .symptom =
            "the discriminator's loss stays at chance; without the stop-gradient of GDES, which no stage "
            "shows, the generator's embedding is pulled by the discriminator",
        .betrays = "the sum of rtd.labels; as many losses as visible tokens; d rtd loss / d E_G must be 0",
        .evidence = "google-research/electra #49; lucidrains/electra-pytorch #12; microsoft/DeBERTa #111 (GDES)",
        .lesson = "13",
        .families = {Family::deberta},
        .stems = {"/rtd.labels", "/rtd.loss", "/rtd.norm", "/rtd.transform", "/rtd.logits"},
        .variants = {
            labelled("every sampled token, correct guesses too",
                     [](const DetectedToken& token) { return token.original > 0; }),
            labelled("every token that is not its label, unsampled ones (label 0) too",
                     [](const DetectedToken& token) { return token.original != token.token; }),
            labelled("1 for original, 0 for replaced", [](const DetectedToken& token) { return !is_replaced(token); }),
            counted("padding counts", every_token),
            counted("sampled tokens alone count", [](const DetectedToken& token) { return token.original > 0; }),
            {"one mean over all tokens, padding too",
             {{"/rtd.loss", {"/rtd.logits", "/rtd.labels"}, mean_with_padding}}},
            {"the head norms h, without h_0", {{"/rtd.norm", {}, without_first}}},
            {"the head has no norm", {not_normed(true)}},
            {"the head has no norm and no h_0, as ELECTRA's", {not_normed(false)}},
            {"the head norms behind its activation, as the one that predicts words",
             {not_normed(true), {"/rtd.transform", {"/rtd.norm"}, normed_behind}}},
            {"probabilities stand for logits", {{"/rtd.logits", {"/rtd.transform"}, probabilities}}}}};
}

}  // namespace replaced_tokens

namespace perturbed_embeddings {  // mistake 55

/// A gradient of 0, as padding has it, goes nowhere.
double over(double entry, double divisor) { return entry == 0 ? 0 : entry / divisor; }

double largest(const Matrix<double>& part) { return part.cwiseAbs().maxCoeff(); }
double length(const Matrix<double>& part) { return part.norm(); }

/// Parts of `rows` tokens each divided by a size of their own; 0: all tokens are one part.
SiftDirection divided_by_size(double (*size)(const Matrix<double>&), Index rows, double eps) {
    return [=](const Tensor<double>& grad) {
        const Index tokens = grad.rows().rows(), step = rows == 0 ? tokens : rows < 0 ? grad.extent(1) : rows;
        Tensor<double> direction(grad.shape());
        for (Index first = 0; first < tokens; first += step) {
            const Matrix<double> part = grad.rows().middleRows(first, step);
            const double divisor = eps + size(part);
            direction.rows().middleRows(first, step) =
                part.unaryExpr([&](double entry) { return over(entry, divisor); });
        }
        return direction;
    };
}

constexpr Index kToken = 1, kSample = -1, kBatch = 0;

Variant step(std::string how, SiftDirection direction) {
    return {
        std::move(how),
        {{"/sift.delta", {"/sift.delta0", "/sift.grad"}, [=](const Replay& at) { return sift_step(at, direction); }}}};
}

Tensor<double> embedding_rows(const Replay& at) {
    return shaped(at("/embeddings.word"), embedding_sum(at, at.deberta().config().position_biased_input));
}

/// What the embeddings' own norm gives, weights and all.
Tensor<double> embedding_behind_norm(const Replay& at, bool masked) {
    const auto& weights = at.deberta();
    Tensor<double> rows = embedding_rows(at);
    rows.rows() =
        layer_norm<double>(rows.rows(), weights.norm("embeddings.LayerNorm"), weights.config().layer_norm_eps);
    if (masked) hide_tokens(at, rows);
    return rows;
}

Variant behind_norm(std::string how, bool masked) {
    std::vector<Formula> formulas = sift_answer_formulas(true);
    formulas.push_back(
        {"/sift.xhat", {"/embeddings.word"}, [masked](const Replay& at) { return embedding_behind_norm(at, masked); }});
    return {std::move(how), std::move(formulas)};
}

double true_divergence(const RowVector<double>& s, const RowVector<double>& t) {
    return cross_entropy_of(t, s) - cross_entropy_of(t, t) + cross_entropy_of(s, t) - cross_entropy_of(s, s);
}

double sign(double entry) { return entry > 0 ? 1 : entry < 0 ? -1 : 0; }

Mistake mistake() {
    return {
        .number = 55,
        .name = "SiFT perturbs something else, normalises its step by something else, or expects a loss of 0",
        .symptom = "training is unstable, or the \"KL\" is off by an amount that equal answers do not explain",
        .betrays = "per token max |delta - delta0| == eta; loss minus the entropies of both rows == true KL + KL",
        .evidence = "microsoft/DeBERTa #145, #85",
        .lesson = "14",
        .families = {Family::deberta},
        .stems = {"/sift.xhat", "/sift.delta", "/sift.loss0", "/sift.loss"},
        .variants = {
            {"noise on the embedding sum, not normed", {{"/sift.xhat", {"/embeddings.word"}, embedding_rows}}},
            behind_norm("noise after the embeddings' own norm", false),
            behind_norm("noise after the embeddings' own norm and mask", true),
            step("step over the largest entry of the whole batch", divided_by_size(largest, kBatch, 1e-6)),
            step("step over the largest entry of the sample", divided_by_size(largest, kSample, 1e-6)),
            step("step over the length of the token's gradient", divided_by_size(length, kToken, 1e-6)),
            step("step over the length of the token's gradient, no eps", divided_by_size(length, kToken, 0)),
            step("step over the length of the sample's gradient", divided_by_size(length, kSample, 1e-6)),
            step("step over the length of the sample's gradient, no eps", divided_by_size(length, kSample, 0)),
            step("step over the length of the batch's gradient", divided_by_size(length, kBatch, 1e-6)),
            step("step over the length of the batch's gradient, no eps", divided_by_size(length, kBatch, 0)),
            step("step by the signs of the gradient", [](const Tensor<double>& grad) { return mapped(grad, sign); }),
            step("step by the gradient as it is", [](const Tensor<double>& grad) { return grad; }),
            {"true KL + KL, the entropies taken away", sift_loss_formulas(true_divergence)}}};
}

}  // namespace perturbed_embeddings

std::vector<Mistake> head_and_objective_mistakes() {
    return {
        hidden_states_off_by_one::mistake(),  // 51
        masked_word_head::mistake(),          // 52
        tied_table_counted_once::mistake(),   // 53
        replaced_tokens::mistake(),           // 54
        perturbed_embeddings::mistake(),      // 55
    };
}

// Mistake 112.  A head that is not tied to the words.

namespace head_not_tied {  // mistake 112

/// Where checkpoints keep a second [V,E], which the words' own table stands in place of.
constexpr const char* kOtherTables[] = {"cls.predictions.decoder.weight", "lm_predictions.lm_head.decoder.weight",
                                        "lm_predictions.lm_head.weight", "lm_head.decoder.weight", "lm_head.weight"};

/// mlm.transform against the table of that name [V,E].
Tensor<double> logits_of(const Replay& at, const std::string& table) {
    const Tensor<double>& x = at("/mlm.transform");
    const RowVector<double> bias = head_parts(at).bias;
    return logits_of(at, "/mlm.logits", x, x.rows(), {table, bias.size(), bias});
}

Tensor<double> logits_of_another_table(const Replay& at) {
    const Shape words = {head_parts(at).bias.size(), at("/mlm.transform").extent(2)};
    const std::string right = output_of(at).table;
    for (const char* name : kOtherTables)
        if (name != right && at.model().source->shape(name) == words) return logits_of(at, name);
    throw NotEnough{"a second output matrix in the checkpoint"};
}

/// What a port makes of a head whose own matrix it ties away.
Tensor<double> logits_of_the_words(const Replay& at) {
    const std::string words = "embeddings.word_embeddings.weight";
    if (output_of(at).table == words) throw NotEnough{"a head with an output matrix of its own"};
    return logits_of(at, words);
}

/// The same of an adaptive softmax: all its tables are the words' own, or none.
AdaptiveHead adaptive_head_of_the_other(const Replay& at, bool tied) {
    if (!is_adaptive(at)) throw NotEnough{"an adaptive softmax"};
    TransformerXlConfig config = at.transformer_xl();
    if (config.tied_output != tied || (tied && !at.model().source->shape("crit.out_layers.0.weight")))
        throw NotEnough{"a second output matrix in the checkpoint"};
    config.tied_output = !tied;
    return adaptive_head(at, config, order_of_clusters(at));
}

/// Transformer-XL and XLNet: by the table that is not the head's, where it is tied or is not.
Tensor<double> language_logits_of_the_other(const Replay& at, bool tied) {
    if (is_adaptive(at)) return adaptive_head_of_the_other(at, tied).logits;
    const LanguageHead head = language_head(at);
    const bool is_tied = at.family() == Family::xlnet ? at.xlnet().tied_output : at.transformer_xl().tied_output;
    if (is_tied != tied || at.model().source->shape(head.other) != Shape{head.words, head.rows.cols()})
        throw NotEnough{"a second output matrix in the checkpoint"};
    return language_logits(at, head, head.other, head.bias);
}

Mistake mistake() {
    return {
        .number = 112,
        .name =
            "the head that predicts words has an output matrix of its own instead of the word table, or the reverse",
        .symptom = "words are guessed at random although the encoder and mlm.transform are right",
        .betrays = "mlm.logits is linear in mlm.transform, by a matrix that is not E_word",
        .evidence = "",
        .lesson = "13",
        .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
        .stems = {"/mlm.logits", "/lm.clusters", "/lm.logits"},
        .variants = {
            {"another matrix of the checkpoint",
             {{"/mlm.logits", {"/mlm.transform"}, logits_of_another_table},
              {"/lm.clusters", {}, [](const Replay& at) { return adaptive_head_of_the_other(at, true).clusters; }},
              {"/lm.logits", {}, [](const Replay& at) { return language_logits_of_the_other(at, true); }}}},
            {"the word table, although the head has a matrix of its own",
             {{"/mlm.logits", {"/mlm.transform"}, logits_of_the_words},
              {"/lm.clusters", {}, [](const Replay& at) { return adaptive_head_of_the_other(at, false).clusters; }},
              {"/lm.logits", {}, [](const Replay& at) { return language_logits_of_the_other(at, false); }}}},
            {"a matrix that no file holds", {{"/mlm.logits", {"/mlm.transform"}, fitted_logits}}}}};
}

}  // namespace head_not_tied

std::vector<Mistake> untied_head_mistakes() { return {head_not_tied::mistake()}; }

}  // namespace locus::conformance
