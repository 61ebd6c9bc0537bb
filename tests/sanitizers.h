#pragma once
// Whether this is compiled under a sanitizer, and how much longer everything may take there.
namespace locus::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // memory cannot be limited or measured: shadows take terabytes of addresses
#else
inline constexpr bool kSanitized = false;
#endif

/// Times as long as without: 17 were seen of tests that compute, more where other tests run beside them.
inline constexpr int kPatience = kSanitized ? 60 : 1;

}  // namespace locus::test
