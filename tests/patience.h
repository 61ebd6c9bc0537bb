#pragma once
// How much longer everything may take under a sanitizer.
namespace locus::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kPatience = 60;
#else
inline constexpr int kPatience = 1;
#endif

}  // namespace locus::test
