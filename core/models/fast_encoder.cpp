#include "core/models/fast_encoder.h"

#include <algorithm>
#include <numeric>
#include <thread>

namespace locus {

bool has_fast_path(const DebertaConfig& config) {
    return config.relative_attention && (config.terms.c2p || config.terms.p2c) && !config.talking_head;
}

namespace {

void check_fast_path(const DebertaConfig& config) {
    if (!has_fast_path(config))
        throw Error(Fault::unsupported,
                    "the fast path runs models with c2p or p2c and without talking heads, and this is another; "
                    "the reference pass runs it");
}

template <class Scalar>
StoredDense<Scalar> stored(const Dense<Scalar>& layer) {
    return {layer.weight, layer.bias};
}

/// Rows that pass the dense layers together: many enough for a weight to come from memory seldom, few enough for their
/// activations to stay in the last cache.
constexpr Index kRowsAtOnce = 1024;

/// work(first row, rows) for pieces of [0, rows).
template <class Work>
void for_row_pieces(ThreadPool& pool, Index rows, Work work) {
    constexpr Index kPiece = 16;
    pool.parallel_for((rows + kPiece - 1) / kPiece,
                      [&](Index piece, int) { work(piece * kPiece, std::min(kPiece, rows - piece * kPiece)); });
}

}  // namespace

template <class Scalar>
FastEncoder<Scalar>::FastEncoder(const DebertaWeights<Scalar>& weights) : weights_(weights) {
    check_fast_path(config());
    layers_.resize(static_cast<std::size_t>(config().num_hidden_layers));
}

template <class Scalar>
FastEncoder<Scalar>::FastEncoder(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights)
    : own_(std::make_unique<const DebertaWeights<Scalar>>(config, std::move(weights))), weights_(*own_) {
    check_fast_path(config);
    layers_.resize(static_cast<std::size_t>(config.num_hidden_layers));
}

template <class Scalar>
FastPath<Scalar>::FastPath(const DebertaWeights<Scalar>& weights)
    : encoder(weights), pool(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 1024U))) {}

template <class Scalar>
const typename FastEncoder<Scalar>::Layer& FastEncoder<Scalar>::packed(Index layer, ThreadPool& pool) {
    std::unique_ptr<Layer>& kept = layers_[static_cast<std::size_t>(layer)];
    if (kept) return *kept;
    const std::string names = layer_prefix(layer);
    const auto pack = [&](const std::string& name) {
        return pack_dense<Scalar>({stored(weights_.dense(names + name))}, pool);
    };
    kept = std::make_unique<Layer>(
        Layer{pack_dense<Scalar>({stored(weights_.projection(layer, 0))}, pool),
              pack_dense<Scalar>({stored(weights_.projection(layer, 1)), stored(weights_.projection(layer, 2))}, pool),
              pack("attention.output.dense"), pack("intermediate.dense"), pack("output.dense"),
              weights_.norm(names + "attention.output.LayerNorm"), weights_.norm(names + "output.LayerNorm")});
    return *kept;
}

template <class Scalar>
const OffsetTables<Scalar>& FastEncoder<Scalar>::tables(Index layer, Index length, const DebertaOptions& options,
                                                        ThreadPool& pool) {
    const Tensor<Scalar> none;
    tables_ = offset_tables<Scalar>(
        config().terms.c2p ? weights_.k_r(layer) : none, config().terms.p2c ? weights_.q_r(layer) : none,
        deberta_buckets(config(), length, options.offset_clamp), options.p2c_index, pool, std::move(tables_));
    return tables_;
}

template <class Scalar>
void FastEncoder<Scalar>::dense(const ConstView<Scalar>& x, const PackedDense<Scalar>& layer, Activation activation,
                                View<Scalar> y, ThreadPool& pool) {
    const bool gelu = activation == Activation::gelu;
    dense_blocks<Scalar>(x, layer, gelu ? Following::gelu : Following::nothing, y, pool);
    if (gelu) return;
    for_row_pieces(pool, y.rows(), [&](Index row, Index rows) {
        y.middleRows(row, rows) = activate<Scalar>(y.middleRows(row, rows), activation);
    });
}

template <class Scalar>
void FastEncoder<Scalar>::add_and_norm(const ConstView<Scalar>& x, const ConstView<Scalar>& residual,
                                       const Norm<Scalar>& norm, View<Scalar> y, ThreadPool& pool) {
    for_row_pieces(pool, y.rows(), [&](Index row, Index rows) {
        y.middleRows(row, rows) =
            layer_norm<Scalar>(x.middleRows(row, rows) + residual.middleRows(row, rows), norm, config().layer_norm_eps);
    });
}

template <class Scalar>
void FastEncoder<Scalar>::attend(Index layer, const ConstView<Scalar>& kv, const ConstView<Scalar>& query,
                                 const std::vector<Index>& lengths, const std::vector<Mask>* masks,
                                 const DebertaOptions& options, ThreadPool& pool) {
    const Index width = config().hidden_size, head = config().attention_head_size;
    const Index rows = std::accumulate(lengths.begin(), lengths.end(), Index{0});
    LOCUS_CHECK(!lengths.empty() && rows == kv.rows() && rows == query.rows(),
                "fast encoder: texts of " + std::to_string(rows) + " tokens together, expected " +
                    std::to_string(kv.rows()) + " as there are rows");
    const Layer& parts = packed(layer, pool);
    projections_.resize(rows, 3 * width);
    for (Index row = 0; row < rows; row += kRowsAtOnce) {
        const Index some = std::min(kRowsAtOnce, rows - row);
        auto own = projections_.view().middleRows(row, some);
        dense_blocks<Scalar>(query.middleRows(row, some), parts.q, Following::nothing, own.leftCols(width), pool);
        dense_blocks<Scalar>(kv.middleRows(row, some), parts.kv, Following::nothing, own.rightCols(2 * width), pool);
    }
    context_.resize(rows, width);
    const auto part = [&](Index which) {
        return HeadsAt<Scalar>{projections_.data() + which * width, 0, head, 3 * width};
    };
    const DisentangledBlocks<Scalar> task{
        part(0),
        part(1),
        part(2),
        static_cast<Index>(lengths.size()),
        tables(layer, *std::max_element(lengths.begin(), lengths.end()), options, pool),
        score_divisor<Scalar>(deberta_divisor_terms(config(), options), head),
        masks,
        options.masked_row,
        &lengths};
    disentangled_blocks<Scalar>(task, context_.data(), {context_.data(), 0, head, width}, nullptr, buffers_, pool);
}

namespace {

/// One length for each sample of an input.
std::vector<Index> equal_lengths(Index batch, Index length) {
    return std::vector<Index>(static_cast<std::size_t>(batch), length);
}

}  // namespace

template <class Scalar>
Tensor<Scalar> FastEncoder<Scalar>::layer_context(Index layer, const Tensor<Scalar>& x, const std::vector<Mask>* masks,
                                                  const DebertaOptions& options, ThreadPool& pool) {
    attend(layer, x.rows(), x.rows(), equal_lengths(x.extent(0), x.extent(1)), masks, options, pool);
    Tensor<Scalar> context(x.shape());
    context.rows() = context_.view();
    return context;
}

template <class Scalar>
Tensor<Scalar> FastEncoder<Scalar>::layer_output(Index layer, const Tensor<Scalar>& kv, const Tensor<Scalar>& query,
                                                 const std::vector<Mask>* masks, const DebertaOptions& options,
                                                 ThreadPool& pool) {
    Tensor<Scalar> output(query.shape());
    output.rows() = packed_output(layer, kv.rows(), query.rows(), equal_lengths(query.extent(0), query.extent(1)),
                                  masks, options, pool);
    return output;
}

template <class Scalar>
Matrix<Scalar> FastEncoder<Scalar>::packed_output(Index layer, const ConstView<Scalar>& kv,
                                                  const ConstView<Scalar>& query, const std::vector<Index>& lengths,
                                                  const std::vector<Mask>* masks, const DebertaOptions& options,
                                                  ThreadPool& pool) {
    const Layer& parts = packed(layer, pool);
    attend(layer, kv, query, lengths, masks, options, pool);
    Matrix<Scalar> output(context_.rows(), context_.cols());
    // Row by row from here on: some at a time, so that what is between two products is still in the cache.
    for (Index row = 0; row < output.rows(); row += kRowsAtOnce) {
        const Index rows = std::min(kRowsAtOnce, output.rows() - row);
        attention_.resize(rows, output.cols());
        act_.resize(rows, parts.up.weight.cols);
        down_.resize(rows, output.cols());
        auto attention = attention_.view(), act = act_.view(), down = down_.view();
        dense_blocks<Scalar>(context_.view().middleRows(row, rows), parts.out, Following::nothing, attention, pool);
        add_and_norm(attention, query.middleRows(row, rows), parts.attention_norm, attention, pool);
        dense(attention, parts.up, config().hidden_act, act, pool);
        dense_blocks<Scalar>(act, parts.down, Following::nothing, down, pool);
        add_and_norm(down, attention, parts.output_norm, output.middleRows(row, rows), pool);
    }
    return output;
}

template <class Scalar>
Matrix<Scalar> FastEncoder<Scalar>::run(const std::vector<ForwardContext<Scalar>>& passes, ThreadPool& pool,
                                        const std::function<bool(Index, const Matrix<Scalar>&)>& after) {
    std::vector<Index> lengths;
    std::vector<Mask> masks;
    std::vector<Tensor<Scalar>> embeddings;
    Index count = 0;
    for (const ForwardContext<Scalar>& pass : passes) {
        const std::vector<Index> own = equal_lengths(pass.input.batch(), pass.input.length());
        lengths.insert(lengths.end(), own.begin(), own.end());
        masks.insert(masks.end(), pass.masks.begin(), pass.masks.end());
        embeddings.push_back(deberta_embeddings(pass));
        deberta_positions(pass);
        count += embeddings.back().rows().rows();
    }
    Matrix<Scalar> rows(count, config().hidden_size);
    const auto for_each_input = [&](const auto& work) {
        Index first = 0;
        for (std::size_t n = 0; n < passes.size(); ++n) {
            const Index some = passes[n].input.batch() * passes[n].input.length();
            work(passes[n], embeddings[n], rows.middleRows(first, some));
            first += some;
        }
    };
    for_each_input([](const auto&, const Tensor<Scalar>& own, auto here) { here = own.rows(); });
    for (Index layer = 0; layer < config().num_hidden_layers; ++layer) {
        rows = packed_output(layer, rows, rows, lengths, &masks, passes.front().options, pool);
        if (layer == 0 && config().conv_kernel_size > 0)
            for_each_input([](const ForwardContext<Scalar>& pass, const Tensor<Scalar>& own, auto here) {
                here = deberta_convolution(pass, own, as_tensor<Scalar>(own.shape(), here)).rows();
            });
        if (!after(layer, rows)) break;
    }
    return rows;
}

namespace {

/// The rows of every input, which lie one after the other -> [B,T,D] each.
template <class Scalar>
std::vector<Tensor<Scalar>> cut_rows(const Matrix<Scalar>& rows, const std::vector<ModelInput>& inputs) {
    std::vector<Tensor<Scalar>> parts;
    Index first = 0;
    for (const ModelInput& input : inputs) {
        const Index some = input.batch() * input.length();
        parts.push_back(as_tensor<Scalar>({input.batch(), input.length(), rows.cols()}, rows.middleRows(first, some)));
        first += some;
    }
    return parts;
}

}  // namespace

template <class Scalar>
std::vector<Tensor<Scalar>> FastEncoder<Scalar>::last_outputs(const std::vector<ModelInput>& inputs,
                                                              const DebertaOptions& options, ThreadPool& pool) {
    Trace nothing(StageFilter::none());
    std::vector<ForwardContext<Scalar>> passes;
    for (const ModelInput& input : inputs) {
        check_input(input, config().vocab_size, config().type_vocab_size);
        passes.push_back({weights_, input, options, nothing, pair_masks(input), std::nullopt});
    }
    return cut_rows(run(passes, pool, [](Index, const Matrix<Scalar>&) { return true; }), inputs);
}

template <class Scalar>
void FastEncoder<Scalar>::visit_heads(const ModelInput& input, const DebertaOptions& options, ThreadPool& pool,
                                      const VisitHead<Scalar>& visit, const CancelToken& stop) {
    check_input(input, config().vocab_size, config().type_vocab_size);
    const Index heads = config().num_attention_heads, d = config().attention_head_size, width = config().hidden_size;
    const Index length = input.length();
    const RelativeBuckets buckets = deberta_buckets(config(), length, options.offset_clamp);
    const Scalar divisor = score_divisor<Scalar>(deberta_divisor_terms(config(), options), d);
    throw_if_cancelled(stop);
    Trace nothing(StageFilter::none());
    const std::vector<Mask> masks = pair_masks(input);
    run({{weights_, input, options, nothing, masks, std::nullopt}}, pool, [&](Index layer, const Matrix<Scalar>&) {
        const Tensor<Scalar> none, &k_r = config().terms.c2p ? weights_.k_r(layer) : none,
                                   &q_r = config().terms.p2c ? weights_.q_r(layer) : none;
        pool.parallel_for(input.batch() * heads, [&](Index at, int) {
            HeadOverview<Scalar> seen{layer, at / heads, at % heads, {}, {}, {}, {}};
            const auto rows = projections_.view().middleRows(seen.sample * length, length);
            const Matrix<Scalar> q = rows.middleCols(seen.head * d, d), k = rows.middleCols(width + seen.head * d, d);
            // The terms of eq. 4, each for itself, and their sum in this order.
            seen.c2c = content_to_content<Scalar>(q, k);
            Matrix<Scalar> scores = seen.c2c;
            if (config().terms.c2p) {
                seen.c2p = content_to_position<Scalar>(q, k_r.matrix(seen.head), buckets);
                scores += seen.c2p;
            }
            if (config().terms.p2c) {
                seen.p2c = position_to_content<Scalar>(k, q_r.matrix(seen.head), buckets, options.p2c_index);
                scores += seen.p2c;
            }
            seen.probs = masked_softmax<Scalar>(Matrix<Scalar>(scores / divisor),
                                                masks[static_cast<std::size_t>(seen.sample)], options.masked_row);
            visit(seen);
        });
        throw_if_cancelled(stop);
        return true;
    });
}

// Deberta's choice between the two paths.

namespace {

/// True for stages between the input of a layer and its output.
bool lies_inside_a_layer(const std::string& name) {
    const bool of_a_layer = name.starts_with("layer.") || (name.starts_with("emd.") && name != "emd.query.0");
    return of_a_layer && !name.ends_with(".output");
}

}  // namespace

template <class Scalar>
bool Deberta<Scalar>::takes_fast_path(const ModelInput& input, const DebertaOptions& options,
                                      const StageFilter& wanted) const {
    if (!fast_) return false;
    const std::vector<std::string> names = stage_names(input, options);
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& name) { return wanted.keeps(name) && lies_inside_a_layer(name); });
}

template <class Scalar>
void Deberta<Scalar>::visit_heads(const ModelInput& input, const DebertaOptions& options,
                                  const VisitHead<Scalar>& visit, const CancelToken& stop) const {
    if (fast_) {
        const std::lock_guard alone(fast_->guard);
        return fast_->encoder.visit_heads(input, options, fast_->pool, visit, stop);
    }
    visit_heads_by<Scalar>([&](const StageFilter& wanted) { return forward(input, options, wanted, stop); }, config(),
                           input, visit);
}

template <class Scalar>
void visit_heads_by(const std::function<Trace(const StageFilter&)>& run, const DebertaConfig& config,
                    const ModelInput& input, const VisitHead<Scalar>& visit) {
    check_input(input, config.vocab_size, config.type_vocab_size);
    // Layers that one pass keeps: their terms and probabilities take at most this many values.
    constexpr Index kKeptValues = Index{64} << 20;
    std::vector<std::string> stems = {".c2c", ".probs"};
    if (config.terms.c2p) stems.push_back(".c2p");
    if (config.terms.p2c) stems.push_back(".p2c");
    const Index heads = config.num_attention_heads, layers = config.num_hidden_layers, length = input.length();
    const Index one_layer = input.batch() * heads * static_cast<Index>(stems.size()) * length * length;
    const Index at_once = std::clamp<Index>(kKeptValues / std::max<Index>(1, one_layer), 1, layers);
    for (Index first = 0; first < layers; first += at_once) {
        const Index last = std::min(first + at_once, layers);
        std::string wanted;
        for (Index layer = first; layer < last; ++layer)
            for (const std::string& stem : stems)
                wanted += (wanted.empty() ? "layer." : ",layer.") + std::to_string(layer) + stem;
        const Trace trace = run(StageFilter(wanted));
        for (Index layer = first; layer < last; ++layer)
            for (Index at = 0; at < input.batch() * heads; ++at) {
                const auto part = [&](const char* stem) {
                    const Stage* stage = trace.find("layer." + std::to_string(layer) + stem);
                    return stage ? Matrix<Scalar>(stage->template as<Scalar>().matrix(at)) : Matrix<Scalar>();
                };
                visit({layer, at / heads, at % heads, part(".c2c"), part(".c2p"), part(".p2c"), part(".probs")});
            }
    }
}

template <class Scalar>
std::vector<Trace> Deberta<Scalar>::forward_texts(const std::vector<ModelInput>& texts, const DebertaOptions& options,
                                                  const StageFilter& wanted, const CancelToken& stop) const {
    std::vector<Trace> traces;
    const bool packs = std::all_of(texts.begin(), texts.end(),
                                   [&](const ModelInput& text) { return takes_fast_path(text, options, wanted); });
    if (!packs || texts.size() < 2) {
        for (const ModelInput& text : texts) traces.push_back(forward(text, options, wanted, stop));
        return traces;
    }
    const bool decodes = has_decoder() && options.decoder != MaskDecoder::none;
    for (const ModelInput& text : texts) {
        check(text, options, wanted);
        traces.emplace_back(wanted).expect(stage_names(text, options));
    }
    const std::lock_guard alone(fast_->guard);
    std::vector<ForwardContext<Scalar>> passes;
    for (std::size_t n = 0; n < texts.size(); ++n) {
        passes.push_back({*weights_, texts[n], options, traces[n], pair_masks(texts[n]), std::nullopt, fast_.get()});
        passes.back().buckets = relative_buckets(texts[n].length(), options);
    }
    const Index last = config().num_hidden_layers - 1;
    const std::string plain_last = "layer." + std::to_string(last) + ".";
    const auto any = [&](const auto& asks) { return std::any_of(traces.begin(), traces.end(), asks); };
    std::vector<Tensor<Scalar>> hidden, decoder_input;
    throw_if_cancelled(stop);
    fast_->encoder.run(passes, fast_->pool, [&](Index layer, const Matrix<Scalar>& rows) {
        hidden = cut_rows(rows, texts);
        for (std::size_t n = 0; n < texts.size(); ++n)
            traces[n].add("layer." + std::to_string(layer) + ".output", hidden[n]);
        if (layer == last - 1) decoder_input = hidden;
        throw_if_cancelled(stop);
        const bool plain = !decodes || layer != last - 1 ||
                           any([&](const Trace& one) { return one.awaits(plain_last) || one.awaits("classifier."); });
        return plain && any([](const Trace& one) { return !one.complete(); });
    });
    for (std::size_t n = 0; n < texts.size(); ++n) {
        if (classifier_ && !traces[n].complete())
            classifier_->classify(weights_->reader(), hidden[n], "", traces[n], weights_->operations());
        if (decodes && !traces[n].complete()) hidden[n] = deberta_decoder(passes[n], decoder_input[n]);
        if (has_head() && !traces[n].complete()) deberta_head(passes[n], hidden[n]);
    }
    return traces;
}

template class FastEncoder<float>;
template class FastEncoder<double>;
template struct FastPath<float>;
template struct FastPath<double>;
template bool Deberta<float>::takes_fast_path(const ModelInput&, const DebertaOptions&, const StageFilter&) const;
template bool Deberta<double>::takes_fast_path(const ModelInput&, const DebertaOptions&, const StageFilter&) const;
template std::vector<Trace> Deberta<float>::forward_texts(const std::vector<ModelInput>&, const DebertaOptions&,
                                                          const StageFilter&, const CancelToken&) const;
template std::vector<Trace> Deberta<double>::forward_texts(const std::vector<ModelInput>&, const DebertaOptions&,
                                                           const StageFilter&, const CancelToken&) const;
template void visit_heads_by<float>(const std::function<Trace(const StageFilter&)>&, const DebertaConfig&,
                                    const ModelInput&, const VisitHead<float>&);
template void visit_heads_by<double>(const std::function<Trace(const StageFilter&)>&, const DebertaConfig&,
                                     const ModelInput&, const VisitHead<double>&);
template void Deberta<float>::visit_heads(const ModelInput&, const DebertaOptions&, const VisitHead<float>&,
                                          const CancelToken&) const;
template void Deberta<double>::visit_heads(const ModelInput&, const DebertaOptions&, const VisitHead<double>&,
                                           const CancelToken&) const;

}  // namespace locus
