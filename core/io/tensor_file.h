#pragma once
// What every container of tensors looks like once its table of contents has been read.
#include <memory>
#include <string>
#include <vector>

#include "core/io/input_file.h"
#include "core/tensor.h"

namespace locus {

/// Element types of files.
enum class Dtype { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
std::size_t byte_size(Dtype dtype);
bool is_float(Dtype dtype);
const char* to_string(Dtype dtype);  // "F16", as safetensors spells it

/// One tensor inside a mapped file.
struct TensorEntry {
    std::string name;
    Dtype dtype = Dtype::f32;
    Shape shape;
    Shape strides;           // in elements; row-major in safetensors, anything in pickles
    std::size_t offset = 0;  // first byte, from the start of the file
    std::shared_ptr<const MappedFile> file;

    bool contiguous() const;
};

/// Entries in file order, and the metadata of the header where the format has any.
struct TensorFile {
    std::vector<TensorEntry> entries;
    std::vector<std::pair<std::string, std::string>> metadata;

    /// nullptr if there is none of that name.
    const TensorEntry* find(const std::string& name) const;
};

/// Reads rows [first_row, first_row + rows) of the first axis, widened to Scalar, [rows, rest]; touches only these
/// bytes.
template <class Scalar>
Matrix<Scalar> read_rows(const TensorEntry& entry, Index first_row, Index rows);
/// Reads the whole tensor.  Scalar is float, double or std::int64_t (integers from integer types only).
template <class Scalar>
Tensor<Scalar> read_tensor(const TensorEntry& entry);

}  // namespace locus
