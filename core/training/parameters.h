#pragma once
// The numbers that training moves: named tensors, all in one run of memory, so that an optimiser is one loop.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/models/deberta_config.h"
#include "core/tensor.h"
#include "core/training/random.h"
#include "core/weights.h"

namespace locus {

using TensorShapes = std::vector<std::pair<std::string, Shape>>;

/// A model's values, their gradients, or an optimiser's moments: whatever has one number for each parameter.
template <class Scalar>
class Parameters {
public:
    struct Entry {
        std::string name;  // as in DebertaWeights: "encoder.layer.0.output.dense.weight"
        Shape shape;
        Index first = 0, size = 0;  // where its numbers lie among all of them
    };
    using MatrixMap = Eigen::Map<Matrix<Scalar>>;
    using ConstMatrixMap = Eigen::Map<const Matrix<Scalar>>;
    using RowMap = Eigen::Map<RowVector<Scalar>>;
    using ConstRowMap = Eigen::Map<const RowVector<Scalar>>;

    Parameters() = default;
    /// All zero, in this order.  Throws Error(usage) for a name that comes twice.
    explicit Parameters(const TensorShapes& tensors);
    /// Zeros under the same names.
    Parameters zeros() const;
    /// The same numbers as another type.
    template <class Other>
    Parameters<Other> cast() const;

    const std::vector<Entry>& entries() const { return entries_; }
    bool has(const std::string& name) const { return places_.count(name) > 0; }
    /// Throws Error(usage) that names what there is not.
    const Entry& entry(const std::string& name) const;
    Index size() const { return numbers_.size(); }

    /// One tensor as [first axis, rest]; a vector of n as [n, 1] in matrix() and as n numbers in row().
    MatrixMap matrix(const std::string& name);
    ConstMatrixMap matrix(const std::string& name) const;
    RowMap row(const std::string& name);
    ConstRowMap row(const std::string& name) const;
    /// All of them.
    RowMap numbers() { return {numbers_.data(), size()}; }
    ConstRowMap numbers() const { return {numbers_.data(), size()}; }

private:
    template <class>
    friend class Parameters;
    std::vector<Entry> entries_;
    std::map<std::string, std::size_t> places_;
    RowVector<Scalar> numbers_;  // not a std::vector: sums over them must not depend on where the heap put it
};

/// Parameters as the weights of a model, so that the reference pass can run on what training has reached.
/// `location` is for messages.
template <class Scalar>
std::shared_ptr<const WeightSource> weights_of(std::shared_ptr<const Parameters<Scalar>> parameters,
                                               std::string location);

/// Reads these tensors, under the names that stored_name() gives where it is not empty.
/// Throws Error(unreadable) that names the first missing or misshapen one.
template <class Scalar>
Parameters<Scalar> read_parameters(const TensorShapes& tensors, const WeightSource& weights,
                                   const std::function<std::string(const std::string&)>& stored_name = {});

extern template class Parameters<float>;
extern template class Parameters<double>;

// What a DeBERTa model of versions 2 and 3 has to learn.

/// Encoder, absolute table where the decoder or the embeddings need one, masked-word head under the names of
/// microsoft/DeBERTa.  Throws Error(unsupported) for version 1 and talking heads, which can be read but not trained.
TensorShapes masked_language_tensors(const DebertaConfig& config, bool decoder);

/// Throws Error(unsupported) that names `file` if a training of such a model, 16 bytes a parameter (value, gradient and
/// two moments) without what a batch takes, is more than the memory of this machine.  The words, of which there are as
/// many as the corpus gives, count for nothing.
void check_memory(const DebertaConfig& config, bool decoder, const std::string& file);

/// Fresh values: normal with this standard deviation for tables and weights, 1 for the weights of norms, 0 for biases
/// and for the word `padding`, where there is one.  Source: transformers modeling_deberta_v2.py _init_weights.
template <class Scalar>
void initialise(Parameters<Scalar>& parameters, RandomStream& random, double deviation = 0.02,
                std::optional<Index> padding = 0);

/// The head that microsoft/DeBERTa calls lm_predictions.
inline constexpr const char* kMaskedWordHead = "lm_predictions.lm_head.";
inline constexpr const char* kWordTable = "embeddings.word_embeddings.weight";
inline constexpr const char* kAbsoluteTable = "embeddings.position_embeddings.weight";

}  // namespace locus
