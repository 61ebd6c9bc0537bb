#include "core/io/stage_bytes.h"
#include "core/io/unreadable.h"

#include <bit>
#include <cstring>

namespace locus::conformance {

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
        if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
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

}  // namespace locus::conformance
