#pragma once
// The words of Transformer-XL at both ends: from ids to vectors, and from the last layer to logits.
//
// Where config.json names cutoffs, words stand in clusters, the most frequent first.  The input of rare words may come
// from narrower tables (div_val); the output is an adaptive softmax: one softmax over the words of cluster 0 and the
// other clusters, and one over the words of each of these.
//     log p(w) = log p(w | head)                                  w in cluster 0
//     log p(w) = log p(cluster n | head) + log p(w | cluster n)   w in cluster n > 0
// Grave et al. 2017, "Efficient softmax approximation for GPUs"; Baevski and Auli 2019, "Adaptive input
// representations"; kimiyoung/transformer-xl mem_transformer.py (AdaptiveEmbedding), proj_adaptive_softmax.py.
#include "core/models/dialect.h"
#include "core/models/operations.h"
#include "core/models/transformer_xl_config.h"
#include "core/models/weight_reader.h"

namespace locus {

/// Reads tables by rows and blocks; refers to all three arguments of its constructor.
template <class Scalar>
class TransformerXlWords {
public:
    TransformerXlWords(const TransformerXlConfig& config, const WeightReader<Scalar>& weights,
                       const Operations<Scalar>& compute = cpu_operations<Scalar>())
        : config_(config), weights_(weights), compute_(compute) {}

    /// Adds what a checkpoint must hold; of the output only where it has one.
    void expect(ExpectedTensors& expected) const;
    bool has_output() const;

    /// ids [N] -> [N,E] from one table; [N,D] where clusters have tables of their own, each row already brought to D.
    Matrix<Scalar> vectors(const std::vector<std::int64_t>& ids) const;
    /// vectors -> sqrt(D) times what the layers read [N,D].
    Matrix<Scalar> scaled(Matrix<Scalar> vectors) const;

    /// One softmax over all words: x [N,D] -> logits [N,V].
    Matrix<Scalar> logits(const ConstView<Scalar>& x) const;

    /// The first choice of an adaptive softmax: log-probabilities of the words of cluster 0 and then of the clusters
    /// 1, 2, ..., [N, V_0 + clusters - 1].  kimiyoung's PyTorch code (Dialect::official) takes cluster n from the n-th
    /// column from the end, its TensorFlow code and transformers in order; a checkpoint goes with one of them.
    Matrix<Scalar> choice(const ConstView<Scalar>& x, Dialect dialect) const;
    /// x [N,D] and what `choice` made of it -> log-probabilities of all words [N,V].
    Matrix<Scalar> log_probabilities(const ConstView<Scalar>& x, const Matrix<Scalar>& choice) const;

    /// What meets the vectors of a cluster's words: x [N,D] -> [N,E_n].
    Matrix<Scalar> projected(const ConstView<Scalar>& x, Index cluster) const;

private:
    Matrix<Scalar> cluster_logits(const ConstView<Scalar>& x, Index cluster) const;
    RowVector<Scalar> output_bias(Index cluster) const;

    const TransformerXlConfig& config_;
    const WeightReader<Scalar>& weights_;
    const Operations<Scalar>& compute_;
};

extern template class TransformerXlWords<float>;
extern template class TransformerXlWords<double>;

}  // namespace locus
