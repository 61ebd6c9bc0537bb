#include "core/io/tensor_file.h"

#include <cstring>
#include <limits>
#include <type_traits>

namespace locus {

namespace {

/// One element; an object and not a pointer to a function, so that loops over elements are compiled with it.
template <class Value>
struct Load {
    Value operator()(const std::byte* at) const {
        Value value;
        std::memcpy(&value, at, sizeof(Value));
        return value;
    }
};

/// One element of F16 or BF16 as float32.
template <class Short>
struct Widen {
    float operator()(const std::byte* at) const { return static_cast<float>(Load<Short>()(at)); }
};

/// Calls visit(reader), where reader(bytes) gives one element of the dtype.
template <class Visit>
auto with_reader(Dtype dtype, Visit visit) {
    switch (dtype) {
        case Dtype::f64:
            return visit(Load<double>());
        case Dtype::f32:
            return visit(Load<float>());
        case Dtype::f16:
            return visit(Widen<Eigen::half>());
        case Dtype::bf16:
            return visit(Widen<Eigen::bfloat16>());
        case Dtype::i64:
            return visit(Load<std::int64_t>());
        case Dtype::i32:
            return visit(Load<std::int32_t>());
        case Dtype::i16:
            return visit(Load<std::int16_t>());
        case Dtype::i8:
            return visit(Load<std::int8_t>());
        case Dtype::u8:
        case Dtype::boolean:
            break;
    }
    return visit(Load<std::uint8_t>());
}

/// Elements [first, first + count) in row-major order, through the strides of the entry.
template <class Scalar>
void copy_elements(const TensorEntry& entry, Index first, Index count, Scalar* target) {
    if (count == 0) return;  // an empty tensor may lie anywhere, even after the end of the file
    const std::byte* base = entry.file->data() + entry.offset;
    const std::size_t bytes = byte_size(entry.dtype);
    with_reader(entry.dtype, [&](auto read) {
        if (entry.contiguous()) {
            for (Index n = 0; n < count; ++n)
                target[n] = static_cast<Scalar>(read(base + static_cast<std::size_t>(first + n) * bytes));
            return;
        }
        for (Index n = 0; n < count; ++n) {
            Index rest = first + n, element = 0;
            for (std::size_t axis = entry.shape.size(); axis-- > 0;) {
                element += rest % entry.shape[axis] * entry.strides[axis];
                rest /= entry.shape[axis];
            }
            target[n] = static_cast<Scalar>(read(base + static_cast<std::size_t>(element) * bytes));
        }
    });
}

}  // namespace

std::size_t byte_size(Dtype dtype) {
    switch (dtype) {
        case Dtype::f64:
        case Dtype::i64:
            return 8;
        case Dtype::f32:
        case Dtype::i32:
            return 4;
        case Dtype::f16:
        case Dtype::bf16:
        case Dtype::i16:
            return 2;
        case Dtype::i8:
        case Dtype::u8:
        case Dtype::boolean:
            break;
    }
    return 1;
}

bool is_float(Dtype dtype) {
    return dtype == Dtype::f64 || dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

const char* to_string(Dtype dtype) {
    static constexpr const char* kNames[] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"};
    return kNames[static_cast<int>(dtype)];
}

bool TensorEntry::contiguous() const {
    Index expected = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        if (shape[axis] != 1 && strides[axis] != expected) return false;
        expected *= shape[axis];
    }
    return true;
}

const TensorEntry* TensorFile::find(const std::string& name) const {
    for (const TensorEntry& entry : entries)
        if (entry.name == name) return &entry;
    return nullptr;
}

template <class Scalar>
Matrix<Scalar> read_rows(const TensorEntry& entry, Index first_row, Index rows) {
    const Index all_rows = entry.shape.empty() ? 1 : entry.shape.front();
    if (first_row < 0 || rows < 0 || first_row > all_rows - rows)
        throw Error(Fault::unreadable, entry.file->path().string() + ": rows " + std::to_string(first_row) + " to " +
                                           std::to_string(first_row + rows - 1) + " of tensor " + entry.name +
                                           " were asked for, it has " + std::to_string(all_rows));
    const Index width = all_rows == 0 ? 0 : element_count(entry.shape) / all_rows;
    Matrix<Scalar> values(rows, width);
    copy_elements(entry, first_row * width, rows * width, values.data());
    return values;
}

template <class Scalar>
Tensor<Scalar> read_tensor(const TensorEntry& entry) {
    if (std::is_integral_v<Scalar> && is_float(entry.dtype))
        throw Error(Fault::unreadable, entry.file->path().string() + ": tensor " + entry.name + " has dtype " +
                                           to_string(entry.dtype) + ", expected whole numbers such as I64");
    Tensor<Scalar> tensor(entry.shape);
    copy_elements(entry, 0, tensor.size(), tensor.data());
    return tensor;
}

template Matrix<float> read_rows<float>(const TensorEntry&, Index, Index);
template Matrix<double> read_rows<double>(const TensorEntry&, Index, Index);
template Tensor<float> read_tensor<float>(const TensorEntry&);
template Tensor<double> read_tensor<double>(const TensorEntry&);
template Tensor<std::int64_t> read_tensor<std::int64_t>(const TensorEntry&);

}  // namespace locus
