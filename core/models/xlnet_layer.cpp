// One layer of XLNet: its weights, and both streams through it.
#include "core/models/relative_heads.h"
#include "core/models/xlnet_pass.h"

namespace locus {

template <class Scalar>
const XlnetLayer<Scalar>& Xlnet<Scalar>::layer(Index l) const {
    return layers_.at(l, [&](Index) {
        const std::string attention = xlnet_layer_prefix(l) + "rel_attn.", ffn = xlnet_layer_prefix(l) + "ff.";
        const Index width = config_.d_model, heads = config_.n_head, head_width = config_.d_head;
        // Stored [in, heads, head width]; a dense layer wants [out, in].
        const auto projection = [&](const char* name) -> Matrix<Scalar> {
            return weights_.matrix(attention + name, {width, heads, head_width}).transpose();
        };
        const auto bias = [&](const char* name) { return weights_.matrix(attention + name, {heads, head_width}); };
        XlnetLayer<Scalar> made{{projection("q"), {}},
                                {projection("k"), {}},
                                {projection("v"), {}},
                                projection("r"),
                                bias("r_w_bias"),
                                bias("r_r_bias"),
                                bias("r_s_bias"),
                                {},
                                {}};
        const Matrix<Scalar> segments = weights_.matrix(attention + "seg_embed", {2, heads, head_width});
        made.segments = Tensor<Scalar>({heads, 2, head_width});
        for (Index h = 0; h < heads; ++h) made.segments.matrix(h) = segments.middleCols(h * head_width, head_width);
        made.block = {{weights_.matrix(attention + "o", {width, heads, head_width}), {}},
                      weights_.norm(attention + "layer_norm", width),
                      weights_.dense(ffn + "layer_1", config_.d_inner, width),
                      weights_.dense(ffn + "layer_2", width, config_.d_inner),
                      weights_.norm(ffn + "layer_norm", width),
                      config_.ff_activation,
                      config_.layer_norm_eps,
                      NormOrder::post};
        return made;
    });
}

template <class Scalar>
XlnetStreams<Scalar> Xlnet<Scalar>::run_layer(Index l, const XlnetStreams<Scalar>& x, const Tensor<Scalar>& memory,
                                              const Pass& pass, const std::string& prefix, Trace& trace) const {
    const XlnetLayer<Scalar>& weights = layer(l);
    const Index heads = config_.n_head;
    Block<Scalar> block = weights.block;
    if (pass.options.tanh_gelu && block.activation == Activation::gelu) block.activation = Activation::gelu_tanh;
    const Tensor<Scalar> both = behind_memory(memory, x.h);
    const Tensor<Scalar> k = project_heads(both, weights.key, heads, compute_),
                         v = project_heads(both, weights.value, heads, compute_);
    const Tensor<Scalar> r_k = project_positions(pass.r, weights.position, heads, compute_);
    trace.add(prefix + ".k", k);
    trace.add(prefix + ".v", v);
    trace.add(prefix + ".r_k", r_k);
    Tensor<Scalar> r_k_backward;
    if (pass.r_backward.size() > 0) {
        r_k_backward = project_positions(pass.r_backward, weights.position, heads, compute_);
        trace.add(prefix + ".r_k_backward", r_k_backward);
    }

    // Both streams use the same weights, keys and values; only the queries and their masks differ.
    const auto run_stream = [&](const Tensor<Scalar>& stream, const std::vector<std::vector<Index>>& positions,
                                const std::vector<Mask>& masks, const std::string& name) {
        Tensor<Scalar> q = project_heads(stream, weights.query, heads, compute_);
        for (Index b = 0; b < q.extent(0); ++b)
            for (Index h = 0; h < heads; ++h)
                for (Index p = 0; p < q.extent(2); ++p)
                    if (positions[static_cast<std::size_t>(b)][static_cast<std::size_t>(p)] < 0)
                        q.matrix(b * heads + h).row(p).setZero();
        RelativeHeads<Scalar> all{q,
                                  k,
                                  v,
                                  {},
                                  weights.content_bias,
                                  weights.position_bias,
                                  both.extent(1),
                                  pass.memory,
                                  positions,
                                  masks,
                                  pass.options.masked_row,
                                  {}};
        for (Index b = 0; b < q.extent(0); ++b) all.r_k.push_back(pass.is_reversed(b) ? &r_k_backward : &r_k);
        if (!pass.types.empty())
            all.segment_term = [&](Index b, Index h) -> Matrix<Scalar> {
                const auto sample = static_cast<std::size_t>(b);
                std::vector<std::int64_t> key_ids(static_cast<std::size_t>(pass.memory), 0), query_ids;
                key_ids.insert(key_ids.end(), pass.types[sample].begin(), pass.types[sample].end());
                for (const Index position : positions[sample])
                    query_ids.push_back(position < 0 ? 0 : pass.types[sample][static_cast<std::size_t>(position)]);
                return compute_.segment_term(q.matrix(b * heads + h), weights.segment_bias.row(h),
                                             weights.segments.matrix(h), query_ids, key_ids);
            };
        return finish_layer(block, relative_attention(all, name, trace, compute_), stream, name, trace, compute_);
    };
    XlnetStreams<Scalar> y;
    y.h = run_stream(x.h, pass.tokens, pass.content, prefix);
    if (pass.has_targets()) y.g = run_stream(x.g, pass.targets, pass.query, prefix + ".g");
    return y;
}

template const XlnetLayer<float>& Xlnet<float>::layer(Index) const;
template XlnetStreams<float> Xlnet<float>::run_layer(Index, const XlnetStreams<float>&, const Tensor<float>&,
                                                     const Pass&, const std::string&, Trace&) const;
template const XlnetLayer<double>& Xlnet<double>::layer(Index) const;
template XlnetStreams<double> Xlnet<double>::run_layer(Index, const XlnetStreams<double>&, const Tensor<double>&,
                                                       const Pass&, const std::string&, Trace&) const;

}  // namespace locus
