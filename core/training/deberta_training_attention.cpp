// Disentangled attention of one layer in training: for all sentences and heads, and back.
#include "core/attention/disentangled.h"
#include "core/fast/attention_head.h"
#include "core/models/deberta_weights.h"
#include "core/training/deberta_training_pass.h"

namespace locus {

namespace {

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
HeadRows<const Scalar> head_of(const TrainingPass<Scalar>& pass, const ConstView<Scalar>& rows, Index b, Index h) {
    const Index first = pass.batch.starts[static_cast<std::size_t>(b)];
    return {rows.data() + first * rows.outerStride() + h * pass.head_width(), pass.batch.length(b), pass.head_width(),
            rows.outerStride()};
}
template <class Scalar>
HeadRows<Scalar> head_to_write(const TrainingPass<Scalar>& pass, Matrix<Scalar>& rows, Index b, Index h) {
    const Index first = pass.batch.starts[static_cast<std::size_t>(b)];
    return {&rows(first, h * pass.head_width()), pass.batch.length(b), pass.head_width(), rows.cols()};
}

/// Head h of [2k,D]; nothing of an empty table.
template <class Scalar>
HeadRows<Scalar> head_of_table(const TrainingPass<Scalar>& pass, Matrix<Scalar>& table, Index h) {
    return {table.data() + h * pass.head_width(), table.rows(), pass.head_width(), table.cols()};
}

template <class Scalar>
HeadTables<Scalar> tables_of(const TrainingPass<Scalar>& pass, const LayerInside<Scalar>& inside, Index h) {
    const auto cut = [&](const Matrix<Scalar>& table) {
        return table.size() > 0 ? Matrix<Scalar>(table.middleCols(h * pass.head_width(), pass.head_width())) : table;
    };
    return head_tables<Scalar>(cut(inside.k_r), cut(inside.q_r));
}

const Mask* mask_of(const PackedBatch& batch, Index b) {
    const auto at = static_cast<std::size_t>(b);
    return batch.masks.empty() || batch.masks[at].size() == 0 ? nullptr : &batch.masks[at];
}

}  // namespace

template <class Scalar>
void attention_forward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
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
                                   tables[static_cast<std::size_t>(h)], pass.line(b), mask_of(pass.batch, b),
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

namespace {

/// One piece per head: within it the sentences come in order, so that what they share is always summed the same way.
template <class Scalar>
OperandGradients<Scalar> operand_gradients(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
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
                                            pass.line(b),
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
void keep_stages(const TrainingPass<Scalar>& pass, OperandGradients<Scalar>& grad,
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

}  // namespace

template <class Scalar>
void attention_backward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                        const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context, Matrix<Scalar>& d_kv,
                        Matrix<Scalar>& d_query, Matrix<Scalar>& d_relative_table, Parameters<Scalar>& gradients,
                        const StageGradients<Scalar>& stages) {
    const ProjectionNames names(pass.config, use.layer);
    OperandGradients<Scalar> grad = inside.elsewhere
                                        ? gradients_elsewhere(pass, use, inside, d_context)
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

template void attention_forward<float>(const TrainingPass<float>&, const LayerUse<float>&, const Matrix<float>&,
                                       LayerInside<float>&);
template void attention_forward<double>(const TrainingPass<double>&, const LayerUse<double>&, const Matrix<double>&,
                                        LayerInside<double>&);
template void attention_backward<float>(const TrainingPass<float>&, const LayerUse<float>&, const LayerInside<float>&,
                                        const ConstView<float>&, Matrix<float>&, Matrix<float>&, Matrix<float>&,
                                        Parameters<float>&, const StageGradients<float>&);
template void attention_backward<double>(const TrainingPass<double>&, const LayerUse<double>&,
                                         const LayerInside<double>&, const ConstView<double>&, Matrix<double>&,
                                         Matrix<double>&, Matrix<double>&, Parameters<double>&,
                                         const StageGradients<double>&);

}  // namespace locus
