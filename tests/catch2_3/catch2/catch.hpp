#pragma once
// Catch2 3, as Debian 13 and Ubuntu 24.04 have it, under the header and the names of version 2, by which the tests call
// it.
#include <catch2/catch_all.hpp>

namespace Catch {

namespace Matchers {

// Version 3 means an element of a range by this name, except for a text.
inline StringContainsMatcher Contains(const char* text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(std::string& text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(std::string&& text) { return ContainsSubstring(text); }
inline StringContainsMatcher Contains(const std::string& text) { return ContainsSubstring(text); }

}  // namespace Matchers

using Matchers::Contains;
using Matchers::EndsWith;
using Matchers::StartsWith;

}  // namespace Catch

using Catch::Approx;
