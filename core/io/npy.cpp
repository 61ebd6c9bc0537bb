#include "core/io/npy.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include "core/io/input_file.h"

namespace locus {

namespace {

namespace fs = std::filesystem;

/// "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" and where the values begin.
struct NpyHeader {
    std::string text;
    std::size_t data = 0;
};

NpyHeader npy_header(const MappedFile& file) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
    if (file.size() < 10 || std::string_view(reinterpret_cast<const char*>(bytes), 6) != "\x93NUMPY")
        throw_unreadable(file.path(), "is no NumPy array, expected a file that begins with \\x93NUMPY");
    const unsigned version = bytes[6];
    if (version < 1 || version > 3)
        throw_unreadable(file.path(), "is a NumPy array of version " + std::to_string(version) + ", expected 1, 2 or 3",
                         Fault::unsupported);
    std::size_t length = bytes[8] | std::size_t{bytes[9]} << 8, begin = 10;
    if (version > 1) {
        if (file.size() < 12) throw_unreadable(file.path(), "is cut short in its header");
        length |= std::size_t{bytes[10]} << 16 | std::size_t{bytes[11]} << 24;
        begin = 12;
    }
    if (length > file.size() - begin) throw_unreadable(file.path(), "is cut short in its header");
    return {std::string(reinterpret_cast<const char*>(bytes) + begin, length), begin + length};
}

/// What stands after 'key': in the header, blanks left out; throws where there is no such key.
std::string_view after_key(const fs::path& file, std::string_view header, const std::string& key, const char* what) {
    const std::string quoted = "'" + key + "':";
    const std::size_t at = header.find(quoted);
    const std::size_t value = at == header.npos ? at : header.find_first_not_of(' ', at + quoted.size());
    if (value == header.npos) throw_unreadable(file, std::string("has a header without ") + what);
    return header.substr(value);
}

/// What stands between two letters at the front of this text.
std::string between(const fs::path& file, std::string_view text, char open, char close, const char* what) {
    const std::size_t end = text.front() == open ? text.find(close, 1) : text.npos;
    if (end == text.npos) throw_unreadable(file, std::string("has a header without ") + what);
    return std::string(text.substr(1, end - 1));
}

std::string npy_descr(const fs::path& file, std::string_view header) {
    const char* what = "descr as a text such as '<f4' (arrays of fields are not read)";
    return between(file, after_key(file, header, "descr", what), '\'', '\'', what);
}

bool npy_is_fortran(const fs::path& file, std::string_view header) {
    const char* what = "fortran_order as True or False";
    const std::string_view value = after_key(file, header, "fortran_order", what);
    if (!value.starts_with("True") && !value.starts_with("False"))
        throw_unreadable(file, std::string("has a header without ") + what);
    return value.starts_with("True");
}

/// "(2, 3)"; NumPy of Python 2 wrote "(2L, 3L)".
Shape npy_shape(const fs::path& file, std::string_view header) {
    const char* what = "shape as whole numbers such as (2, 3)";
    const std::string sizes = between(file, after_key(file, header, "shape", what), '(', ')', what);
    if (sizes.find_first_not_of("0123456789, L") != sizes.npos)
        throw_unreadable(file, std::string("has a header without ") + what);
    Shape shape;
    for (const char* at = sizes.data(); at != sizes.data() + sizes.size();) {
        if (*at < '0' || *at > '9') {
            ++at;
            continue;
        }
        Index extent = 0;
        const auto read = std::from_chars(at, sizes.data() + sizes.size(), extent);
        if (read.ec != std::errc{})
            throw_unreadable(file, "has the size " + std::string(at, read.ptr) + ", larger than any file");
        shape.push_back(extent);
        at = read.ptr;
    }
    return shape;
}

/// "<f4" -> F32; refuses what cannot be compared.
Dtype npy_dtype(const fs::path& file, const std::string& descr) {
    if (descr.starts_with('>'))
        throw_unreadable(file,
                         "holds big-endian values (" + descr.substr(0, 80) +
                             "), expected little-endian ones: array.astype(\"<" + descr.substr(1, 80) + "\")",
                         Fault::unsupported);
    const std::string type = descr.empty() ? "" : descr.substr(1);
    for (const auto& [name, dtype] : {std::pair{"f8", Dtype::f64},
                                      {"f4", Dtype::f32},
                                      {"f2", Dtype::f16},
                                      {"i8", Dtype::i64},
                                      {"i4", Dtype::i32},
                                      {"i2", Dtype::i16},
                                      {"i1", Dtype::i8},
                                      {"u1", Dtype::u8},
                                      {"b1", Dtype::boolean}})
        if (type == name) return dtype;
    throw_unreadable(
        file,
        "holds values of type " + descr.substr(0, 80) + ", expected <f8, <f4, <f2, <i8, <i4, <i2, |i1, |u1 or |b1",
        Fault::unsupported);
}

}  // namespace

Stage read_npy(const fs::path& path, std::string& stored) {
    const MappedFile file(path);
    const NpyHeader header = npy_header(file);
    const Dtype dtype = npy_dtype(path, npy_descr(path, header.text));
    const Shape shape = npy_shape(path, header.text);
    if (npy_is_fortran(path, header.text) && shape.size() > 1)
        throw_unreadable(path, "is stored in Fortran order, expected C order: numpy.ascontiguousarray(array)",
                         Fault::unsupported);
    stored = to_string(dtype);
    return stage_of_bytes(path.string(), dtype, shape,
                          {reinterpret_cast<const char*>(file.data()) + header.data, file.size() - header.data});
}

std::string npy_of(const Stage& stage) {
    const std::string dtype = stage.dtype();
    std::string shape;
    for (const Index extent : stage.shape()) shape += std::to_string(extent) + ", ";
    if (stage.shape().size() > 1) shape.erase(shape.size() - 2);  // (3, 4) but (3,)
    if (stage.shape().size() == 1) shape.pop_back();
    std::string header = std::string("{'descr': '") +
                         (dtype == "F32"   ? "<f4"
                          : dtype == "F64" ? "<f8"
                                           : "<i8") +
                         "', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr std::size_t kBefore = 10, kStep = 64;  // values begin on a multiple of 64 bytes
    header.append(kStep - 1 - (kBefore + header.size()) % kStep, ' ');
    header += '\n';
    std::string bytes = "\x93NUMPY";
    bytes += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    bytes += header;
    std::visit(
        [&](const auto& tensor) {
            bytes.append(reinterpret_cast<const char*>(tensor.data()),
                         static_cast<std::size_t>(tensor.size()) * sizeof tensor[0]);
        },
        stage.values);
    return bytes;
}

namespace {

template <class Stored, class Kept, class Widen>
Tensor<Kept> widened_values(const Shape& shape, std::string_view bytes, Widen widen) {
    Tensor<Kept> values(shape);
    for (Index n = 0; n < values.size(); ++n) {
        Stored one;
        std::memcpy(&one, bytes.data() + static_cast<std::size_t>(n) * sizeof one, sizeof one);
        values[n] = widen(one);
    }
    return values;
}

template <class Stored, class Kept>
Tensor<Kept> cast_values(const Shape& shape, std::string_view bytes) {
    return widened_values<Stored, Kept>(shape, bytes, [](Stored one) { return static_cast<Kept>(one); });
}

float of_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

float of_float16(std::uint16_t bits) { return static_cast<float>(std::bit_cast<Eigen::half>(bits)); }

std::uint64_t byte_count(const std::string& location, const Shape& shape, std::size_t each) {
    std::uint64_t bytes = each;
    for (const Index extent : shape)
        if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes) ||
            bytes > static_cast<std::uint64_t>(std::numeric_limits<Index>::max()))
            throw_unreadable(location, "has the shape " + to_string(shape) + ", larger than any file");
    return bytes;
}

}  // namespace

Stage stage_of_bytes(const std::string& location, Dtype dtype, const Shape& shape, std::string_view bytes) {
    const std::uint64_t expected = byte_count(location, shape, byte_size(dtype));
    if (bytes.size() != expected)
        throw_unreadable(location, "has " + std::to_string(bytes.size()) + " bytes of values, expected " +
                                       std::to_string(expected) + " for shape " + to_string(shape) + " of " +
                                       to_string(dtype));
    Stage stage;
    switch (dtype) {
        case Dtype::f64:
            stage.values = cast_values<double, double>(shape, bytes);
            break;
        case Dtype::f32:
            stage.values = cast_values<float, float>(shape, bytes);
            break;
        case Dtype::f16:
            stage.values = widened_values<std::uint16_t, float>(shape, bytes, of_float16);
            break;
        case Dtype::bf16:
            stage.values = widened_values<std::uint16_t, float>(shape, bytes, of_bfloat16);
            break;
        case Dtype::i64:
            stage.values = cast_values<std::int64_t, std::int64_t>(shape, bytes);
            break;
        case Dtype::i32:
            stage.values = cast_values<std::int32_t, std::int64_t>(shape, bytes);
            break;
        case Dtype::i16:
            stage.values = cast_values<std::int16_t, std::int64_t>(shape, bytes);
            break;
        case Dtype::i8:
            stage.values = cast_values<std::int8_t, std::int64_t>(shape, bytes);
            break;
        default:
            stage.values = cast_values<std::uint8_t, std::int64_t>(shape, bytes);
            break;
    }
    return stage;
}

Dtype dtype_named(const std::string& name, const std::string& location) {
    for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i64, Dtype::i32, Dtype::i16,
                              Dtype::i8, Dtype::u8, Dtype::boolean})
        if (name == to_string(dtype)) return dtype;
    throw_unreadable(location,
                     "names the dtype \"" + name + "\", expected one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
}

}  // namespace locus
