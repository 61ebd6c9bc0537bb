#pragma once
// The two 16-bit number formats of the tensor cores, as bits.  On the host every conversion is written out, so the
// kernels' arithmetic also runs in tests; on the device it is one instruction.
#include <bit>
#include <cstdint>

namespace locus::cuda {

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct Half {
    std::uint16_t bits = 0;
};

/// The upper half of a float: 8 bits of exponent, 7 of fraction.
struct Bfloat16 {
    std::uint16_t bits = 0;
};

namespace host {

constexpr float widen(Bfloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

constexpr float widen(Half x) {
    const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16, body = x.bits & 0x7fffu;
    if (body >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((body & 0x3ffu) << 13));
    // Fraction and exponent at their places, the exponent's bias put right by a product, which also serves subnormals.
    const float magnitude = std::bit_cast<float>(body << 13) * std::bit_cast<float>(0x77800000u);  // 2^112
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

constexpr Bfloat16 narrow_bfloat16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

constexpr Half narrow_half(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
    const std::uint32_t body = bits & 0x7fffffffu;
    if (body > 0x7f800000u) return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (body >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};  // rounds past the greatest, 65504
    if (body < 0x38800000u) {  // below 2^-14: the sum with 0.5 rounds to steps of 2^-24 by itself
        const float shifted = std::bit_cast<float>(body) + 0.5f;
        return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u))};
    }
    return {static_cast<std::uint16_t>(sign | ((body + 0xfffu + (body >> 13 & 1u) - 0x38000000u) >> 13))};
}

}  // namespace host

/// The number, exactly.
constexpr float to_float(float x) { return x; }
constexpr float to_float(Bfloat16 x) { return host::widen(x); }
constexpr float to_float(Half x) {
#if defined(__CUDA_ARCH__)
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
#else
    return host::widen(x);
#endif
}

template <class Scalar>
struct Narrow;

template <>
struct Narrow<float> {
    static constexpr float round(float x) { return x; }
};

template <>
struct Narrow<Half> {
    static constexpr Half round(float x) {
#if defined(__CUDA_ARCH__)
        Half narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
        return narrow;
#else
        return host::narrow_half(x);
#endif
    }
};

template <>
struct Narrow<Bfloat16> {
    static constexpr Bfloat16 round(float x) {
#if defined(__CUDA_ARCH__)
        Bfloat16 narrow;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
        return narrow;
#else
        return host::narrow_bfloat16(x);
#endif
    }
};

/// The nearest number of the format, ties to even.
template <class Scalar>
constexpr Scalar from_float(float x) {
    return Narrow<Scalar>::round(x);
}

/// The same, but never beyond the greatest finite half: a score that large is one already.  NaN stays NaN (PTX ISA 9.0,
/// "cvt", .satfinite).
constexpr Half to_finite_half(float x) {
#if defined(__CUDA_ARCH__)
    Half narrow;
    asm("cvt.rn.satfinite.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
    return narrow;
#else
    constexpr float kGreatest = 65504;
    return from_float<Half>(x > kGreatest ? kGreatest : x < -kGreatest ? -kGreatest : x);
#endif
}

/// Two of them, the first in the lower half.
constexpr std::uint32_t packed_finite(float first, float second) {
#if defined(__CUDA_ARCH__)
    std::uint32_t two;
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(second), "f"(first));
    return two;
#else
    return to_finite_half(first).bits | static_cast<std::uint32_t>(to_finite_half(second).bits) << 16;
#endif
}

/// Two neighbours in one register, the first in the lower half.
template <class Scalar>
constexpr std::uint32_t packed(float first, float second) {
    return from_float<Scalar>(first).bits | static_cast<std::uint32_t>(from_float<Scalar>(second).bits) << 16;
}

/// And back, exactly.
template <class Scalar>
constexpr float lower(std::uint32_t two) {
    return to_float(Scalar{static_cast<std::uint16_t>(two)});
}
template <class Scalar>
constexpr float upper(std::uint32_t two) {
    return to_float(Scalar{static_cast<std::uint16_t>(two >> 16)});
}

/// Vector loads: 16 bytes of neighbouring numbers in one instruction.
/// How many numbers that is.
template <class Scalar>
inline constexpr int kVectorSize = 16 / static_cast<int>(sizeof(Scalar));

template <class Scalar>
struct alignas(16) Vector {
    Scalar x[kVectorSize<Scalar>];
};

/// from: at a multiple of 16 bytes.
template <class Scalar>
constexpr Vector<Scalar> load_vector(const Scalar* from) {
    return *reinterpret_cast<const Vector<Scalar>*>(from);
}
template <class Scalar>
constexpr void store_vector(Scalar* to, const Vector<Scalar>& vector) {
    *reinterpret_cast<Vector<Scalar>*>(to) = vector;
}

/// Rows are as long as their channels rounded up to this, with zeros at the end, so that vectors never straddle.
inline constexpr int kRowStep = 8;

}  // namespace locus::cuda
