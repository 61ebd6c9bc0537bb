// Disentangled attention of one layer: every term by itself, for all samples and heads.
#include "core/models/deberta_pass.h"

namespace locus {

namespace {

/// [B,H,rows,cols] whose matrix at (b,h) is make(b,h).
template <class Scalar, class Make>
Tensor<Scalar> for_each_head(Index batch, Index heads, Index rows, Index cols, Make make) {
    Tensor<Scalar> all({batch, heads, rows, cols});
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h) all.matrix(b * heads + h) = make(b, h);
    return all;
}

/// One call's shapes and names, so that the steps below read like the formulas.
template <class Scalar>
struct Attention {
    const DebertaPass<Scalar>& pass;
    const std::string& prefix;
    Index layer;
    Index batch, heads, queries, keys;

    const Operations<Scalar>& compute() const { return pass.compute(); }
    bool wants(const char* stage) const { return pass.trace.wants(prefix + stage); }
    void keep(const char* stage, const Tensor<Scalar>& values) const {
        if (wants(stage)) pass.trace.add(prefix + stage, values);
    }
    template <class Make>
    Tensor<Scalar> scores_of(Make make) const {
        return for_each_head<Scalar>(batch, heads, queries, keys, make);
    }
    const Matrix<Scalar>& mixing(const char* name) const {
        return pass.weights.matrix(layer_prefix(layer) + "attention.self." + name, {heads, heads});
    }
};

template <class Scalar>
Tensor<Scalar> project(const Attention<Scalar>& at, const Tensor<Scalar>& x, int part) {
    Tensor<Scalar> joined(x.shape());
    joined.rows() = at.compute().dense(x.rows(), at.pass.weights.projection(at.layer, part));
    return split_heads(joined, at.heads);
}

/// Adds a term to the sum: from the trace where it was kept, straight from its factors where nobody asked for it.
template <class Scalar, class Add>
void add_kept(const Attention<Scalar>& at, const char* stem, Index head, View<Scalar> sum, Add add) {
    const Stage* kept = at.pass.trace.find(at.prefix + stem);
    if (kept)
        at.compute().add(kept->as<Scalar>().matrix(head), sum);
    else
        add(sum);
}

/// (c2c + c2p + p2c) / sqrt(n d); each term is computed if it is wanted or the sum is needed.
template <class Scalar>
Tensor<Scalar> sum_of_terms(const Attention<Scalar>& at, const Tensor<Scalar>& q, const Tensor<Scalar>& k,
                            bool needed) {
    const Terms terms = at.pass.config().terms;
    Tensor<Scalar> scores;
    if (needed || at.wants(".c2c")) {
        scores = at.scores_of([&](Index b, Index h) {
            return at.compute().content_to_content(q.matrix(b * at.heads + h), k.matrix(b * at.heads + h));
        });
        at.keep(".c2c", scores);
    }
    const DebertaPass<Scalar>& pass = at.pass;
    if (terms.c2p && at.wants(".c2p")) {
        const Tensor<Scalar>& k_r = pass.weights.k_r(at.layer);
        at.keep(".c2p", at.scores_of([&](Index b, Index h) {
            return at.compute().content_to_position(q.matrix(b * at.heads + h), k_r.matrix(h), *pass.line);
        }));
    }
    if (terms.p2c && at.wants(".p2c")) {
        const Tensor<Scalar>& q_r = pass.weights.q_r(at.layer);
        at.keep(".p2c", at.scores_of([&](Index b, Index h) {
            return at.compute().position_to_content(k.matrix(b * at.heads + h), q_r.matrix(h), *pass.line,
                                                    pass.options.p2c_index);
        }));
    }
    if (!needed) return scores;
    for (Index at_head = 0; at_head < at.batch * at.heads; ++at_head) {
        auto scores_h = scores.matrix(at_head);
        if (terms.c2p)
            add_kept<Scalar>(at, ".c2p", at_head, scores_h, [&](View<Scalar> sum) {
                at.compute().add_content_to_position(
                    q.matrix(at_head), pass.weights.k_r(at.layer).matrix(at_head % at.heads), *pass.line, sum);
            });
        if (terms.p2c)
            add_kept<Scalar>(at, ".p2c", at_head, scores_h, [&](View<Scalar> sum) {
                at.compute().add_position_to_content(k.matrix(at_head),
                                                     pass.weights.q_r(at.layer).matrix(at_head % at.heads), *pass.line,
                                                     pass.options.p2c_index, sum);
            });
    }
    at.compute().divide(score_divisor<Scalar>(deberta_divisor_terms(at.pass.config(), at.pass.options),
                                              at.pass.config().attention_head_size),
                        scores.rows());
    return scores;
}

template <class Scalar>
Tensor<Scalar> probabilities(const Attention<Scalar>& at, Tensor<Scalar> scores, bool needed) {
    const bool talking = at.pass.config().talking_head;
    at.keep(".scores", scores);
    if (talking && (needed || at.wants(".scores_mixed"))) {
        scores = at.compute().mix_heads(scores, at.mixing("head_logits_proj.weight"));
        at.keep(".scores_mixed", scores);
    }
    if (!needed) return {};
    Tensor<Scalar> probs = at.scores_of([&](Index b, Index h) {
        return at.compute().masked_softmax(scores.matrix(b * at.heads + h), at.pass.masks[static_cast<std::size_t>(b)],
                                           at.pass.options.masked_row);
    });
    at.keep(".probs", probs);
    if (talking) {
        probs = at.compute().mix_heads(probs, at.mixing("head_weights_proj.weight"));
        at.keep(".probs_mixed", probs);
    }
    return probs;
}

}  // namespace

int deberta_divisor_terms(const DebertaConfig& config, const DebertaOptions& options) {
    // transformers counts the entries of pos_att_type in version 1, whatever they are (spec 2.4).
    if (options.count_listed_names && config.version == 1 && config.relative_attention)
        return 1 + static_cast<int>(config.listed_terms);
    return config.terms.count();
}

template <class Scalar>
Tensor<Scalar> deberta_attention(const DebertaPass<Scalar>& pass, const std::string& prefix, Index layer,
                                 const Tensor<Scalar>& kv, const Tensor<Scalar>& query, bool context_needed) {
    const DebertaConfig& config = pass.config();
    const Index heads = config.num_attention_heads;
    const Attention<Scalar> at{pass, prefix, layer, kv.extent(0), heads, query.extent(1), kv.extent(1)};
    context_needed = context_needed || at.wants(".context");
    const bool probs = context_needed || at.wants(".probs") || at.wants(".probs_mixed");
    const bool scores = probs || at.wants(".scores") || at.wants(".scores_mixed");
    const bool needs_q = scores || at.wants(".q") || at.wants(".c2c") || at.wants(".c2p");
    const bool needs_k = scores || at.wants(".k") || at.wants(".c2c") || at.wants(".p2c");

    Tensor<Scalar> q, k, v;
    if (needs_q) q = project(at, query, 0);
    if (needs_k) k = project(at, kv, 1);
    if (context_needed || at.wants(".v")) v = project(at, kv, 2);
    at.keep(".q", q);
    at.keep(".k", k);
    at.keep(".v", v);
    if (config.terms.p2c && at.wants(".q_r")) pass.trace.add(prefix + ".q_r", pass.weights.q_r(layer));
    if (config.terms.c2p && at.wants(".k_r")) pass.trace.add(prefix + ".k_r", pass.weights.k_r(layer));

    Tensor<Scalar> summed = sum_of_terms(at, q, k, scores);
    if (!scores) return {};
    const Tensor<Scalar> weights = probabilities(at, std::move(summed), probs);
    if (!context_needed) return {};
    const Tensor<Scalar> context =
        join_heads(for_each_head<Scalar>(at.batch, heads, at.queries, v.extent(3), [&](Index b, Index h) {
            return at.compute().context(weights.matrix(b * heads + h), v.matrix(b * heads + h));
        }));
    at.keep(".context", context);
    return context;
}

template Tensor<float> deberta_attention<float>(const DebertaPass<float>&, const std::string&, Index,
                                                const Tensor<float>&, const Tensor<float>&, bool);
template Tensor<double> deberta_attention<double>(const DebertaPass<double>&, const std::string&, Index,
                                                  const Tensor<double>&, const Tensor<double>&, bool);

}  // namespace locus
