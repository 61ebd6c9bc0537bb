// The formulas that Transformer-XL and XLNet share.  Dai et al. 2019, section 3.3; modeling_xlnet.py of transformers.
#include "core/conformance/formulas/transformer_xl.h"

#include <algorithm>
#include <cmath>

#include "core/attention/relative.h"
#include "core/conformance/formulas/layers.h"
#include "core/models/transformer_xl.h"
#include "core/models/xlnet.h"
#include "core/positions/position_rows.h"
#include "core/products.h"

namespace locus::conformance {

namespace {

bool is_xlnet(const Replay& at) { return at.family() == Family::xlnet; }

/// Rows of the samples that are read backwards come from r_k_backward.
Tensor<double> bd_raw_of(const Replay& at) {
    const Tensor<double> asked = biased(at("q"), at("bias.v"));
    const Tensor<double>& r_k = at("r_k");
    const bool both_ways = is_xlnet(at) && at.xlnet().bi_data;
    const Index batch = asked.extent(0);
    return without_unused(at, each_head(asked, asked.extent(2), r_k.extent(1), [&](Index n, Index h, Index b) {
                              const Tensor<double>& rows = both_ways && b >= batch / 2 ? at("r_k_backward") : r_k;
                              return products_of_rows<double>(asked.matrix(n), rows.matrix(h));
                          }));
}

Tensor<double> bd_of(const Replay& at) {
    const Index first = first_distance(at), memory = at.remembered();
    return without_hidden(at, shifted_by(at, at("bd_raw"), [&](Index token, Index key) {
                              return distance_column(first, memory, token, key);
                          }));
}

Tensor<double> txl_scores_of(const Replay& at) {
    Tensor<double> sum = sum_of(at("ac"), at("bd"));
    if (is_xlnet(at) && !at.input().token_types.empty()) sum = sum_of(std::move(sum), at("ef"));
    const double root = std::sqrt(static_cast<double>(at("q").extent(3)));
    return mapped(std::move(sum), [&](double score) { return score / root; });
}

Tensor<double> memory_before_of(const Replay& at) {
    const Index layer = at.layer();
    if (at.segment() > 0)
        return at.elsewhere("segment." + std::to_string(at.segment() - 1) + ".layer." + std::to_string(layer) +
                            ".")("memory");
    const std::vector<Tensor<double>>& given = at.input().memories;
    if (!given.empty()) return given.at(static_cast<std::size_t>(layer));
    return Tensor<double>({at.input().batch(), at.remembered(), at("x").extent(2)});
}

}  // namespace

Tensor<double> sinusoids_of(const Replay& at, const std::vector<double>& distances, SinusoidLayout layout) {
    const Index width = is_xlnet(at) ? at.xlnet().d_model : at.transformer_xl().d_model;
    const Matrix<double> rows = sinusoidal_rows<double>(distances, width, layout);
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

Tensor<double> biased(const Tensor<double>& q, const Tensor<double>& bias) {
    return each_head(q, q.extent(2), q.extent(3), [&](Index n, Index h, Index) {
        return Matrix<double>(q.matrix(n).rowwise() + RowVector<double>(bias.matrix().row(h)));
    });
}

Tensor<double> shifted_by(const Replay& at, const Tensor<double>& raw,
                          const std::function<Index(Index, Index)>& column) {
    const Tensor<double>& tokens = at("query_tokens");
    const Index keys = keys_of(at), rows = raw.extent(2), columns = raw.extent(3);
    return each_head(raw, rows, keys, [&](Index n, Index, Index b) {
        Matrix<double> moved = Matrix<double>::Zero(rows, keys);
        for (Index p = 0; p < rows; ++p) {
            const auto token = static_cast<Index>(tokens.matrix()(b, p));
            for (Index j = 0; j < keys && token >= 0; ++j) {
                const Index from = column(token, j);
                if (from >= 0 && from < columns) moved(p, j) = raw.matrix(n)(p, from);
            }
        }
        return moved;
    });
}

Tensor<double> bd_of_all_cells(const Replay& at) {
    const Tensor<double>& raw = at("bd_raw");
    const Index keys = keys_of(at);
    const bool xlnet = at.family() == Family::xlnet;
    if (at.is_query_stream()) {
        // Rows of targets alone: the shift ran over all tokens.  Where nothing wraps it is the index.
        if (at.xlnet().direction != Direction::bidirectional) throw NotEnough{"all rows of the query stream"};
        return shifted_by(at, raw, [&](Index token, Index key) { return key + queries_of(at) - token; });
    }
    return each_head(raw, raw.extent(2), keys, [&](Index n, Index, Index) {
        return xlnet ? shift_frames_xlnet<double>(raw.matrix(n), keys).back().values
                     : shift_frames<double>(raw.matrix(n)).back().values;
    });
}

Tensor<double> weighted_relative_terms(const Replay& at, double content, double position) {
    if (at.family() != Family::transformer_xl && !is_xlnet(at)) throw NotEnough{"a Transformer-XL or an XLNet"};
    const auto scaled = [](Tensor<double> term, double factor) {
        return mapped(std::move(term), [=](double value) { return factor * value; });
    };
    Tensor<double> words = at("ac");
    if (is_xlnet(at) && !at.input().token_types.empty()) words = sum_of(std::move(words), at("ef"));
    return sum_of(scaled(std::move(words), content), scaled(at("bd"), position));
}

Tensor<double> without_hidden(const Replay& at, Tensor<double> values) {
    const Tensor<double>& visible = at("visible");
    return each_head(values, values.extent(2), values.extent(3), [&](Index n, Index, Index b) {
        return Matrix<double>((visible.matrix(b).array() != 0).select(values.matrix(n), 0.0));
    });
}

Tensor<double> without_unused(const Replay& at, Tensor<double> values) {
    const Tensor<double>& tokens = at("query_tokens");
    for (Index b = 0; b < values.extent(0); ++b)
        for (Index h = 0; h < values.extent(1); ++h)
            for (Index p = 0; p < values.extent(2); ++p)
                if (tokens.matrix()(b, p) < 0) values.matrix(b * values.extent(1) + h).row(p).setZero();
    return values;
}

Index queries_of(const Replay& at) { return at.input().length(); }

Index keys_of(const Replay& at) { return at.remembered() + queries_of(at); }

Index first_distance(const Replay& at) { return is_xlnet(at) ? keys_of(at) : keys_of(at) - 1; }

Tensor<double> memory_and_segment_of(const Replay& at) {
    return memory_and_segment<double>(at("memory_before"), at("x"));
}

Tensor<double> handed_on(const Replay& at, const Tensor<double>& rows, Kept kept) {
    const Tensor<double>& before = at("memory_before");
    Index begin = 0, end = 0;
    Tensor<double> all, seen = rows;
    if (is_xlnet(at)) {
        const XlnetConfig& config = at.xlnet();
        if (config.mem_len == 0 && !XlnetOptions::of(at.dialect()).keeps_everything) throw NotEnough{"a memory"};
        const Index own = config.reuse_len > 0 ? std::min(config.reuse_len, rows.extent(1)) : rows.extent(1);
        seen = slice_rows<double>(rows, 0, own);
        all = memory_and_segment<double>(before, seen);
        end = all.extent(1);
        begin = config.mem_len > 0 ? std::max<Index>(0, end - config.mem_len) : 0;
    } else {
        const TransformerXlConfig& config = at.transformer_xl();
        if (config.mem_len == 0) throw NotEnough{"a memory"};
        all = memory_and_segment<double>(before, rows);
        const MemoryRows keep = rows_to_keep(config, at.remembered(), rows.extent(1), at.dialect());
        begin = keep.begin;
        end = keep.end;
    }
    const bool is_first = at.remembered() == 0;
    if (kept == Kept::newest || (is_first && kept != Kept::oldest)) return slice_rows<double>(all, begin, end);
    const Index count = end - begin;
    if (kept == Kept::oldest) return slice_rows<double>(all, 0, count);
    if (kept == Kept::old_behind) all = memory_and_segment<double>(seen, before);
    if (kept == Kept::segment_alone) all = seen;
    return slice_rows<double>(all, std::max<Index>(0, all.extent(1) - count), all.extent(1));
}

Tensor<double> as_visible(const std::vector<Mask>& masks) {
    Tensor<double> visible({std::ssize(masks), masks.front().rows(), masks.front().cols()});
    for (std::size_t b = 0; b < masks.size(); ++b) visible.matrix(static_cast<Index>(b)) = masks[b].cast<double>();
    return visible;
}

Tensor<double> losses_of(const Replay& at, const Tensor<double>& logits) {
    const ModelInput& input = at.input();
    if (input.labels.empty() || input.labels.size() != logits.rows().rows()) throw NotEnough{"one label per row"};
    Tensor<double> losses(input.labels.shape());
    // What an adaptive softmax gives are log-probabilities, of which no code takes the softmax again.
    const bool are_logarithms = at.family() == Family::transformer_xl && at.transformer_xl().clusters() > 1;
    for (Index n = 0; n < losses.size(); ++n) {
        const RowVector<double> row = logits.rows().row(n);
        if (input.labels[n] < 0 || input.labels[n] >= row.size()) throw NotEnough{"labels that are words"};
        losses[n] = are_logarithms ? -row[input.labels[n]] : cross_entropy<double>(row, input.labels[n]);
    }
    return losses;
}

std::vector<Formula> relative_formulas() {
    return {
        {"memory_before", {"memory"}, memory_before_of},
        // Not of memory_before, which is a memory itself.
        {"memory", {"x"}, [](const Replay& at) { return handed_on(at, at("x")); }},
        {"ac",
         {"q", "k", "bias.u", "query_tokens"},
         [](const Replay& at) { return without_unused(at, products(biased(at("q"), at("bias.u")), at("k"))); }},
        {"bd_raw", {"q", "r_k", "r_k_backward", "bias.v", "query_tokens"}, bd_raw_of},
        {"bd", {"bd_raw", "visible", "query_tokens"}, bd_of},
        {"scores", {"ac", "bd", "ef"}, txl_scores_of},
        {"probs",
         {"scores", "visible", "query_tokens"},
         [](const Replay& at) { return without_unused(at, masked_probabilities(at)); }},
        {"context", {"probs", "v"}, [](const Replay& at) { return joined_context(at); }},
    };
}

// The right formulas of Transformer-XL, stage by stage.  Dai et al. 2019; kimiyoung/transformer-xl mem_transformer.py.

namespace {

const WeightReader<double>& txl_weights(const Replay& at) { return at.model().weights; }

std::string attention_of(const Replay& at) { return "layers." + std::to_string(at.layer()) + ".dec_attn."; }
std::string ffn_of(const Replay& at) { return "layers." + std::to_string(at.layer()) + ".pos_ff."; }

TransformerXlWords<double> txl_words(const Replay& at) {
    return TransformerXlWords<double>(at.transformer_xl(), txl_weights(at));
}

std::string last_output(const Replay& at) {
    return "/layer." + std::to_string(at.transformer_xl().n_layer - 1) + ".output";
}

Tensor<double> txl_embeddings_word(const Replay& at) {
    const ModelInput& input = at.input();
    const Matrix<double> rows = txl_words(at).vectors(input.tokens.values());
    return as_tensor<double>({input.batch(), input.length(), rows.cols()}, rows);
}

Tensor<double> txl_embeddings_output(const Replay& at) {
    const Tensor<double>& words = at("/embeddings.word");
    return shaped(words, txl_words(at).scaled(words.rows()));
}

/// Rows part * H * d ... of qkv_net: 0 q, 1 k, 2 v.
Dense<double> projection(const Replay& at, Index part) {
    const TransformerXlConfig& config = at.transformer_xl();
    const Index heads = config.n_head * config.d_head;
    const Matrix<double> qkv = txl_weights(at).matrix(attention_of(at) + "qkv_net.weight", {3 * heads, config.d_model});
    return {qkv.middleRows(part * heads, heads), {}};
}

Tensor<double> projected(const Replay& at, int part) {
    return project_heads<double>(projection_input(at, part), projection(at, part), at.transformer_xl().n_head);
}

Tensor<double> r_k_of(const Replay& at) {
    const TransformerXlConfig& config = at.transformer_xl();
    return project_positions<double>(
        at("/positions.r").matrix(),
        txl_weights(at).matrix(attention_of(at) + "r_net.weight", {config.n_head * config.d_head, config.d_model}),
        config.n_head);
}

/// u or v: one for all layers, unless untied.
Tensor<double> bias_of(const Replay& at, const char* name) {
    const TransformerXlConfig& config = at.transformer_xl();
    const Matrix<double> bias = txl_weights(at).matrix((config.untie_r ? attention_of(at) : std::string()) + name,
                                                       {config.n_head, config.d_head});
    return as_tensor<double>({bias.rows(), bias.cols()}, bias);
}

Tensor<double> visible_of(const Replay& at) {
    const TransformerXlConfig& config = at.transformer_xl();
    const Mask mask = transformer_xl_mask(queries_of(at), at.remembered(), config.same_length, config.mem_len);
    return as_visible(std::vector<Mask>(static_cast<std::size_t>(at.input().batch()), mask));
}

Tensor<double> query_tokens_of(const Replay& at) {
    Tensor<double> tokens({at.input().batch(), queries_of(at)});
    for (Index n = 0; n < tokens.size(); ++n) tokens[n] = static_cast<double>(n % tokens.extent(1));
    return tokens;
}

BlockWeights txl_block() {
    return {
        [](const Replay& at) {
            const TransformerXlConfig& config = at.transformer_xl();
            return Dense<double>{txl_weights(at).matrix(attention_of(at) + "o_net.weight",
                                                        {config.d_model, config.n_head * config.d_head}),
                                 {}};
        },
        [](const Replay& at) {
            return txl_weights(at).norm(attention_of(at) + "layer_norm", at.transformer_xl().d_model);
        },
        [](const Replay& at) {
            return txl_weights(at).dense(ffn_of(at) + "CoreNet.0", at.transformer_xl().d_inner,
                                         at.transformer_xl().d_model);
        },
        [](const Replay& at) {
            return txl_weights(at).dense(ffn_of(at) + "CoreNet.3", at.transformer_xl().d_model,
                                         at.transformer_xl().d_inner);
        },
        [](const Replay& at) { return txl_weights(at).norm(ffn_of(at) + "layer_norm", at.transformer_xl().d_model); },
        [](const Replay&) { return Activation::relu; },
        [](const Replay& at) { return at.transformer_xl().layer_norm_eps; },
        [](const Replay& at) { return at.transformer_xl().pre_lnorm; }};
}

void need_norms_in_front(const Replay& at) {
    if (at.family() != Family::transformer_xl || !at.transformer_xl().pre_lnorm)
        throw NotEnough{"norms in front of the parts of a layer"};
}

}  // namespace

std::vector<Formula> attention_behind(const NormInFront& norm) {
    static constexpr const char* kStems[] = {"q", "k", "v"};
    std::vector<Formula> all;
    for (Index part = 0; part < 3; ++part)
        all.push_back({kStems[part],
                       part == 0 ? std::vector<std::string>{"x_q"} : std::vector<std::string>{"memory_before", "x"},
                       [=](const Replay& at) {
                           need_norms_in_front(at);
                           Tensor<double> x = part == 0 ? at("x_q") : memory_and_segment_of(at);
                           const Norm<double> own =
                               txl_weights(at).norm(attention_of(at) + "layer_norm", at.transformer_xl().d_model);
                           x.rows() = norm(at, x.rows(), own);
                           return project_heads<double>(x, projection(at, part), at.transformer_xl().n_head);
                       }});
    return all;
}

std::vector<Formula> feed_forward_behind(const NormInFront& norm) {
    return {{"ffn_act", {"attention"}, [=](const Replay& at) {
                 need_norms_in_front(at);
                 const BlockWeights block = txl_block();
                 const Matrix<double> rows = norm(at, at("attention").rows(), block.ffn_norm(at));
                 return shaped(at("attention"),
                               activate<double>(dense<double>(rows, block.up(at)), block.activation(at)));
             }}};
}

LanguageHead transformer_xl_head(const Replay& at) {
    const TransformerXlConfig& config = at.transformer_xl();
    if (config.clusters() > 1) throw NotEnough{"a plain softmax"};
    const Tensor<double>& top = at(last_output(at));
    const std::string input = "word_emb.emb_layers.0.weight", output = "crit.out_layers.0.weight";
    return {top,
            txl_words(at).projected(top.rows(), 0),
            config.tied_output ? input : output,
            config.tied_output ? output : input,
            config.vocab_size,
            txl_weights(at).vector("crit.out_layers.0.bias", config.vocab_size)};
}

bool is_adaptive(const Replay& at) {
    return at.family() == Family::transformer_xl && at.transformer_xl().clusters() > 1;
}

namespace {

AdaptiveHead adaptive_head_of(const Tensor<double>& top, const TransformerXlConfig& config, Dialect order,
                              const WeightReader<double>& weights) {
    const TransformerXlWords<double> words(config, weights);
    const Matrix<double> choice = words.choice(top.rows(), order);
    return {shaped(top, choice.rightCols(config.clusters() - 1)),
            shaped(top, words.log_probabilities(top.rows(), choice))};
}

/// The checkpoint with biases of 0 in its head.
class WithoutBiases final : public WeightSource {
public:
    explicit WithoutBiases(std::shared_ptr<const WeightSource> source) : source_(std::move(source)) {}
    std::optional<Shape> shape(const std::string& name) const override { return source_->shape(name); }
    std::vector<std::string> names() const override { return source_->names(); }
    std::string location() const override { return source_->location(); }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        return source_->rows_f32(name, first, rows) * (is_bias(name) ? 0.0f : 1.0f);
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return source_->rows_f64(name, first, rows) * (is_bias(name) ? 0.0 : 1.0);
    }

private:
    static bool is_bias(const std::string& name) { return name.starts_with("crit.") && name.ends_with("bias"); }
    std::shared_ptr<const WeightSource> source_;
};

/// How far the reference's own head is from that of a dialect; nothing where it does not report both ends of it.
std::optional<double> distance_from(const Replay& at, Dialect dialect) {
    const auto top = at.expected(last_output(at));
    if (!top) return std::nullopt;
    const AdaptiveHead head = adaptive_head_of(*top, at.transformer_xl(), dialect, txl_weights(at));
    for (const auto& [stem, ours] : {std::pair{"/lm.clusters", &head.clusters}, {"/lm.logits", &head.logits}})
        if (const auto theirs = at.expected(stem); theirs && theirs->shape() == ours->shape())
            return (theirs->rows() - ours->rows()).cwiseAbs().maxCoeff();
    return std::nullopt;
}

}  // namespace

Dialect order_of_clusters(const Replay& at) {
    const Tensor<double>& from_the_end = at.common("clusters from the end, " + at.scope(), [&] {
        const auto official = distance_from(at, Dialect::official), hf = distance_from(at, Dialect::hf);
        const bool known = official && hf && *official != *hf;
        const bool turned = known ? *official < *hf : at.dialect() == Dialect::official;
        return Tensor<double>({1}, {turned ? 1.0 : 0.0});
    });
    return from_the_end[0] == 1 ? Dialect::official : Dialect::hf;
}

AdaptiveHead adaptive_head(const Replay& at, const TransformerXlConfig& config, Dialect order) {
    return adaptive_head_of(at(last_output(at)), config, order, txl_weights(at));
}

AdaptiveHead adaptive_head_without_biases(const Replay& at) {
    const WeightReader<double> weights(std::make_shared<WithoutBiases>(at.model().source));
    return adaptive_head_of(at(last_output(at)), at.transformer_xl(), order_of_clusters(at), weights);
}

LanguageHead language_head(const Replay& at) {
    return at.family() == Family::xlnet ? xlnet_head(at) : transformer_xl_head(at);
}

Tensor<double> language_logits(const Replay& at, const LanguageHead& head, const std::string& table,
                               const RowVector<double>& bias) {
    return logits_of(at, "/lm.logits", head.top, head.rows, {table, head.words, bias});
}

Tensor<double> right_language_logits(const Replay& at) {
    if (is_adaptive(at)) return adaptive_head(at, at.transformer_xl(), order_of_clusters(at)).logits;
    const LanguageHead head = language_head(at);
    return language_logits(at, head, head.table, head.bias);
}

std::vector<Formula> transformer_xl_formulas() {
    std::vector<Formula> all = {
        {"/embeddings.word", {}, txl_embeddings_word},
        {"/embeddings.output", {"/embeddings.word"}, txl_embeddings_output},
        {"/positions.r",
         {},
         [](const Replay& at) {
             return sinusoids_of(at, transformer_xl_distances(keys_of(at), at.transformer_xl().clamp_len),
                                 SinusoidLayout::concatenated);
         }},
        {"visible", {}, visible_of},
        {"query_tokens", {}, query_tokens_of},
        {"bias.u", {}, [](const Replay& at) { return bias_of(at, "r_w_bias"); }},
        {"bias.v", {}, [](const Replay& at) { return bias_of(at, "r_r_bias"); }},
        {"q", {"x_q"}, [](const Replay& at) { return projected(at, 0); }},
        {"k", {"memory_before", "x"}, [](const Replay& at) { return projected(at, 1); }},
        {"v", {"memory_before", "x"}, [](const Replay& at) { return projected(at, 2); }},
        {"r_k", {"/positions.r"}, r_k_of},
    };
    for (Formula& formula : relative_formulas()) all.push_back(std::move(formula));
    for (Formula& formula : block_formulas(txl_block())) all.push_back(std::move(formula));
    for (Formula& formula : transformer_xl_gradient_formulas()) all.push_back(std::move(formula));
    all.push_back({"/lm.clusters", {}, [](const Replay& at) {
                       if (!is_adaptive(at)) throw NotEnough{"an adaptive softmax"};
                       return adaptive_head(at, at.transformer_xl(), order_of_clusters(at)).clusters;
                   }});
    all.push_back({"/lm.logits", {}, right_language_logits});
    all.push_back({"/lm.loss", {"/lm.logits"}, [](const Replay& at) { return losses_of(at, at("/lm.logits")); }});
    return all;
}

}  // namespace locus::conformance
