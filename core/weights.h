#pragma once
// Where a model finds its parameters.  core/io implements it over mapped files; tests over a map in memory.
#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// Named tensors of a checkpoint, read only when asked for.
/// Names are those of the files without their model prefix: "embeddings.word_embeddings.weight".
class WeightSource {
public:
    virtual ~WeightSource() = default;

    /// Shape of a tensor; nothing if the checkpoint does not have it.  Reads no values.
    virtual std::optional<Shape> shape(const std::string& name) const = 0;
    /// All names, in file order.
    virtual std::vector<std::string> names() const = 0;
    /// For messages: the folder or file the weights come from.
    virtual std::string location() const = 0;

    /// Values [first_row, first_row + rows) of the first axis, widened to Scalar, as [rows, everything else].
    /// Only these bytes are touched.  Throws Error(unreadable) if the tensor is missing or the rows leave it.
    virtual Matrix<float> rows_f32(const std::string& name, Index first_row, Index rows) const = 0;
    virtual Matrix<double> rows_f64(const std::string& name, Index first_row, Index rows) const = 0;
};

/// rows_f32 or rows_f64, by type.
template <class Scalar>
Matrix<Scalar> read_rows(const WeightSource& weights, const std::string& name, Index first_row, Index rows);
template <>
Matrix<float> read_rows<float>(const WeightSource& weights, const std::string& name, Index first_row, Index rows);
template <>
Matrix<double> read_rows<double>(const WeightSource& weights, const std::string& name, Index first_row, Index rows);

/// The whole tensor as [first axis, rest]; a vector becomes [1, n].  Throws Error(unreadable) that names the tensor,
/// the shape found and the one expected.
template <class Scalar>
Matrix<Scalar> read_matrix(const WeightSource& weights, const std::string& name, const Shape& expected);

}  // namespace locus
