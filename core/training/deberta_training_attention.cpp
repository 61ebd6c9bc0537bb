// Disentangled attention of one layer in training: for all sentences and heads, and back.
#include "core/attention/disentangled_backward.h"
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

template <class Scalar>
Scalar divisor(const TrainingPass<Scalar>& pass) {
    return score_divisor<Scalar>(pass.config.terms.count(), pass.head_width());
}

/// Where sentence b and head h lie in [N,D].
template <class Scalar>
auto head_of(const TrainingPass<Scalar>& pass, const Matrix<Scalar>& rows, Index b, Index h) {
    return rows.block(pass.batch.starts[static_cast<std::size_t>(b)], h * pass.head_width(), pass.batch.length(b),
                      pass.head_width());
}
template <class Scalar>
auto head_of(const TrainingPass<Scalar>& pass, Matrix<Scalar>& rows, Index b, Index h) {
    return rows.block(pass.batch.starts[static_cast<std::size_t>(b)], h * pass.head_width(), pass.batch.length(b),
                      pass.head_width());
}

template <class Scalar>
auto head_of_table(const TrainingPass<Scalar>& pass, const Matrix<Scalar>& table, Index h) {
    return table.middleCols(h * pass.head_width(), pass.head_width());
}

/// Softmax over the keys that are seen, of scores / divisor; a query that sees none gets zeros.  `scores` [T,padded]
/// becomes the exponentials, probs [T,T] are made here.
template <class Scalar>
Matrix<Scalar> softmax_of(Matrix<Scalar>& scores, Index keys, const Mask* mask, Scalar divisor) {
    Matrix<Scalar> probs(scores.rows(), keys);
    for (Index i = 0; i < scores.rows(); ++i) {
        if (mask && mask->row(i).maxCoeff() == 0) {
            probs.row(i).setZero();
            continue;
        }
        const std::uint8_t* seen = mask ? mask->row(i).data() : nullptr;
        const Scalar sum = best_lanes<Scalar>().exponentials(&scores(i, 0), keys, seen, 1 / divisor);
        probs.row(i) = scores.row(i).head(keys) / sum;
    }
    return probs;
}

/// Of (c2c + c2p + p2c) / sqrt(n d).
template <class Scalar>
Matrix<Scalar> probabilities(const TrainingPass<Scalar>& pass, const LayerInside<Scalar>& inside, Index b, Index h) {
    const auto q = head_of(pass, inside.q, b, h), k = head_of(pass, inside.k, b, h);
    const Index length = q.rows();
    Matrix<Scalar> padded(length, (length + kLaneBlock - 1) / kLaneBlock * kLaneBlock);
    View<Scalar> scores = padded.leftCols(length);
    scores = content_to_content<Scalar>(q, k);
    if (pass.config.terms.c2p)
        add_content_to_position<Scalar>(q, head_of_table(pass, inside.k_r, h), pass.line(b), scores);
    if (pass.config.terms.p2c)
        add_position_to_content<Scalar>(k, head_of_table(pass, inside.q_r, h), pass.line(b), P2cIndex::official_ij,
                                        scores);
    const Mask* mask = pass.batch.masks.empty() || pass.batch.masks[static_cast<std::size_t>(b)].size() == 0
                           ? nullptr
                           : &pass.batch.masks[static_cast<std::size_t>(b)];
    return softmax_of<Scalar>(padded, length, mask, divisor(pass));
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
    const Index heads = pass.heads(), all = pass.batch.sentences() * heads;
    const std::uint64_t seed = pass.dropout.site_seed(DropoutSite::probs, use.use);
    inside.probs.resize(static_cast<std::size_t>(all));
    inside.context.resize(inside.q.rows(), inside.q.cols());
    pass.workers.each(all, [&](Index at, int) {
        const Index b = at / heads, h = at % heads;
        Matrix<Scalar>& probs = inside.probs[static_cast<std::size_t>(at)];
        probs = probabilities(pass, inside, b, h);
        auto context = head_of(pass, inside.context, b, h);
        const auto v = head_of(pass, inside.v, b, h);
        if (pass.dropout.attention > 0) {
            Matrix<Scalar> dropped = probs;
            drop<Scalar>(seed, at, pass.dropout.attention, dropped);
            context.noalias() = dropped * v;
        } else {
            context.noalias() = probs * v;
        }
    });
}

namespace {

/// Gradients of one layer's operands, heads side by side, and of the raw sum of terms where somebody wants it.
template <class Scalar>
struct OperandGradients {
    Matrix<Scalar> q, k, v, k_r, q_r;
    std::vector<Matrix<Scalar>> scores;
};

/// One piece per head: within it the sentences come in order, so that what they share is always summed the same way.
template <class Scalar>
OperandGradients<Scalar> operand_gradients(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                                           const LayerInside<Scalar>& inside, const ConstView<Scalar>& d_context,
                                           bool keep_scores) {
    const Index rows = inside.q.rows(), width = inside.q.cols(), d = pass.head_width(), heads = pass.heads();
    const std::uint64_t seed = pass.dropout.site_seed(DropoutSite::probs, use.use);
    OperandGradients<Scalar> sum;
    for (Matrix<Scalar>* one : {&sum.q, &sum.k, &sum.v}) one->resize(rows, width);
    sum.k_r.setZero(inside.k_r.rows(), inside.k_r.cols());
    sum.q_r.setZero(inside.q_r.rows(), inside.q_r.cols());
    if (keep_scores) sum.scores.resize(inside.probs.size());
    pass.workers.each(heads, [&](Index h, int) {
        DisentangledHead<Scalar> head;
        if (inside.k_r.size() > 0) head.k_r = head_of_table(pass, inside.k_r, h);
        if (inside.q_r.size() > 0) head.q_r = head_of_table(pass, inside.q_r, h);
        head.divisor = divisor(pass);
        for (Index b = 0; b < pass.batch.sentences(); ++b) {
            const Index at = b * heads + h;
            head.q = head_of(pass, inside.q, b, h);
            head.k = head_of(pass, inside.k, b, h);
            head.v = head_of(pass, inside.v, b, h);
            head.probs = inside.probs[static_cast<std::size_t>(at)];
            if (pass.dropout.attention > 0) {
                head.keep.setOnes(head.probs.rows(), head.probs.cols());
                drop<Scalar>(seed, at, pass.dropout.attention, head.keep);
            }
            DisentangledGradients<Scalar> grad = disentangled_backward<Scalar>(
                head, pass.line(b),
                d_context.block(pass.batch.starts[static_cast<std::size_t>(b)], h * d, pass.batch.length(b), d));
            head_of(pass, sum.q, b, h) = grad.q;
            head_of(pass, sum.k, b, h) = grad.k;
            head_of(pass, sum.v, b, h) = grad.v;
            if (sum.k_r.size() > 0) sum.k_r.middleCols(h * d, d) += grad.k_r;
            if (sum.q_r.size() > 0) sum.q_r.middleCols(h * d, d) += grad.q_r;
            if (keep_scores) sum.scores[static_cast<std::size_t>(at)] = std::move(grad.scores);
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
    for (Matrix<Scalar>& one : grad.scores) one *= divisor(pass);  // of the sum behind the division
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
    OperandGradients<Scalar> grad = operand_gradients(pass, use, inside, d_context, stages.trace != nullptr);
    keep_stages(pass, grad, stages);
    d_query += pass.dense_backward(*use.query, names.query, grad.q, gradients);
    d_kv += pass.dense_backward(*use.kv, names.key, grad.k, gradients);
    d_kv += pass.dense_backward(*use.kv, names.value, grad.v, gradients);
    if (inside.table.size() == 0) return;
    // With shared projections these add to the same weights as the words did.
    Matrix<Scalar> d_table = Matrix<Scalar>::Zero(inside.table.rows(), inside.table.cols());
    if (grad.k_r.size() > 0) d_table += pass.dense_backward(inside.table, names.position_key, grad.k_r, gradients);
    if (grad.q_r.size() > 0) d_table += pass.dense_backward(inside.table, names.position_query, grad.q_r, gradients);
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
