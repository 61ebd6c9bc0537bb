#pragma once
// The parameters of a DeBERTa checkpoint, under the names that a forward pass uses; read on first use, then kept.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/models/deberta_config.h"
#include "core/models/language_head.h"
#include "core/models/operations.h"
#include "core/models/weight_reader.h"
#include "core/weights.h"

namespace locus {

/// Not copied: references stay valid as long as this lives.  Safe to use from several threads.
template <class Scalar>
class DebertaWeights {
public:
    /// Checks names and shapes of every tensor the configuration calls for, reading no values.
    /// Throws Error(unreadable) that names the first missing or misshapen one.
    DebertaWeights(const DebertaConfig& config, std::shared_ptr<const WeightSource> source,
                   const Operations<Scalar>& compute = cpu_operations<Scalar>());

    /// Rows of embeddings.word_embeddings, in the order of `tokens` -> [N,E].
    Matrix<Scalar> word_rows(const std::vector<std::int64_t>& tokens) const;
    /// Rows [first, first + count) of the word table -> [count,E].
    Matrix<Scalar> word_block(Index first, Index count) const;
    /// The first `length` rows of the absolute table -> [length,E].
    /// Throws Error(unsupported) if the table has fewer.
    Matrix<Scalar> absolute_rows(Index length) const;
    /// Throws the same, and reads nothing.  who: "the mask decoder needs".
    void check_absolute_rows(Index length, const std::string& who) const;
    bool has_absolute_table() const;

    const Norm<Scalar>& norm(const std::string& name) const;    // D wide
    const Dense<Scalar>& dense(const std::string& name) const;  // with bias where the file has one
    const Matrix<Scalar>& matrix(const std::string& name, const Shape& expected) const;  // as stored
    /// Query, key or value projection of a layer (version 1: cut out of in_proj).  part: 0 q, 1 k, 2 v.
    const Dense<Scalar>& projection(Index layer, int part) const;
    /// Projection of the relative table to position keys or position queries of a layer.
    const Dense<Scalar>& position_key(Index layer) const;
    const Dense<Scalar>& position_query(Index layer) const;
    const Convolution<Scalar>& convolution() const;
    /// The relative table after its norm -> [2k,D].
    const Matrix<Scalar>& relative_table() const;
    /// position_key or position_query applied to the relative table, heads split -> [H,2k,d]; computed once per layer.
    const Tensor<Scalar>& k_r(Index layer) const;
    const Tensor<Scalar>& q_r(Index layer) const;

    /// Names of the head's dense and norm, e.g. "cls.predictions.transform.dense"; empty if there is no head.
    std::string head_dense() const;
    std::string head_norm() const;
    /// What the head's logits are made with; throws Error if there is no head.
    OutputLayer head_output() const;
    const RowVector<Scalar>& head_bias() const;
    /// Rows [first, first + count) of the table of head_output() -> [count,E].
    Matrix<Scalar> output_block(Index first, Index count) const;

    /// Any tensor of the file by its name: of heads that fine-tuning adds.
    const WeightReader<Scalar>& reader() const { return reader_; }
    /// One sentence per tensor read so far that holds NaN or infinity.
    std::vector<std::string> warnings() const;
    const DebertaConfig& config() const { return config_; }
    /// Does the arithmetic: of k_r and q_r here, and of every step of a pass.
    const Operations<Scalar>& operations() const { return compute_; }

private:
    /// Warnings about what the file holds and this model does not compute.
    void note_what_is_not_read() const;
    Matrix<Scalar> read(const std::string& name, const Shape& expected) const;
    Dense<Scalar> read_dense(const std::string& name) const;
    Dense<Scalar> cut_in_proj(Index layer, int part) const;
    Tensor<Scalar> project_table(const Dense<Scalar>& projection) const;
    template <class Value, class Make>
    const Value& once(std::map<std::string, std::unique_ptr<Value>>& kept, const std::string& name, Make make) const;

    DebertaConfig config_;
    std::shared_ptr<const WeightSource> source_;
    WeightReader<Scalar> reader_;
    const Operations<Scalar>& compute_;
    mutable std::recursive_mutex guard_;
    mutable std::map<std::string, std::unique_ptr<Dense<Scalar>>> dense_;
    mutable std::map<std::string, std::unique_ptr<Norm<Scalar>>> norms_;
    mutable std::map<std::string, std::unique_ptr<Matrix<Scalar>>> matrices_;
    mutable std::map<std::string, std::unique_ptr<RowVector<Scalar>>> vectors_;
    mutable std::map<std::string, std::unique_ptr<Tensor<Scalar>>> tensors_;
    mutable std::unique_ptr<Convolution<Scalar>> convolution_;
};

/// Names and shapes of everything a checkpoint of this configuration must hold, the masked-word head excepted.
std::vector<std::pair<std::string, Shape>> expected_deberta_tensors(const DebertaConfig& config);
/// "encoder.layer.3."
std::string layer_prefix(Index layer);

extern template class DebertaWeights<float>;
extern template class DebertaWeights<double>;

}  // namespace locus
