#include "core/stages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <tuple>

namespace locus {

namespace {

/// Where a name stands: "segment.1.layer.3.g.q" is {segment 1, layer, 3, query stream, "q"}.
enum class Group { embeddings, relative, rotary, positions, layer, memory, classifier, emd, mlm, lm, rtd, sift, grad };

struct Row {
    Group group;
    const char* stem;  // what follows "layer.{l}." and its like
    const char* axes;  // separated by spaces
    const char* formula;
    const char* source;
    const char* meaning;
};

constexpr const char* kDeberta = "He et al. 2021, eq. 4; microsoft/DeBERTa disentangled_attention.py";
constexpr const char* kEmbeddings = "microsoft/DeBERTa bert.py BertEmbeddings";
constexpr const char* kLayer = "microsoft/DeBERTa bert.py BertLayer";
constexpr const char* kConv = "microsoft/DeBERTa bert.py ConvLayer";
constexpr const char* kClassifier =
    "transformers modeling_deberta_v2.py ContextPooler, DebertaV2ForSequenceClassification";
constexpr const char* kDecoder = "microsoft/DeBERTa masked_language_model.py EnhancedMaskDecoder";
constexpr const char* kHead = "microsoft/DeBERTa bert.py BertLMPredictionHead";
constexpr const char* kRope = "Su et al. 2021, eq. 34; transformers modeling_roformer.py";
constexpr const char* kLinear = "Katharopoulos et al. 2020; Su et al. 2021, eq. 19";
constexpr const char* kFire = "Li et al. 2023, eq. 2 and 3";
constexpr const char* kXl = "Dai et al. 2019, section 3.3; transformer-xl mem_transformer.py, xlnet modeling.py";
constexpr const char* kRtd = "He et al. 2023; microsoft/DeBERTa replaced_token_detection_model.py";
constexpr const char* kSift = "He et al. 2021, section 4; microsoft/DeBERTa sift.py";

// The contract, in the order in which a model computes.  Names and shapes are shared with ports, files and pictures.
constexpr Row kStageRows[] = {
    {Group::embeddings, "word", "B T E", "E_word[token]", kEmbeddings, "rows of the word table"},
    {Group::embeddings, "output", "B T D", "mask * norm(proj(word + type + position))", kEmbeddings,
     "what the first layer sees"},
    {Group::relative, "index", "Tq Tk", "delta(i,j)", "He et al. 2021, eq. 3; microsoft/DeBERTa da_utils.py",
     "row of the relative table used for (i,j)"},
    {Group::relative, "table", "2k D", "norm(P)", kDeberta, "the relative table after its norm, if it has one"},
    {Group::relative, "ratio", "Tq Tk", "psi(i - j) / psi(max(L, i))", kFire,
     "log of the distance over log of max(L, i)"},
    {Group::relative, "bias", "H Tq Tk", "f(ratio)", kFire, "number added to each score"},
    {Group::rotary, "sin", "T d/2", "sin(m theta_t)", kRope, "one value per pair"},
    {Group::rotary, "cos", "T d/2", "cos(m theta_t)", kRope, "one value per pair"},
    {Group::positions, "r", "R D", "sinusoid(distance)", kXl, "sinusoid rows, in the order of the implementation"},
    {Group::positions, "r_backward", "R D", "sinusoid(-distance)", kXl, "rows for the second half of the batch"},
    {Group::layer, "q", "B H T d", "x_q W_q^T + b_q", kDeberta, "queries, before any scale"},
    {Group::layer, "k", "B H T d", "x W_k^T + b_k", kDeberta, "keys, before any scale; DeBERTa 1 has no b_k"},
    {Group::layer, "v", "B H T d", "x W_v^T + b_v", kDeberta, "values"},
    {Group::layer, "q_r", "H 2k d", "relative.table W_q,r^T + b", kDeberta, "position queries, before any scale"},
    {Group::layer, "k_r", "H 2k d", "relative.table W_k,r^T + b", kDeberta,
     "position keys, before any scale; DeBERTa 1 has no b"},
    {Group::layer, "r_k", "H R d", "r W_k,R", kXl, "projected sinusoids"},
    {Group::layer, "r_k_backward", "H R d", "r_backward W_k,R", kXl, "projected, second half of the batch"},
    {Group::layer, "q_rot", "B H T d", "R_m q_m", kRope, "rotated queries"},
    {Group::layer, "k_rot", "B H T d", "R_n k_n", kRope, "rotated keys"},
    {Group::layer, "v_rot", "B H T d", "R_n v_n", kRope, "rotated values"},
    {Group::layer, "phi_q", "B H T d", "elu(q_m) + 1", kLinear, "positive features of queries; linear attention"},
    {Group::layer, "phi_k", "B H T d", "elu(k_n) + 1", kLinear, "positive features of keys; 0 for padding"},
    {Group::layer, "phi_q_rot", "B H T d", "R_m phi_q_m", kLinear, "rotated features of queries"},
    {Group::layer, "phi_k_rot", "B H T d", "R_n phi_k_n", kLinear, "rotated features of keys"},
    {Group::layer, "denominator", "B H Tq", "sum_j phi_q_i . phi_k_j", kLinear,
     "sum over the features before rotation; at least 1e-6"},
    {Group::layer, "weights", "B H Tq Tk", "phi_q_rot_i . phi_k_rot_j / denominator_i", kLinear,
     "what values are summed with, in place of probs; may be negative"},
    {Group::layer, "c2c", "B H Tq Tk", "q_i . k_j", kDeberta, "content to content, raw"},
    {Group::layer, "c2p", "B H Tq Tk", "q_i . k_r[delta(i,j)]", kDeberta, "content to position, raw"},
    {Group::layer, "p2c", "B H Tq Tk", "k_j . q_r[delta(i,j)]", kDeberta, "position to content, raw"},
    {Group::layer, "bias.u", "H d", "u", kXl, "content bias, the same for every query"},
    {Group::layer, "bias.v", "H d", "v", kXl, "position bias, the same for every query"},
    {Group::layer, "ac", "B H Tq Tk", "(q_i + u) . k_j", kXl, "content term"},
    {Group::layer, "bd_raw", "B H Tq R", "(q_i + v) . r_k", kXl, "position term before the shift"},
    {Group::layer, "bd", "B H Tq Tk", "shift(bd_raw), 0 where hidden", kXl, "position term after the shift"},
    {Group::layer, "ef", "B H Tq Tk", "(q_i + s) . seg", kXl, "segment term"},
    {Group::layer, "scores", "B H Tq Tk", "(c2c + c2p + p2c) / sqrt(n d)", kDeberta, "scaled sum, before the mask"},
    {Group::layer, "scores_mixed", "B H Tq Tk", "W_l scores", "transformers modeling_deberta.py, talking heads",
     "scores mixed over heads; probs is their softmax"},
    {Group::layer, "probs", "B H Tq Tk", "softmax_j(scores)", kDeberta,
     "after the mask; hidden cells exactly 0 (hf: 1/Tk in a row that sees no key)"},
    {Group::layer, "keep", "B H Tq Tk", "0 or 1 / (1 - p)", kDeberta, "what dropout multiplies probs with"},
    {Group::layer, "probs_mixed", "B H Tq Tk", "W_w probs", "transformers modeling_deberta.py, talking heads",
     "probabilities mixed over heads; context is probs_mixed v"},
    {Group::layer, "context", "B T H*d", "probs v, heads joined", kDeberta, "before the output dense"},
    {Group::layer, "attention", "B T D", "norm(dense(context) + x_q)", kLayer, "after dense, residual and norm"},
    {Group::layer, "ffn_act", "B T F", "gelu(dense_1(attention))", kLayer, "first dense after its activation"},
    {Group::layer, "ffn", "B T D", "dense_2(ffn_act)", kLayer, "second dense, before the residual"},
    {Group::layer, "output_before_conv", "B T D", "norm(ffn + attention)", kConv, "the plain layer output"},
    {Group::layer, "conv", "B T D", "conv1d(embeddings.output) + b", kConv, "convolution of the encoder's input"},
    {Group::layer, "conv_act", "B T D", "act(mask * conv)", kConv, "after mask and activation"},
    {Group::layer, "output", "B T D", "norm(ffn + attention)", kLayer, "what the next layer sees"},
    {Group::memory, "", "B M D", "last M rows of [memory; input of layer l]", kXl,
     "memory handed to the next segment; the last l of Transformer-XL holds its output, which nothing reads"},
    {Group::classifier, "pooled", "B D", "act(dense(h_0))", kClassifier,
     "one row for the whole text, of its first token (XLNet: summary_type, the last unless said); act as config.json "
     "says"},
    {Group::classifier, "logits", "B C", "pooled W^T + b", kClassifier, "one logit per class of the text"},
    {Group::classifier, "token_logits", "B T C", "h W^T + b",
     "transformers modeling_deberta_v2.py DebertaV2ForTokenClassification, DebertaV2ForQuestionAnswering",
     "one logit per token and class; of answers: start and end"},
    {Group::emd, "query", "B T D", "I + h", kDecoder, "absolute positions + the input of the last layer"},
    {Group::mlm, "transform", "B T E", "norm(gelu(dense(x)))", kHead, "what meets the word table"},
    {Group::mlm, "logits", "B T V", "transform E_word^T + b", kHead,
     "one logit per word; a head that is not tied has a table of its own"},
    {Group::mlm, "positions", "N 2", "(sample, token)", kHead, "where the masked tokens stand"},
    {Group::mlm, "transform_at_positions", "N E", "transform[positions]", kHead, "rows of the masked tokens"},
    {Group::mlm, "logits_at_positions", "N V", "logits[positions]", kHead, "rows of the masked tokens"},
    {Group::mlm, "loss", "N", "-log softmax(logits)[label]", kHead, "one cross entropy per target"},
    {Group::lm, "clusters", "B T C", "log p(cluster n), n > 0", kXl,
     "first choice of an adaptive softmax: log-probability of each cluster of rarer words"},
    {Group::lm, "logits", "B T V", "x W^T + b", kXl,
     "one logit per word; of an adaptive softmax log p(cluster) + log p(word | cluster)"},
    {Group::lm, "loss", "N", "-log softmax(logits)[label]", kXl, "one cross entropy per target that is used"},
    {Group::rtd, "norm", "B T D", "norm(h_0 + h)", kRtd, "first position added to all"},
    {Group::rtd, "transform", "B T D", "gelu(dense(norm))", kRtd, "before the classifier"},
    {Group::rtd, "logits", "B T", "classifier(transform)", kRtd, "one logit per token: replaced?"},
    {Group::rtd, "labels", "N", "token != original", kRtd, "1 where a token was replaced"},
    {Group::rtd, "loss", "N", "binary cross entropy", kRtd, "one loss per visible token"},
    {Group::sift, "xhat", "B T D", "norm(proj(word + type + position))", kSift,
     "what is perturbed: no weights in norm"},
    {Group::sift, "delta0", "B T D", "min(max(noise, -2 sigma), 2 sigma)", kSift,
     "the perturbation that a step starts from"},
    {Group::sift, "logits_clean", "N V", "f(xhat)", kSift, "p, rows of the targets"},
    {Group::sift, "logits0", "N V", "f(xhat + delta0)", kSift, "p_0, rows of the targets"},
    {Group::sift, "loss0", "N", "H(p, p_0) + H(p_0, p)", kSift,
     "two cross entropies per target, H(a, b) = -sum a log b, not 0 for equal rows"},
    {Group::sift, "grad", "B T D", "d sum(loss0) / d delta0", kSift,
     "gradient; p and the p_0 before log p are held: d/d logits0 = p_0 - p"},
    {Group::sift, "delta", "B T D", "delta0 + eta grad / (1e-6 + max_D |grad|)", kSift, "one step, token by token"},
    {Group::sift, "logits", "N V", "f(xhat + delta)", kSift, "p', rows of the targets"},
    {Group::sift, "loss", "1", "mean(H(p, p') + H(p', p))", kSift,
     "the loss that the model learns from; probabilities before a log are held"},
};

/// What other families compute under a name of the table above.
struct Other {
    Scheme scheme;
    Group group;
    const char *stem, *formula;
    const char* axes = nullptr;  // where they are others, too
};

constexpr const char* kRoformer = "Su et al. 2021; transformers modeling_roformer.py";
constexpr const char* kTransformerXl = "Dai et al. 2019, section 3.3; transformer-xl mem_transformer.py";
constexpr const char* kTransformer = "Vaswani et al. 2017, section 3";
constexpr const char* kXlnet = "Yang et al. 2019, section 2.3-2.5; xlnet modeling.py";

/// Gradients whose equation is worth a line; all others are said to be those of their stage.
struct Gradient {
    Scheme scheme;
    Group group;
    const char *stem, *formula;
};

constexpr Gradient kGradients[] = {
    {Scheme::disentangled, Group::mlm, "logits", "(softmax(logits) - onehot(label)) / N at the N targets, else 0"},
    {Scheme::disentangled, Group::mlm, "transform", "d_logits E_word"},
    {Scheme::disentangled, Group::layer, "ffn", "norm_backward(d_output), the norm of ffn + attention"},
    {Scheme::disentangled, Group::layer, "ffn_act", "d_ffn W_2"},
    {Scheme::disentangled, Group::layer, "attention", "d_ffn + (gelu'(dense_1(attention)) * d_ffn_act) W_1"},
    {Scheme::disentangled, Group::layer, "context", "norm_backward(d_attention) W_o, the norm of dense(context) + x_q"},
    {Scheme::disentangled, Group::layer, "output",
     "of the layer after: norm_backward(d_attention) + d_q W_q + d_k W_k + d_v W_v"},
    {Scheme::disentangled, Group::emd, "query", "of emd.0: norm_backward(d_attention) + d_q W_q"},
    {Scheme::disentangled, Group::relative, "table", "sum over layers and decoder passes of d_k_r W_k,r + d_q_r W_q,r"},
    {Scheme::disentangled, Group::embeddings, "output",
     "of layer 0: norm_backward(d_attention) + d_q W_q + d_k W_k + d_v W_v"},
    {Scheme::disentangled, Group::layer, "probs", "(d_context_i . v_j) * keep"},
    {Scheme::disentangled, Group::layer, "scores", "probs * (d_probs - sum_j probs * d_probs)"},
    {Scheme::disentangled, Group::layer, "q",
     "d_S k + G_c k_r with d_S = d_scores / sqrt(n d), G_c[i,delta(i,j)] += d_S"},
    {Scheme::disentangled, Group::layer, "k", "d_S^T q + G_p^T q_r with G_p[delta(i,j),j] += d_S"},
    {Scheme::disentangled, Group::layer, "v", "(probs * keep)^T d_context"},
    {Scheme::disentangled, Group::layer, "q_r", "sum_b G_p k"},
    {Scheme::disentangled, Group::layer, "k_r", "sum_b G_c^T q"},
    {Scheme::rotary, Group::layer, "probs", "d_context_i . v_j"},
    {Scheme::rotary, Group::layer, "scores", "probs * (d_probs - sum_j probs * d_probs)"},
    {Scheme::rotary, Group::layer, "q", "R_-m d_q_rot with d_q_rot = d_scores k_rot / sqrt(d)"},
    {Scheme::rotary, Group::layer, "k", "R_-n d_k_rot with d_k_rot = d_scores^T q_rot / sqrt(d)"},
    {Scheme::rotary, Group::layer, "v", "probs^T d_context, rotated back if v was rotated"},
    {Scheme::transformer_xl, Group::layer, "probs", "d_context_i . v_j"},
    {Scheme::transformer_xl, Group::layer, "scores", "probs * (d_probs - sum_j probs * d_probs)"},
    {Scheme::transformer_xl, Group::layer, "q", "(d_scores k + unshift(d_scores) r_k) / sqrt(d)"},
    {Scheme::transformer_xl, Group::layer, "k", "d_scores^T (q + u) / sqrt(d)"},
    {Scheme::transformer_xl, Group::layer, "v", "probs^T d_context"},
    {Scheme::transformer_xl, Group::layer, "r_k", "sum_b unshift(d_scores)^T (q + v) / sqrt(d)"},
    {Scheme::transformer_xl, Group::layer, "bias.u", "sum_b,i d_scores k / sqrt(d)"},
    {Scheme::transformer_xl, Group::layer, "bias.v", "sum_b,i unshift(d_scores) r_k / sqrt(d)"},
};

/// The source of every stage that is not DeBERTa's.
const char* source_of(Scheme scheme) {
    if (scheme == Scheme::absolute) return kTransformer;
    return scheme == Scheme::rotary ? kRoformer : scheme == Scheme::transformer_xl ? kTransformerXl : kXlnet;
}

constexpr Other kOthers[] = {
    {Scheme::disentangled_ji, Group::layer, "p2c", "k_j . q_r[delta(j,i)]"},
    {Scheme::rotary, Group::embeddings, "output", "proj(norm(word + type))"},
    {Scheme::rotary, Group::layer, "scores", "q_rot_i . k_rot_j / sqrt(d)"},
    {Scheme::transformer_xl, Group::embeddings, "output", "sqrt(D) proj(word)"},
    {Scheme::transformer_xl, Group::layer, "q", "x_i W_q^T; with pre_lnorm of norm(x)"},
    {Scheme::transformer_xl, Group::layer, "k", "[memory; x]_j W_k,E^T; with pre_lnorm of norm([memory; x])",
     "B H Tk d"},
    {Scheme::transformer_xl, Group::layer, "v", "[memory; x]_j W_v^T; with pre_lnorm of norm([memory; x])", "B H Tk d"},
    {Scheme::transformer_xl, Group::layer, "r_k", "r W_k,R^T"},
    {Scheme::transformer_xl, Group::layer, "scores", "(ac + bd) / sqrt(d)"},
    {Scheme::transformer_xl, Group::layer, "attention",
     "norm(dense(context) + x_q); with pre_lnorm dense(context) + x_q"},
    {Scheme::transformer_xl, Group::layer, "ffn_act", "relu(dense_1(attention)); with pre_lnorm of norm(attention)"},
    {Scheme::transformer_xl, Group::layer, "output", "norm(ffn + attention); with pre_lnorm ffn + attention"},
    {Scheme::transformer_xl, Group::lm, "loss", "-log softmax(logits)[label]", "B T"},
    {Scheme::two_stream, Group::embeddings, "output", "word"},
    {Scheme::two_stream, Group::layer, "q", "h_i W_q, in the query stream g_i W_q"},
    {Scheme::two_stream, Group::layer, "k", "[memory; h]_j W_k", "B H Tk d"},
    {Scheme::two_stream, Group::layer, "v", "[memory; h]_j W_v", "B H Tk d"},
    {Scheme::two_stream, Group::layer, "scores", "(ac + bd + ef) / sqrt(d)"},
    {Scheme::two_stream, Group::layer, "ffn_act", "act(dense_1(attention))"},
    {Scheme::two_stream, Group::classifier, "pooled", "tanh(dense(h_T-1))"},
    {Scheme::absolute, Group::embeddings, "output", "sqrt(D) word + sinusoid(position)"},
    {Scheme::absolute, Group::positions, "r", "sinusoid(position)"},
    {Scheme::absolute, Group::layer, "scores", "q_i . k_j / sqrt(d)"},
    {Scheme::absolute, Group::layer, "ffn_act", "relu(dense_1(x))"},
    {Scheme::absolute, Group::layer, "output", "norm(ffn + x)"},
    {Scheme::absolute, Group::lm, "logits", "x E_word^T"},
};

constexpr const char* kGroupNames[] = {"embeddings", "relative", "rotary", "positions", "layer", "memory", "classifier",
                                       "emd",        "mlm",      "lm",     "rtd",       "sift",  "grad"};

/// "layer.12.q" -> takes "layer", leaves "12.q".
std::string take_part(std::string& rest) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const std::string part = rest.substr(0, dot);
    rest.erase(0, std::min(dot + 1, rest.size()));
    return part;
}

std::optional<int> as_number(const std::string& text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
    return value;
}

struct Place {
    int segment = -1;
    Group group = Group::grad;
    int number = -1;  // layer or decoder pass
    bool query_stream = false;
    bool gradient = false;                    // of the stage that the rest describes, or of a parameter
    std::size_t row = std::size(kStageRows);  // in the table; its end for gradients of parameters
};

std::size_t find_row(Group group, const std::string& stem) {
    for (std::size_t row = 0; row < std::size(kStageRows); ++row)
        if (kStageRows[row].group == group && stem == kStageRows[row].stem) return row;
    return std::size(kStageRows);
}

std::optional<Place> find_place(std::string rest);

/// "layer.0.q" after "grad." is a stage, "layer.0.quary" a slip of the pen, and "deberta.embeddings.LayerNorm.bias" or
/// "layer.0.rel_attn.q" a parameter: its name has one dot more, or begins with no group of stages.
std::optional<Place> find_gradient(const std::string& of) {
    if (of.empty() || of.starts_with("grad.") || of.starts_with("sift.")) return std::nullopt;
    Place parameter;
    parameter.gradient = true;
    if (auto stage = find_place(of)) {
        stage->gradient = true;
        return stage;
    }
    std::string rest = of;
    const std::string group = take_part(rest);
    if (group != "layer" && group != "emd" && group != "mlm" && group != "lm") return parameter;
    if (as_number(rest.substr(0, rest.find('.')))) take_part(rest);
    return rest.find('.') == std::string::npos ? std::nullopt : std::optional(parameter);
}

std::optional<Place> find_place(std::string rest) {
    Place place;
    std::string part = take_part(rest);
    if (part == "segment") {
        const auto segment = as_number(take_part(rest));
        if (!segment) return std::nullopt;
        place.segment = *segment;
        part = take_part(rest);
    }
    const auto group = std::find(std::begin(kGroupNames), std::end(kGroupNames), part);
    if (group == std::end(kGroupNames)) return std::nullopt;
    place.group = static_cast<Group>(group - std::begin(kGroupNames));
    if (place.group == Group::grad) return find_gradient(rest);

    const bool decoder_query = place.group == Group::emd && rest.starts_with("query.");
    if (decoder_query) take_part(rest);
    if (place.group == Group::layer || place.group == Group::emd || place.group == Group::memory) {
        const auto number = as_number(take_part(rest));
        if (!number) return std::nullopt;
        place.number = *number;
    }
    if (place.group == Group::layer && rest.starts_with("g.")) {
        take_part(rest);
        place.query_stream = true;
    }
    const bool as_layer = place.group == Group::emd && !decoder_query;
    place.row = decoder_query ? find_row(Group::emd, "query") : find_row(as_layer ? Group::layer : place.group, rest);
    if (place.row == std::size(kStageRows)) return std::nullopt;
    return place;
}

auto sort_key(const Place& place) {
    // emd.query.0 comes before emd.0.q, though its row comes after the layer's in the table.
    const bool decoder_query =
        place.group == Group::emd && place.row < std::size(kStageRows) && kStageRows[place.row].group == Group::emd;
    const int row = decoder_query ? 0 : static_cast<int>(place.row) + 1;
    // A backward pass comes after all segments and runs from the end to the beginning; parameters are read last.
    const int turn = place.gradient ? -1 : 1;
    const bool parameter = place.gradient && place.row == std::size(kStageRows);
    return std::make_tuple(place.gradient, parameter, turn * place.segment, turn * static_cast<int>(place.group),
                           turn * place.number, turn * int{place.query_stream}, turn * row);
}

/// What is said of a gradient: axes are those of what it belongs to.
StageDescription as_gradient(StageDescription of, const Row& row, const std::string& stage, Scheme scheme) {
    of.meaning = "gradient of the loss with respect to " + stage + ": " + of.meaning;
    of.formula = "d loss / d " + stage;
    for (const Gradient& each : kGradients)
        if (each.scheme == scheme && each.group == row.group && std::string(each.stem) == row.stem)
            of.formula = each.formula;
    return of;
}

}  // namespace

std::vector<std::string> known_stages() {
    std::vector<std::string> names;
    for (const Row& row : kStageRows) {
        std::string name = kGroupNames[static_cast<std::size_t>(row.group)];
        if (row.group == Group::layer || row.group == Group::memory) name += ".0";
        if (row.stem[0] != '\0') name += "." + std::string(row.stem);
        if (row.group == Group::emd) name += ".0";
        names.push_back(name);
    }
    return names;
}

std::optional<StageDescription> describe_stage(const std::string& name, Scheme scheme) {
    const auto place = find_place(name);
    if (!place) return std::nullopt;
    if (place->row == std::size(kStageRows)) return StageDescription{{}, "", "", "explained where it is used"};
    const Row& row = kStageRows[place->row];
    StageDescription description{{}, row.formula, row.source, row.meaning};
    const bool deberta = scheme == Scheme::disentangled || scheme == Scheme::disentangled_ji;
    if (!deberta) description.source = source_of(scheme);
    std::string axes = row.axes;
    for (const Other& other : kOthers)
        if (other.scheme == scheme && other.group == row.group && std::string(other.stem) == row.stem) {
            description.formula = other.formula;
            if (other.axes) axes = other.axes;
        }
    while (!axes.empty()) {
        const std::size_t space = std::min(axes.find(' '), axes.size());
        description.axes.push_back(axes.substr(0, space));
        axes.erase(0, std::min(space + 1, axes.size()));
    }
    if (place->gradient) return as_gradient(std::move(description), row, name.substr(5), scheme);
    return description;
}

bool stage_comes_before(const std::string& a, const std::string& b) {
    const auto place_a = find_place(a), place_b = find_place(b);
    if (!place_a || !place_b) return place_a ? true : place_b ? false : a < b;
    const auto key_a = sort_key(*place_a), key_b = sort_key(*place_b);
    if (key_a != key_b) return key_a < key_b;
    // Names of parameters sort as a forward pass meets them, roughly: embeddings, encoder, head.
    return place_a->gradient ? b < a : a < b;
}

int number_in_name(const std::string& name, std::size_t at) {
    int number = 0;
    const char* end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + std::min(at, name.size()), end, number);
    return read.ec == std::errc::result_out_of_range ? std::numeric_limits<int>::max() : std::max(number, 0);
}

int segment_of(const std::string& name) { return name.starts_with("segment.") ? number_in_name(name, 8) : 0; }

}  // namespace locus
