// One layer of the encoder in training: attention, feed-forward part, and the convolution beside the first layer.
#include "core/training/training_layer.h"

#include <algorithm>
#include <type_traits>

#include "core/attention/disentangled.h"
#include "core/fast/attention_head.h"
#include "core/models/deberta_weights.h"
#include "core/models/layers.h"

namespace locus {

namespace {

// Disentangled attention of one layer: for all sentences and heads, and its backward pass.

/// Names of the projections of a layer.
struct ProjectionNames {
    ProjectionNames(const DebertaConfig& config, Index layer) {
        const std::string self = layer_prefix(layer) + "attention.self.";
        query = self + "query_proj";
        key = self + "key_proj";
        value = self + "value_proj";
        position_key = config.share_att_key ? key : self + "pos_key_proj";
        position_query = config.share_att_key ? query : self + "pos_query_proj";
    }
    std::string query, key, value, position_key, position_query;
};

/// Where sentence b and head h lie in [N,D].
template <class Scalar>
HeadRows<const Scalar> head_of(const TrainingContext<Scalar>& pass, const ConstView<Scalar>& rows, Index b, Index h) {
    const Index first = pass.batch.starts[static_cast<std::size_t>(b)];
    return {rows.data() + first * rows.outerStride() + h * pass.head_width(), pass.batch.length(b), pass.head_width(),
            rows.outerStride()};
}
template <class Scalar>
HeadRows<Scalar> head_to_write(const TrainingContext<Scalar>& pass, Matrix<Scalar>& rows, Index b, Index h) {
    const Index first = pass.batch.starts[static_cast<std::size_t>(b)];
    return {&rows(first, h * pass.head_width()), pass.batch.length(b), pass.head_width(), rows.cols()};
}

/// Head h of [2k,D]; nothing of an empty table.
template <class Scalar>
HeadRows<Scalar> head_of_table(const TrainingContext<Scalar>& pass, Matrix<Scalar>& table, Index h) {
    return {table.data() + h * pass.head_width(), table.rows(), pass.head_width(), table.cols()};
}

template <class Scalar>
HeadTables<Scalar> tables_of(const TrainingContext<Scalar>& pass, const LayerInside<Scalar>& inside, Index h) {
    const auto cut = [&](const Matrix<Scalar>& table) {
        return table.size() > 0 ? Matrix<Scalar>(table.middleCols(h * pass.head_width(), pass.head_width())) : table;
    };
    return head_tables<Scalar>(cut(inside.k_r), cut(inside.q_r));
}

const Mask* mask_of(const PackedBatch& batch, Index b) {
    const auto at = static_cast<std::size_t>(b);
    return batch.masks.empty() || batch.masks[at].size() == 0 ? nullptr : &batch.masks[at];
}

/// Gradients of one layer's operands, heads side by side, and of the raw sum of terms where somebody wants it.
template <class Scalar>
struct OperandGradients {
    Matrix<Scalar> q, k, v, k_r, q_r;
    std::vector<Matrix<Scalar>> scores;
};

// Attention handed to a backend: our rows as its tensors, and back.

/// Rows [N,D] as [1,H,N,d], and back.
template <class Scalar>
Tensor<float> as_heads(const TrainingContext<Scalar>& pass, const ConstView<Scalar>& rows) {
    Tensor<float> joined({1, rows.rows(), rows.cols()});
    joined.rows() = rows.template cast<float>();
    return split_heads(joined, pass.heads());
}
template <class Scalar>
Matrix<Scalar> as_rows(const Tensor<float>& heads) {
    return join_heads(heads).rows().template cast<Scalar>();
}
/// A table [2k,D] as [H,2k,d]; nothing of an empty one.
template <class Scalar>
Tensor<float> as_head_tables(const TrainingContext<Scalar>& pass, const Matrix<Scalar>& table) {
    if (table.size() == 0) return {};
    const Tensor<float> split = as_heads<Scalar>(pass, table);
    return {{split.extent(1), split.extent(2), split.extent(3)}, split.values()};
}
template <class Scalar>
Matrix<Scalar> as_table(const Tensor<float>& heads) {
    if (heads.empty()) return {};
    return as_rows<Scalar>(Tensor<float>({1, heads.extent(0), heads.extent(1), heads.extent(2)}, heads.values()));
}

template <class Scalar>
PackedHeads packed_heads(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use,
                         const LayerInside<Scalar>& inside) {
    PackedHeads heads{as_heads<Scalar>(pass, inside.q), as_heads<Scalar>(pass, inside.k),
                      as_heads<Scalar>(pass, inside.v), as_head_tables(pass, inside.k_r),
                      as_head_tables(pass, inside.q_r), {}};
    for (Index b = 0; b < pass.batch.sentences(); ++b) heads.lengths.push_back(pass.batch.length(b));
    heads.scale = static_cast<float>(1 / pass.divisor());
    heads.dropout = static_cast<float>(pass.dropout.attention);
    heads.seed = pass.dropout.site_seed(DropoutSite::probs, use.use);
    return heads;
}

template <class Scalar>
const RelativeBuckets& longest_buckets(const TrainingContext<Scalar>& pass) {
    Index longest = 0;
    for (Index b = 0; b < pass.batch.sentences(); ++b) longest = std::max(longest, pass.batch.length(b));
    return pass.buckets.at(longest);
}

/// True if there is a backend and it computed the context; it takes no masks and works in float.
template <class Scalar>
bool forward_on_backend(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use, LayerInside<Scalar>& inside) {
    if (!pass.engine || !pass.batch.masks.empty() || !std::is_same_v<Scalar, float>) return false;
    inside.on_backend = std::make_shared<const PackedContext>(
        pass.engine->forward(packed_heads(pass, use, inside), longest_buckets(pass)));
    inside.context = as_rows<Scalar>(inside.on_backend->context);
    return true;
}

/// The gradients of what the backend computed.
template <class Scalar>
OperandGradients<Scalar> backward_on_backend(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use,
                                             const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context) {
    const PackedGradients grad = pass.engine->backward(packed_heads(pass, use, inside), *inside.on_backend,
                                                       as_heads<Scalar>(pass, d_context), longest_buckets(pass));
    return {as_rows<Scalar>(grad.q),    as_rows<Scalar>(grad.k),    as_rows<Scalar>(grad.v),
            as_table<Scalar>(grad.k_r), as_table<Scalar>(grad.q_r), {}};
}

/// Fills q, k, v, table, k_r, q_r, probs and context.  relative_table [2k,D] after its norm; empty without relative
/// attention.
template <class Scalar>
void attention_forward(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use,
                       const Matrix<Scalar>& relative_table, LayerInside<Scalar>& inside) {
    const ProjectionNames names(pass.config, use.layer);
    inside.q = pass.dense(*use.query, names.query);
    inside.k = pass.dense(*use.kv, names.key);
    inside.v = pass.dense(*use.kv, names.value);
    if (pass.config.terms.c2p || pass.config.terms.p2c) {
        inside.table = relative_table;
        pass.drop(DropoutSite::table, use.use, inside.table);  // once: both terms see the same dropped table
        if (pass.config.terms.c2p) inside.k_r = pass.dense(inside.table, names.position_key);
        if (pass.config.terms.p2c) inside.q_r = pass.dense(inside.table, names.position_query);
    }
    if (forward_on_backend(pass, use, inside)) return;
    const Index heads = pass.heads(), all = pass.batch.sentences() * heads;
    const std::uint64_t seed = pass.dropout.site_seed(DropoutSite::probs, use.use);
    inside.probs.resize(static_cast<std::size_t>(all));
    inside.context.resize(inside.q.rows(), inside.q.cols());
    std::vector<HeadTables<Scalar>> tables(static_cast<std::size_t>(heads));
    pass.pool.parallel_for(heads,
                           [&](Index h, int) { tables[static_cast<std::size_t>(h)] = tables_of(pass, inside, h); });
    std::vector<HeadBuffers<Scalar>> buffers(static_cast<std::size_t>(pass.pool.threads()));
    pass.pool.parallel_for(all, [&](Index at, int member) {
        const Index b = at / heads, h = at % heads;
        HeadBuffers<Scalar>& own = buffers[static_cast<std::size_t>(member)];
        Matrix<Scalar>& probs = inside.probs[static_cast<std::size_t>(at)];
        head_probabilities<Scalar>(head_of<Scalar>(pass, inside.q, b, h), head_of<Scalar>(pass, inside.k, b, h),
                                   tables[static_cast<std::size_t>(h)], pass.buckets_of(b), mask_of(pass.batch, b),
                                   pass.divisor(), own, probs);
        const bool drops = pass.dropout.attention > 0;
        if (drops) {
            own.dropped = probs;
            drop<Scalar>(seed, at, pass.dropout.attention, own.dropped);
        }
        head_context<Scalar>(drops ? own.dropped : probs, head_of<Scalar>(pass, inside.v, b, h),
                             head_to_write(pass, inside.context, b, h));
    });
}

/// One piece per head: within it the sentences come in order, so that what they share is always summed the same way.
template <class Scalar>
OperandGradients<Scalar> operand_gradients(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use,
                                           const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context,
                                           bool keep_scores) {
    const Index rows = inside.q.rows(), width = inside.q.cols(), heads = pass.heads();
    const std::uint64_t seed = pass.dropout.site_seed(DropoutSite::probs, use.use);
    OperandGradients<Scalar> sum;
    for (Matrix<Scalar>* one : {&sum.q, &sum.k, &sum.v}) one->resize(rows, width);
    sum.k_r.setZero(inside.k_r.rows(), inside.k_r.cols());
    sum.q_r.setZero(inside.q_r.rows(), inside.q_r.cols());
    if (keep_scores) sum.scores.resize(inside.probs.size());
    std::vector<HeadBuffers<Scalar>> buffers(static_cast<std::size_t>(pass.pool.threads()));
    pass.pool.parallel_for(heads, [&](Index h, int member) {
        const HeadTables<Scalar> tables = tables_of(pass, inside, h);
        HeadBuffers<Scalar>& own = buffers[static_cast<std::size_t>(member)];
        const bool drops = pass.dropout.attention > 0;
        Matrix<Scalar> d_scores;
        for (Index b = 0; b < pass.batch.sentences(); ++b) {
            const Index at = b * heads + h;
            const Matrix<Scalar>& probs = inside.probs[static_cast<std::size_t>(at)];
            if (drops) {
                own.dropped = probs;
                drop<Scalar>(seed, at, pass.dropout.attention, own.dropped);
            }
            const HeadBackward<Scalar> head{head_of<Scalar>(pass, inside.q, b, h),
                                            head_of<Scalar>(pass, inside.k, b, h),
                                            head_of<Scalar>(pass, inside.v, b, h),
                                            head_of<Scalar>(pass, d_context, b, h),
                                            probs,
                                            drops ? &own.dropped : nullptr,
                                            pass.buckets_of(b),
                                            pass.divisor()};
            head_backward<Scalar>(head, tables, own, head_to_write(pass, sum.q, b, h), head_to_write(pass, sum.k, b, h),
                                  head_to_write(pass, sum.v, b, h), head_of_table(pass, sum.k_r, h),
                                  head_of_table(pass, sum.q_r, h), d_scores);
            if (keep_scores) sum.scores[static_cast<std::size_t>(at)] = d_scores;
        }
    });
    return sum;
}

template <class Scalar>
void keep_stages(const TrainingContext<Scalar>& pass, OperandGradients<Scalar>& grad,
                 const StageGradients<Scalar>& stages) {
    if (!stages.trace) return;
    for (const char* term : {".c2c", ".c2p", ".p2c"}) {
        const bool active = term[1] == 'p' ? pass.config.terms.p2c : term[3] == 'c' || pass.config.terms.c2p;
        if (active) stages.keep_scores(term, grad.scores);
    }
    for (Matrix<Scalar>& one : grad.scores) one *= pass.divisor();  // of the sum behind the division
    if (!grad.scores.empty()) stages.keep_scores(".scores", grad.scores);
    stages.keep_heads(".q", grad.q);
    stages.keep_heads(".k", grad.k);
    stages.keep_heads(".v", grad.v);
    if (grad.k_r.size() > 0) stages.keep_table(".k_r", grad.k_r);
    if (grad.q_r.size() > 0) stages.keep_table(".q_r", grad.q_r);
}

/// Adds to d_kv, d_query [N,D], d_relative_table [2k,D] and the gradients of the projections.
template <class Scalar>
void attention_backward(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use,
                        const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context, Matrix<Scalar>& d_kv,
                        Matrix<Scalar>& d_query, Matrix<Scalar>& d_relative_table, Parameters<Scalar>& gradients,
                        const StageGradients<Scalar>& stages) {
    const ProjectionNames names(pass.config, use.layer);
    OperandGradients<Scalar> grad = inside.on_backend
                                        ? backward_on_backend(pass, use, inside, d_context)
                                        : operand_gradients(pass, use, inside, d_context, stages.trace != nullptr);
    keep_stages(pass, grad, stages);
    pass.dense_backward(*use.query, names.query, grad.q, gradients, d_query);
    pass.dense_backward(*use.kv, names.key, grad.k, gradients, d_kv);
    pass.dense_backward(*use.kv, names.value, grad.v, gradients, d_kv);
    if (inside.table.size() == 0) return;
    // With shared projections these add to the same weights as the words did.
    Matrix<Scalar> d_table = Matrix<Scalar>::Zero(inside.table.rows(), inside.table.cols());
    if (grad.k_r.size() > 0) pass.dense_backward(inside.table, names.position_key, grad.k_r, gradients, d_table);
    if (grad.q_r.size() > 0) pass.dense_backward(inside.table, names.position_query, grad.q_r, gradients, d_table);
    pass.drop(DropoutSite::table, use.use, d_table);
    d_relative_table += d_table;
}

}  // namespace

template <class Scalar>
Matrix<Scalar> layer_forward(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use,
                             const Matrix<Scalar>& relative_table, LayerInside<Scalar>& inside) {
    const std::string names = layer_prefix(use.layer);
    attention_forward(pass, use, relative_table, inside);
    inside.attention_sum = pass.dense(inside.context, names + "attention.output.dense");
    pass.drop(DropoutSite::attention, use.use, inside.attention_sum);
    inside.attention_sum += *use.query;
    inside.attention = pass.norm(inside.attention_sum, names + "attention.output.LayerNorm");
    inside.ffn_in = pass.dense(inside.attention, names + "intermediate.dense");
    inside.ffn_act = pass.activate(inside.ffn_in, pass.config.hidden_act);
    inside.output_sum = pass.dense(inside.ffn_act, names + "output.dense");
    pass.drop(DropoutSite::ffn, use.use, inside.output_sum);
    inside.output_sum += inside.attention;
    return pass.norm(inside.output_sum, names + "output.LayerNorm");
}

template <class Scalar>
void layer_backward(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use, const LayerInside<Scalar>& inside,
                    const ConstView<Scalar>& d_output, Matrix<Scalar>& d_kv, Matrix<Scalar>& d_query,
                    Matrix<Scalar>& d_relative_table, Parameters<Scalar>& gradients,
                    const StageGradients<Scalar>& stages) {
    const std::string names = layer_prefix(use.layer);
    // Two ways lead to what the feed-forward part was given: through it and around it.
    Matrix<Scalar> d_attention = pass.norm_backward(inside.output_sum, names + "output.LayerNorm", d_output, gradients);
    Matrix<Scalar> d_ffn = d_attention;
    pass.drop(DropoutSite::ffn, use.use, d_ffn);
    stages.keep(".ffn", d_ffn);
    Matrix<Scalar> d_act = pass.dense_backward(inside.ffn_act, names + "output.dense", d_ffn, gradients);
    stages.keep(".ffn_act", d_act);
    pass.activate_backward(inside.ffn_in, pass.config.hidden_act, d_act);
    pass.dense_backward(inside.attention, names + "intermediate.dense", d_act, gradients, d_attention);
    stages.keep(".attention", d_attention);

    Matrix<Scalar> d_attention_sum =
        pass.norm_backward(inside.attention_sum, names + "attention.output.LayerNorm", d_attention, gradients);
    d_query += d_attention_sum;
    pass.drop(DropoutSite::attention, use.use, d_attention_sum);
    const Matrix<Scalar> d_context =
        pass.dense_backward(inside.context, names + "attention.output.dense", d_attention_sum, gradients);
    stages.keep(".context", d_context);
    attention_backward<Scalar>(pass, use, inside, d_context, d_kv, d_query, d_relative_table, gradients, stages);
}

namespace {

template <class Scalar>
Convolution<Scalar> convolution_of(const TrainingContext<Scalar>& pass) {
    return {pass.values.matrix("encoder.conv.conv.weight"), pass.values.row("encoder.conv.conv.bias"),
            pass.config.conv_kernel_size, pass.config.conv_groups};
}

/// Runs of rows that are one sentence each.
template <class Scalar, class Work>
void by_sentence(const TrainingContext<Scalar>& pass, Work work) {
    for (Index b = 0; b < pass.batch.sentences(); ++b)
        work(pass.batch.starts[static_cast<std::size_t>(b)], pass.batch.length(b));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> convolution_forward(const TrainingContext<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                   const Matrix<Scalar>& layer_output, ConvolutionTape<Scalar>& tape) {
    const Convolution<Scalar> layer = convolution_of(pass);
    tape.before_act.resize(embeddings.rows(), embeddings.cols());
    by_sentence(pass, [&](Index row, Index rows) {
        tape.before_act.middleRows(row, rows) = convolve<Scalar>(embeddings.middleRows(row, rows), layer);
    });
    pass.hide(tape.before_act);
    pass.drop(DropoutSite::convolution, 0, tape.before_act);
    tape.sum = layer_output + pass.activate(tape.before_act, pass.config.conv_act);
    Matrix<Scalar> merged = pass.norm(tape.sum, "encoder.conv.LayerNorm");
    pass.hide(merged);
    return merged;
}

template <class Scalar>
Matrix<Scalar> convolution_backward(const TrainingContext<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                    const ConvolutionTape<Scalar>& tape, const ConstView<Scalar>& d_output,
                                    Matrix<Scalar>& d_embeddings, Parameters<Scalar>& gradients) {
    Matrix<Scalar> d_merged = d_output;
    pass.hide(d_merged);
    const Matrix<Scalar> d_sum = pass.norm_backward(tape.sum, "encoder.conv.LayerNorm", d_merged, gradients);
    Matrix<Scalar> d_convolved = d_sum;
    pass.activate_backward(tape.before_act, pass.config.conv_act, d_convolved);
    pass.drop(DropoutSite::convolution, 0, d_convolved);
    pass.hide(d_convolved);
    const Convolution<Scalar> layer = convolution_of(pass);
    by_sentence(pass, [&](Index row, Index rows) {
        const ConvolutionGradients<Scalar> grad =
            convolve_backward<Scalar>(embeddings.middleRows(row, rows), layer, d_convolved.middleRows(row, rows));
        d_embeddings.middleRows(row, rows) += grad.x;
        if (!gradients.has("encoder.conv.conv.weight")) return;
        gradients.matrix("encoder.conv.conv.weight") += grad.weight;
        gradients.row("encoder.conv.conv.bias") += grad.bias;
    });
    return d_sum;
}

template Matrix<float> layer_forward<float>(const TrainingContext<float>&, const LayerUse<float>&, const Matrix<float>&,
                                            LayerInside<float>&);
template Matrix<double> layer_forward<double>(const TrainingContext<double>&, const LayerUse<double>&,
                                              const Matrix<double>&, LayerInside<double>&);
template void layer_backward<float>(const TrainingContext<float>&, const LayerUse<float>&, const LayerInside<float>&,
                                    const ConstView<float>&, Matrix<float>&, Matrix<float>&, Matrix<float>&,
                                    Parameters<float>&, const StageGradients<float>&);
template void layer_backward<double>(const TrainingContext<double>&, const LayerUse<double>&,
                                     const LayerInside<double>&, const ConstView<double>&, Matrix<double>&,
                                     Matrix<double>&, Matrix<double>&, Parameters<double>&,
                                     const StageGradients<double>&);
template Matrix<float> convolution_forward<float>(const TrainingContext<float>&, const Matrix<float>&,
                                                  const Matrix<float>&, ConvolutionTape<float>&);
template Matrix<double> convolution_forward<double>(const TrainingContext<double>&, const Matrix<double>&,
                                                    const Matrix<double>&, ConvolutionTape<double>&);
template Matrix<float> convolution_backward<float>(const TrainingContext<float>&, const Matrix<float>&,
                                                   const ConvolutionTape<float>&, const ConstView<float>&,
                                                   Matrix<float>&, Parameters<float>&);
template Matrix<double> convolution_backward<double>(const TrainingContext<double>&, const Matrix<double>&,
                                                     const ConvolutionTape<double>&, const ConstView<double>&,
                                                     Matrix<double>&, Parameters<double>&);

}  // namespace locus
