// Mistake 113.  Words in clusters: Transformer-XL's adaptive softmax.
#include <algorithm>
#include <numeric>

#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/models/transformer_xl.h"

namespace locus::conformance {

namespace adaptive_softmax {  // mistake 113

const TransformerXlConfig& clustered(const Replay& at) {
    if (!is_adaptive(at)) throw NotEnough{"an adaptive softmax"};
    return at.transformer_xl();
}

/// Clusters and logits of a head that is not the checkpoint's own.
template <class Change>
std::vector<Formula> head_with(Change change) {
    return {{"/lm.clusters", {}, [change](const Replay& at) { return change(at).clusters; }},
            {"/lm.logits", {}, [change](const Replay& at) { return change(at).logits; }}};
}

AdaptiveHead from_the_other_end(const Replay& at) {
    return adaptive_head(at, clustered(at),
                         order_of_clusters(at) == Dialect::official ? Dialect::hf : Dialect::official);
}

AdaptiveHead with_every_projection_tied(const Replay& at) {
    TransformerXlConfig config = clustered(at);
    if (!config.projected()) throw NotEnough{"a projection"};
    config.tied_projections.assign(config.tied_projections.size(), true);
    return adaptive_head(at, config, order_of_clusters(at));
}

/// change(head, n) is added to the log-probabilities of cluster n's words, n > 0 [B*T].
template <class Change>
Tensor<double> words_with(const Replay& at, Change change) {
    const TransformerXlConfig& config = clustered(at);
    AdaptiveHead head = adaptive_head(at, config, order_of_clusters(at));
    for (Index n = 1; n < config.clusters(); ++n)
        head.logits.rows().middleCols(config.cluster_begin(n), config.cluster_size(n)).colwise() += change(head, n);
    return head.logits;
}

Eigen::VectorXd log_p(const AdaptiveHead& head, Index cluster) { return head.clusters.rows().col(cluster - 1); }

Tensor<double> words_alone(const Replay& at) {
    return words_with(at, [](const AdaptiveHead& head, Index n) { return Eigen::VectorXd(-log_p(head, n)); });
}

Tensor<double> cluster_twice(const Replay& at) { return words_with(at, log_p); }

/// As of a program that takes the same column for every cluster.
Tensor<double> first_cluster_for_all(const Replay& at) {
    if (clustered(at).clusters() < 3) throw NotEnough{"two clusters of rarer words"};
    return words_with(
        at, [](const AdaptiveHead& head, Index n) { return Eigen::VectorXd(log_p(head, 1) - log_p(head, n)); });
}

/// The losses in the order in which the code makes them: those of cluster 0 first.  `by_sample`: the targets are
/// flattened sample by sample (transformers), else token by token (kimiyoung).
Tensor<double> losses_by_cluster(const Replay& at, bool by_sample) {
    const TransformerXlConfig& config = clustered(at);
    const Tensor<double> right = losses_of(at, at("/lm.logits"));
    const IndexTensor& labels = at.input().labels;
    const Index batch = right.extent(0), length = right.extent(1);
    std::vector<Index> flat(static_cast<std::size_t>(right.size()));  // places of [B,T], in the order of the code
    for (Index n = 0; n < right.size(); ++n)
        flat[static_cast<std::size_t>(n)] = by_sample ? n : n % batch * length + n / batch;
    const auto cluster = [&](Index place) {
        return std::upper_bound(config.cutoffs.begin(), config.cutoffs.end(), labels[place]) - config.cutoffs.begin();
    };
    std::vector<Index> sorted = flat;
    std::stable_sort(sorted.begin(), sorted.end(), [&](Index a, Index b) { return cluster(a) < cluster(b); });
    Tensor<double> losses(right.shape());
    for (std::size_t n = 0; n < flat.size(); ++n) losses[flat[n]] = right[sorted[n]];
    return losses;
}

Mistake mistake() {
    return {
        .number = 113,
        .name = "the adaptive softmax takes its clusters in another order, or a part of it is left out or tied",
        .symptom = "frequent words are guessed well and rare ones badly, or the losses stand at other tokens",
        .betrays = "log sum exp of the logits of a cluster's words == lm.clusters of that cluster",
        .evidence =
            "kimiyoung/transformer-xl pytorch/utils/proj_adaptive_softmax.py (head_logprob_i[:, -i]) "
            "beside its tf/model.py (cutoff_ends[1] + i - 1)",
        .lesson = "24",
        .families = {Family::transformer_xl},
        .stems = {"/lm.clusters", "/lm.logits", "/lm.loss"},
        .variants = {{"clusters from the other end", head_with(from_the_other_end)},
                     {"log p(word | cluster) without log p(cluster)", {{"/lm.logits", {}, words_alone}}},
                     {"every output projection tied to the input's", head_with(with_every_projection_tied)},
                     {"losses cluster by cluster, targets sample by sample",
                      {{"/lm.loss", {"/lm.logits"}, [](const Replay& at) { return losses_by_cluster(at, true); }}}},
                     {"losses cluster by cluster, targets token by token",
                      {{"/lm.loss", {"/lm.logits"}, [](const Replay& at) { return losses_by_cluster(at, false); }}}},
                     {"log p(cluster) added twice", {{"/lm.logits", {}, cluster_twice}}},
                     {"log p(cluster 1) for the words of every cluster", {{"/lm.logits", {}, first_cluster_for_all}}}}};
}

}  // namespace adaptive_softmax

std::vector<Mistake> adaptive_softmax_mistakes() { return {adaptive_softmax::mistake()}; }

}  // namespace locus::conformance
