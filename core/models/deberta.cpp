// DeBERTa in the order of the paper: the pass, the embeddings, one layer, its attention.
//
// Letters: B batch, T tokens, H heads, D model width, d head width, k span; i query, j key.
// Every result that the contract of stages names is given to the trace.  The trace also knows when all that was asked
// for is there; the pass asks it after each sublayer and stops.  Every term is a whole tensor [B,H,T,T], computed and
// added.  Layers whose inside nobody looks at may run in core/fast/ (pass.fast): the same numbers, faster.
#include "core/models/deberta.h"

#include "core/models/block.h"
#include "core/models/fast_encoder.h"

namespace locus {

// --- the pass ---

template <class Scalar>
void deberta_positions(const ForwardContext<Scalar>& pass) {
    if (!pass.buckets) return;
    if (pass.trace.wants("relative.index")) pass.trace.add("relative.index", pass.buckets->matrix());
    if (!pass.trace.wants("relative.table")) return;
    const Matrix<Scalar>& table = pass.weights.relative_table();
    pass.trace.add("relative.table", as_tensor<Scalar>({table.rows(), table.cols()}, table));
}

namespace {

Scheme scheme_of(const DebertaOptions& options) {
    return options.p2c_index == P2cIndex::paper_ji ? Scheme::disentangled_ji : Scheme::disentangled;
}

}  // namespace

template <class Scalar>
void Deberta<Scalar>::check(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted) const {
    check_input(input, config().vocab_size, config().type_vocab_size);
    Trace trace(wanted, scheme_of(options));
    trace.expect(stage_names(input, options));
    if (config().position_biased_input) weights_->check_absolute_rows(input.length(), "the embeddings need");
    const bool decodes = has_decoder() && options.decoder != MaskDecoder::none;
    if (decodes && (trace.awaits("emd.") || trace.awaits("mlm.")))
        weights_->check_absolute_rows(input.length(), "the mask decoder needs");
}

template <class Scalar>
Trace Deberta<Scalar>::forward(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted,
                               const CancelToken& stop) const {
    check(input, options, wanted);  // refuses a text that is too long before any work
    Trace trace(wanted, scheme_of(options));
    trace.expect(stage_names(input, options));
    const bool decodes = has_decoder() && options.decoder != MaskDecoder::none;

    ForwardContext<Scalar> pass{*weights_, input, options, trace, pair_masks(input), std::nullopt};
    if (config().relative_attention) pass.buckets = relative_buckets(input.length(), options);
    std::unique_lock<std::mutex> alone;
    if (takes_fast_path(input, options, wanted)) {
        alone = std::unique_lock(fast_->guard);
        pass.fast = fast_.get();
    }

    // Words become vectors.  They know nothing of absolute positions unless position_biased_input says so.
    const Tensor<Scalar> embeddings = deberta_embeddings(pass);
    deberta_positions(pass);

    // Encoder: each layer attends to content and to relative positions.  It knows how far apart two tokens are, and
    // never where they stand: shifting a whole text changes nothing here, unless positions were added above.
    const Index layers = config().num_hidden_layers;
    Tensor<Scalar> hidden = embeddings, decoder_input;
    for (Index layer = 0; layer < layers && !trace.complete(); ++layer) {
        throw_if_cancelled(stop);
        const std::string prefix = "layer." + std::to_string(layer);
        if (decodes && layer == layers - 1) {
            // The decoder reads what goes into the last layer and runs that layer again with queries of its own.  The
            // plain run is computed only where its stages or a classifier's are wanted: nothing else reads it.
            decoder_input = hidden;
            if (!trace.awaits(prefix + ".") && !trace.awaits("classifier.")) break;
        }
        hidden = deberta_layer(pass, prefix, layer, hidden, hidden);
        if (trace.complete()) break;
        if (layer == 0 && config().conv_kernel_size > 0) {
            trace.add(prefix + ".output_before_conv", hidden);
            hidden = deberta_convolution(pass, embeddings, hidden);
        }
        trace.add(prefix + ".output", hidden);
    }
    if (trace.complete()) return trace;
    throw_if_cancelled(stop);

    // A fine-tuned model reads its classes off the encoder: no absolute position is in them.
    if (classifier_) classifier_->classify(weights_->reader(), hidden, "", trace, weights_->operations());
    if (trace.complete()) return trace;

    // Decoder: absolute positions enter, after the encoder and before the words are predicted.  "a new store opened
    // beside the new mall": both blanks have the same neighbours, and only their places tell store from mall.
    if (decodes) hidden = deberta_decoder(pass, decoder_input);
    if (has_head() && !trace.complete()) deberta_head(pass, hidden);
    return trace;
}

template <class Scalar>
Tensor<Scalar> deberta_embeddings(const ForwardContext<Scalar>& pass) {
    const DebertaConfig& config = pass.config();
    const DebertaWeights<Scalar>& weights = pass.weights;
    const Operations<Scalar>& compute = pass.compute();
    const ModelInput& input = pass.input;
    const Index batch = input.batch(), length = input.length();

    // One row of the word table per token [B*T,E].
    Matrix<Scalar> rows = weights.word_rows(input.tokens.values());
    pass.trace.add("embeddings.word", as_tensor<Scalar>({batch, length, config.embedding_size}, rows));

    // Sentence A or B, where the model knows types.
    if (config.type_vocab_size > 0) {
        const Matrix<Scalar>& types =
            weights.matrix("embeddings.token_type_embeddings.weight", {config.type_vocab_size, config.embedding_size});
        const std::vector<std::int64_t> first(static_cast<std::size_t>(rows.rows()), 0);
        compute.add_rows(types, input.token_types.empty() ? first : input.token_types.values(), rows);
    }

    // Absolute positions as in BERT: only where the mask decoder is not to bring them.
    if (config.position_biased_input) {
        const Matrix<Scalar> positions = weights.absolute_rows(length);
        for (Index b = 0; b < batch; ++b) compute.add(positions, rows.middleRows(b * length, length));
    }

    // E -> D where the table is factorised, then the norm: the projection comes first here.
    if (config.embedding_size != config.hidden_size) rows = compute.dense(rows, weights.dense("embeddings.embed_proj"));
    rows = compute.layer_norm(rows, weights.norm("embeddings.LayerNorm"), config.layer_norm_eps);

    // Hidden tokens after the norm, so that their rows are exactly 0 and not the norm's bias.
    const RowVector<Scalar> visible = visible_tokens<Scalar>(input);
    if (visible.size() > 0) compute.multiply_rows(visible, rows);
    Tensor<Scalar> output = as_tensor<Scalar>({batch, length, config.hidden_size}, rows);
    pass.trace.add("embeddings.output", output);
    return output;
}

// --- one layer ---

template <class Scalar>
Tensor<Scalar> deberta_layer(const ForwardContext<Scalar>& pass, const std::string& prefix, Index layer,
                             const Tensor<Scalar>& kv, const Tensor<Scalar>& query) {
    // Where nobody looks inside the layer, core/fast/ has the same output faster.
    if (pass.fast) return pass.fast->encoder.layer_output(layer, kv, query, &pass.masks, pass.options, pass.fast->pool);

    const DebertaConfig& config = pass.config();
    const DebertaWeights<Scalar>& weights = pass.weights;
    const Operations<Scalar>& compute = pass.compute();
    const std::string names = layer_prefix(layer);
    const Shape model = query.shape(), inner = {model[0], model[1], config.intermediate_size};

    // Every token gathers the values of others, chosen by content and by relative position.
    const Tensor<Scalar> context = deberta_attention(pass, prefix, layer, kv, query);
    if (pass.trace.complete()) return {};

    // attention = norm(dense(context) + query).  The residual is the query: in the encoder the layer's input, in the
    // decoder the output of the decoder's pass before.
    Matrix<Scalar> summed = compute.dense(context.rows(), weights.dense(names + "attention.output.dense"));
    compute.add(query.rows(), summed);
    const Matrix<Scalar> attention =
        compute.layer_norm(summed, weights.norm(names + "attention.output.LayerNorm"), config.layer_norm_eps);
    pass.trace.add(prefix + ".attention", as_tensor<Scalar>(model, attention));
    if (pass.trace.complete()) return {};

    // ffn = dense(activation(dense(attention))): D -> F -> D.  No token sees another here.
    const Matrix<Scalar> ffn_act =
        compute.activate(compute.dense(attention, weights.dense(names + "intermediate.dense")), config.hidden_act);
    pass.trace.add(prefix + ".ffn_act", as_tensor<Scalar>(inner, ffn_act));
    const Matrix<Scalar> ffn = compute.dense(ffn_act, weights.dense(names + "output.dense"));
    pass.trace.add(prefix + ".ffn", as_tensor<Scalar>(model, ffn));
    if (pass.trace.complete()) return {};

    // output = norm(ffn + attention).  The caller adds this stage, because layer 0 may merge a convolution first.
    summed = ffn;
    compute.add(attention, summed);
    return as_tensor<Scalar>(
        model, compute.layer_norm(summed, weights.norm(names + "output.LayerNorm"), config.layer_norm_eps));
}

template <class Scalar>
Tensor<Scalar> deberta_attention(const ForwardContext<Scalar>& pass, const std::string& prefix, Index layer,
                                 const Tensor<Scalar>& kv, const Tensor<Scalar>& query) {
    const DebertaConfig& config = pass.config();
    const DebertaWeights<Scalar>& weights = pass.weights;
    const Operations<Scalar>& compute = pass.compute();
    Trace& trace = pass.trace;
    const Index batch = kv.extent(0), heads = config.num_attention_heads;
    const auto at = [heads](Index b, Index h) { return b * heads + h; };  // head h of sample b in [B,H,...]

    // Q_c, K_c, V_c: the content of every token, cut into heads [B,H,T,d].  Keys and values of the decoder come from
    // the encoder, so that absolute positions reach the scores through the query alone.
    const Tensor<Scalar> q = project_heads(query, weights.projection(layer, 0), heads, compute);
    const Tensor<Scalar> k = project_heads(kv, weights.projection(layer, 1), heads, compute);
    const Tensor<Scalar> v = project_heads(kv, weights.projection(layer, 2), heads, compute);
    trace.add(prefix + ".q", q);
    trace.add(prefix + ".k", k);
    trace.add(prefix + ".v", v);

    // Q_r, K_r: the relative table P through projections of its own (or, with share_att_key, those of the content), one
    // row per bucket of i - j [H,2k,d].  All layers share P, and no sample and no token is in it.
    if (config.terms.p2c) trace.add(prefix + ".q_r", weights.q_r(layer));
    if (config.terms.c2p) trace.add(prefix + ".k_r", weights.k_r(layer));

    // How much every query attends to every key, from what both are and how far apart they stand.
    Tensor<Scalar> scores = deberta_scores(pass, prefix, layer, q, k);
    if (trace.complete()) return {};

    // Talking heads (an option of version 1) mix the heads of a pair before and after the softmax.
    const auto mixing = [&](const char* name) -> const Matrix<Scalar>& {
        return weights.matrix(layer_prefix(layer) + "attention.self." + name, {heads, heads});
    };
    if (config.talking_head) {
        scores = compute.mix_heads(scores, mixing("head_logits_proj.weight"));
        trace.add(prefix + ".scores_mixed", scores);
    }

    // Softmax over the keys that the query may see; masked cells are exactly 0.  A query that sees no key gets a row of
    // zeros, or under dialect hf equal weights on all keys.
    Tensor<Scalar> probs = for_each_head<Scalar>(batch, heads, [&](Index b, Index h) {
        return compute.masked_softmax(scores.matrix(at(b, h)), pass.masks[static_cast<std::size_t>(b)],
                                      pass.options.masked_row);
    });
    trace.add(prefix + ".probs", probs);
    if (config.talking_head) {
        probs = compute.mix_heads(probs, mixing("head_weights_proj.weight"));
        trace.add(prefix + ".probs_mixed", probs);
    }
    if (trace.complete()) return {};

    // context_i = sum over j of probs_ij V_c_j.  Values carry content alone: positions choose among them and are not
    // added to them.
    const Tensor<Scalar> context = join_heads(for_each_head<Scalar>(
        batch, heads, [&](Index b, Index h) { return compute.context(probs.matrix(at(b, h)), v.matrix(at(b, h))); }));
    trace.add(prefix + ".context", context);
    return context;
}

template <class Scalar>
Tensor<Scalar> deberta_scores(const ForwardContext<Scalar>& pass, const std::string& prefix, Index layer,
                              const Tensor<Scalar>& q, const Tensor<Scalar>& k) {
    const DebertaConfig& config = pass.config();
    const DebertaWeights<Scalar>& weights = pass.weights;
    const Operations<Scalar>& compute = pass.compute();
    Trace& trace = pass.trace;
    const Index batch = q.extent(0), heads = config.num_attention_heads;
    const Terms terms = config.terms;
    const auto at = [heads](Index b, Index h) { return b * heads + h; };  // head h of sample b in [B,H,...]

    // Eq. 4 (a), content to content: Q_c_i . K_c_j, the whole score of a Transformer without positions.
    Tensor<Scalar> scores = for_each_head<Scalar>(batch, heads, [&](Index b, Index h) {
        return compute.content_to_content(q.matrix(at(b, h)), k.matrix(at(b, h)));
    });
    trace.add(prefix + ".c2c", scores);

    // Eq. 4 (b), content to position: Q_c_i . K_r[delta(i,j)].  How much the query's word wants a key at this distance,
    // whatever the key's word is.
    if (terms.c2p) {
        const Tensor<Scalar>& k_r = weights.k_r(layer);
        const Tensor<Scalar> c2p = for_each_head<Scalar>(batch, heads, [&](Index b, Index h) {
            return compute.content_to_position(q.matrix(at(b, h)), k_r.matrix(h), *pass.buckets);
        });
        trace.add(prefix + ".c2p", c2p);
        compute.add(c2p.rows(), scores.rows());
    }

    // Eq. 4 (c), position to content: K_c_j . Q_r[delta(j,i)] as printed, Q_r[delta(i,j)] in every released model.  How
    // much the key's word is wanted at this distance, whatever the query's word is.  The fourth product, position to
    // position, depends on i - j alone and is left out (section 3.1).
    if (terms.p2c) {
        const Tensor<Scalar>& q_r = weights.q_r(layer);
        const Tensor<Scalar> p2c = for_each_head<Scalar>(batch, heads, [&](Index b, Index h) {
            return compute.position_to_content(k.matrix(at(b, h)), q_r.matrix(h), *pass.buckets,
                                               pass.options.p2c_index);
        });
        trace.add(prefix + ".p2c", p2c);
        compute.add(p2c.rows(), scores.rows());
    }

    // n terms of width d have n times the variance of one, where they are uncorrelated; so the sum is divided by
    // sqrt(n d), sqrt(3 d) with both position terms, and not by sqrt(d).
    compute.divide(score_divisor<Scalar>(deberta_divisor_terms(config, pass.options), config.attention_head_size),
                   scores.rows());
    trace.add(prefix + ".scores", scores);
    return scores;
}

template <class Scalar>
Tensor<Scalar> deberta_convolution(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& embeddings,
                                   const Tensor<Scalar>& layer_output) {
    const DebertaConfig& config = pass.config();
    const Operations<Scalar>& compute = pass.compute();
    const RowVector<Scalar> visible = visible_tokens<Scalar>(pass.input);

    // Neighbours of every token, from the encoder's input and not from the layer: n-grams beside attention.
    Tensor<Scalar> convolved(embeddings.shape());
    for (Index b = 0; b < embeddings.extent(0); ++b)
        convolved.matrix(b) = compute.convolve(embeddings.matrix(b), pass.weights.convolution());
    pass.trace.add("layer.0.conv", convolved);

    // Hidden tokens before the activation; it keeps 0 at 0.
    if (visible.size() > 0) compute.multiply_rows(visible, convolved.rows());
    convolved.rows() = compute.activate(convolved.rows(), config.conv_act);
    pass.trace.add("layer.0.conv_act", convolved);

    // norm(layer 0 + convolution): local n-grams and attention are summed once, in the first layer.  This norm, unlike
    // those inside the layers, is followed by the mask.
    Matrix<Scalar> merged = layer_output.rows();
    compute.add(convolved.rows(), merged);
    merged = compute.layer_norm(merged, pass.weights.norm("encoder.conv.LayerNorm"), config.layer_norm_eps);
    if (visible.size() > 0) compute.multiply_rows(visible, merged);
    return as_tensor<Scalar>(embeddings.shape(), merged);
}

// --- what a configuration decides ---

RelativeBuckets deberta_buckets(const DebertaConfig& config, Index length, OffsetClamp clamp) {
    // Offsets that are not clamped first reach a logarithm, which must rise between buckets / 2 and the largest one.
    const Index middle = config.position_buckets / 2;
    if (config.position_buckets > 0 && clamp == OffsetClamp::hf && length - 1 > middle &&
        config.max_relative_positions <= middle + 1)
        throw Error(Fault::unreadable,
                    "config.json: max_relative_positions is " + std::to_string(config.max_relative_positions) +
                        ", expected more than position_buckets / 2 + 1 = " + std::to_string(middle + 1) + " for " +
                        std::to_string(length) + " tokens of the dialect hf");
    if (config.position_buckets > 0)
        return RelativeBuckets::logarithmic(length, length, config.position_buckets, config.max_relative_positions,
                                            clamp);
    return RelativeBuckets::clamped(length, length, config.max_relative_positions);
}

int deberta_divisor_terms(const DebertaConfig& config, const DebertaOptions& options) {
    if (options.counted_terms == CountedTerms::listed && config.version == 1)
        return 1 + static_cast<int>(config.listed_terms);
    if (options.counted_terms == CountedTerms::named && !config.lists_terms) {
        if (config.relative_attention)
            throw Error(Fault::unsupported,
                        "config.json: pos_att_type is missing, expected it to be written, or the dialect hf: "
                        "microsoft/DeBERTa adds c2p there, transformers no position term");
        return Terms{true, false, false}.count();
    }
    if (options.counted_terms != CountedTerms::active && !config.relative_attention) return config.named_terms.count();
    return config.terms.count();
}

namespace {

/// Stages of one layer, after "layer.3" or "emd.0".
std::vector<std::string> layer_stage_names(const DebertaConfig& config) {
    std::vector<std::string> names = {".q", ".k", ".v"};
    if (config.terms.p2c) names.push_back(".q_r");
    if (config.terms.c2p) names.push_back(".k_r");
    names.push_back(".c2c");
    if (config.terms.c2p) names.push_back(".c2p");
    if (config.terms.p2c) names.push_back(".p2c");
    names.push_back(".scores");
    if (config.talking_head) names.push_back(".scores_mixed");
    names.push_back(".probs");
    if (config.talking_head) names.push_back(".probs_mixed");
    for (const char* name : {".context", ".attention", ".ffn_act", ".ffn", ".output"}) names.push_back(name);
    return names;
}

void append(std::vector<std::string>& names, const std::string& prefix, const std::vector<std::string>& stems) {
    for (const std::string& stem : stems) names.push_back(prefix + stem);
}

}  // namespace

template <class Scalar>
std::vector<std::string> Deberta<Scalar>::stage_names(const ModelInput& input, const DebertaOptions& options) const {
    std::vector<std::string> names = {"embeddings.word", "embeddings.output"};
    if (config().relative_attention) append(names, "relative", {".index", ".table"});
    const std::vector<std::string> stems = layer_stage_names(config());
    for (Index layer = 0; layer < config().num_hidden_layers; ++layer) {
        append(names, "layer." + std::to_string(layer), stems);
        if (layer == 0 && config().conv_kernel_size > 0) {
            names.pop_back();
            append(names, "layer.0", {".output_before_conv", ".conv", ".conv_act", ".output"});
        }
    }
    if (classifier_) append(names, "", classifier_->stage_names());
    if (has_decoder() && options.decoder != MaskDecoder::none) {
        names.push_back("emd.query.0");
        for (int t = 0; t < kDecoderPasses; ++t) {
            std::vector<std::string> pass_stems = stems;
            if (options.decoder == MaskDecoder::pre_norm)
                std::erase_if(pass_stems, [](const std::string& stem) { return stem.starts_with(".ffn"); });
            append(names, "emd." + std::to_string(t), pass_stems);
        }
    }
    if (!has_head()) return names;
    append(names, "mlm", {".transform", ".logits"});
    if (!input.mask_positions.empty())
        append(names, "mlm", {".positions", ".transform_at_positions", ".logits_at_positions"});
    if (!input.labels.empty()) names.push_back("mlm.loss");
    return names;
}

template <class Scalar>
Deberta<Scalar>::Deberta(DebertaConfig config, std::shared_ptr<const WeightSource> weights,
                         const Operations<Scalar>& compute, ForwardPath path)
    : weights_(std::make_unique<DebertaWeights<Scalar>>(config, std::move(weights), compute)),
      classifier_(ClassifierHead<Scalar>::find(
          weights_->reader(), config.hidden_size,
          {"pooler.dense", "classifier", "first", config.pooler_hidden_act, "", "pooler_hidden_act"})) {
    if (path == ForwardPath::fast && &compute == &cpu_operations<Scalar>() && has_fast_path(config))
        fast_ = std::make_shared<FastPath<Scalar>>(*weights_);
}

template <class Scalar>
bool Deberta<Scalar>::has_decoder() const {
    return weights_->has_absolute_table() && !config().position_biased_input && config().num_hidden_layers >= 2 &&
           config().embedding_size == config().hidden_size;
}

template <class Scalar>
RelativeBuckets Deberta<Scalar>::relative_buckets(Index length, const DebertaOptions& options) const {
    LOCUS_CHECK(config().relative_attention, "relative_buckets: this model has no relative attention");
    return deberta_buckets(config(), length, options.offset_clamp);
}

template class Deberta<float>;
template class Deberta<double>;
template void deberta_positions<float>(const ForwardContext<float>&);
template void deberta_positions<double>(const ForwardContext<double>&);
template Tensor<float> deberta_embeddings<float>(const ForwardContext<float>&);
template Tensor<float> deberta_layer<float>(const ForwardContext<float>&, const std::string&, Index,
                                            const Tensor<float>&, const Tensor<float>&);
template Tensor<float> deberta_attention<float>(const ForwardContext<float>&, const std::string&, Index,
                                                const Tensor<float>&, const Tensor<float>&);
template Tensor<float> deberta_scores<float>(const ForwardContext<float>&, const std::string&, Index,
                                             const Tensor<float>&, const Tensor<float>&);
template Tensor<float> deberta_convolution<float>(const ForwardContext<float>&, const Tensor<float>&,
                                                  const Tensor<float>&);
template Tensor<double> deberta_embeddings<double>(const ForwardContext<double>&);
template Tensor<double> deberta_layer<double>(const ForwardContext<double>&, const std::string&, Index,
                                              const Tensor<double>&, const Tensor<double>&);
template Tensor<double> deberta_attention<double>(const ForwardContext<double>&, const std::string&, Index,
                                                  const Tensor<double>&, const Tensor<double>&);
template Tensor<double> deberta_scores<double>(const ForwardContext<double>&, const std::string&, Index,
                                               const Tensor<double>&, const Tensor<double>&);
template Tensor<double> deberta_convolution<double>(const ForwardContext<double>&, const Tensor<double>&,
                                                    const Tensor<double>&);

}  // namespace locus
