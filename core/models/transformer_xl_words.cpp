#include "core/models/transformer_xl_words.h"

#include <algorithm>
#include <cmath>

namespace locus {

namespace {

std::string input_table(Index table) { return "word_emb.emb_layers." + std::to_string(table) + ".weight"; }
std::string input_projection(Index table) { return "word_emb.emb_projs." + std::to_string(table); }
std::string output_layer(Index table) { return "crit.out_layers." + std::to_string(table) + "."; }
std::string output_projection(Index cluster) { return "crit.out_projs." + std::to_string(cluster); }
constexpr const char* kClusterWeight = "crit.cluster_weight";
constexpr const char* kClusterBias = "crit.cluster_bias";

/// Where a cluster's words stand: in a table of their own, or in a part of the only one.
struct Rows {
    Index table, first;
};

Rows rows_of(const TransformerXlConfig& config, Index cluster) {
    return config.own_tables() ? Rows{cluster, 0} : Rows{0, config.cluster_begin(cluster)};
}

/// Rows of table n of the input and of the output, and their width.
Index table_size(const TransformerXlConfig& config, Index table) {
    return config.own_tables() ? config.cluster_size(table) : config.vocab_size;
}
Index table_width(const TransformerXlConfig& config, Index table) {
    return config.own_tables() ? config.cluster_width(table) : config.d_embed;
}

}  // namespace

template <class Scalar>
bool TransformerXlWords<Scalar>::has_output() const {
    return weights_.has(output_layer(0) + "bias");
}

template <class Scalar>
void TransformerXlWords<Scalar>::expect(ExpectedTensors& expected) const {
    const Index tables = config_.own_tables() ? config_.clusters() : 1;
    for (Index n = 0; n < tables; ++n) {
        const Index size = table_size(config_, n), width = table_width(config_, n);
        expected.add(input_table(n), {size, width});
        if (config_.projected()) expected.add(input_projection(n), {config_.d_model, width});
        if (!has_output()) continue;
        expected.add(output_layer(n) + "bias", {size});
        if (!config_.tied_output) expected.add(output_layer(n) + "weight", {size, width});
    }
    if (!has_output() || config_.clusters() == 1) return;
    expected.add(kClusterWeight, {config_.clusters() - 1, config_.d_embed});
    expected.add(kClusterBias, {config_.clusters() - 1});
}

// --- from ids to vectors ---

template <class Scalar>
Matrix<Scalar> TransformerXlWords<Scalar>::vectors(const std::vector<std::int64_t>& ids) const {
    if (!config_.own_tables()) return weights_.rows(input_table(0), ids);
    Matrix<Scalar> vectors(std::ssize(ids), config_.d_model);
    for (Index n = 0; n < config_.clusters(); ++n) {
        // The words of this cluster, by their place in it.
        std::vector<std::int64_t> rows, places;
        for (std::size_t at = 0; at < ids.size(); ++at) {
            if (ids[at] < config_.cluster_begin(n) || ids[at] >= config_.cluster_end(n)) continue;
            rows.push_back(ids[at] - config_.cluster_begin(n));
            places.push_back(static_cast<std::int64_t>(at));
        }
        if (rows.empty()) continue;
        // E_n -> D.
        const Dense<Scalar> projection{
            weights_.matrix(input_projection(n), {config_.d_model, config_.cluster_width(n)}), {}};
        const Matrix<Scalar> wide = compute_.dense(weights_.rows(input_table(n), rows), projection);
        for (std::size_t row = 0; row < places.size(); ++row)
            vectors.row(places[row]) = wide.row(static_cast<Index>(row));
    }
    return vectors;
}

template <class Scalar>
Matrix<Scalar> TransformerXlWords<Scalar>::scaled(Matrix<Scalar> vectors) const {
    if (config_.projected() && !config_.own_tables())
        vectors =
            compute_.dense(vectors, {weights_.matrix(input_projection(0), {config_.d_model, config_.d_embed}), {}});
    compute_.multiply(std::sqrt(Scalar(config_.d_model)), vectors);
    return vectors;
}

// --- from the last layer to words ---

/// D -> E_n, by the transpose of the input's projection where they are tied.  Files in which tied tensors are stored
/// once hold the input's alone.
template <class Scalar>
Matrix<Scalar> TransformerXlWords<Scalar>::projected(const ConstView<Scalar>& x, Index cluster) const {
    if (!config_.projected()) return x;
    const bool tied = config_.tied_projections[static_cast<std::size_t>(cluster)];
    const std::string name = tied || !weights_.has(output_projection(cluster))
                                 ? input_projection(config_.own_tables() ? cluster : 0)
                                 : output_projection(cluster);
    if (tied) weights_.note_if_untied(output_projection(cluster), name);
    const Index width = config_.own_tables() ? config_.cluster_width(cluster) : config_.d_embed;
    return compute_.dense(x, {weights_.matrix(name, {config_.d_model, width}).transpose(), {}});
}

template <class Scalar>
RowVector<Scalar> TransformerXlWords<Scalar>::output_bias(Index cluster) const {
    const Rows rows = rows_of(config_, cluster);
    const RowVector<Scalar> bias = weights_.vector(output_layer(rows.table) + "bias", table_size(config_, rows.table));
    return bias.segment(rows.first, config_.cluster_size(cluster));
}

/// x against the vectors of the words of one cluster -> [N,V_n].
template <class Scalar>
Matrix<Scalar> TransformerXlWords<Scalar>::cluster_logits(const ConstView<Scalar>& x, Index cluster) const {
    const Rows rows = rows_of(config_, cluster);
    const std::string table = config_.tied_output ? input_table(rows.table) : output_layer(rows.table) + "weight";
    if (config_.tied_output) weights_.note_if_untied(output_layer(rows.table) + "weight", table);
    const WordBlock<Scalar> block = [&](Index first, Index count) {
        return weights_.block(table, rows.first + first, count);
    };
    return compute_.word_logits(x, block, config_.cluster_size(cluster), output_bias(cluster));
}

template <class Scalar>
Matrix<Scalar> TransformerXlWords<Scalar>::logits(const ConstView<Scalar>& x) const {
    return cluster_logits(projected(x, 0), 0);
}

template <class Scalar>
Matrix<Scalar> TransformerXlWords<Scalar>::choice(const ConstView<Scalar>& x, Dialect dialect) const {
    const Index first = config_.cluster_size(0), others = config_.clusters() - 1;
    const Matrix<Scalar> narrow = projected(x, 0);
    Matrix<Scalar> logits(x.rows(), first + others);
    logits.leftCols(first) = cluster_logits(narrow, 0);
    const Matrix<Scalar> clusters = compute_.dense(
        narrow, {weights_.matrix(kClusterWeight, {others, config_.d_embed}), weights_.vector(kClusterBias, others)});
    if (dialect == Dialect::official)
        logits.rightCols(others) = clusters.rowwise().reverse();
    else
        logits.rightCols(others) = clusters;
    return compute_.log_softmax(logits, RowVector<Scalar>());
}

template <class Scalar>
Matrix<Scalar> TransformerXlWords<Scalar>::log_probabilities(const ConstView<Scalar>& x,
                                                             const Matrix<Scalar>& choice) const {
    Matrix<Scalar> result(x.rows(), config_.vocab_size);
    result.leftCols(config_.cluster_size(0)) = choice.leftCols(config_.cluster_size(0));
    for (Index n = 1; n < config_.clusters(); ++n) {
        const RowVector<Scalar> cluster = choice.col(config_.cluster_size(0) + n - 1).transpose();
        result.middleCols(config_.cluster_begin(n), config_.cluster_size(n)) =
            compute_.log_softmax(cluster_logits(projected(x, n), n), cluster);
    }
    return result;
}

template class TransformerXlWords<float>;
template class TransformerXlWords<double>;

}  // namespace locus
