#pragma once
// The sentence about a file that cannot be used.
#include <string>

#include "core/check.h"

namespace locus {

/// Throws Error(fault): "<place>: <what>", in printable characters.  place: a file, or what stands for one.
[[noreturn]] void throw_unreadable(const std::string& place, const std::string& what, Fault fault = Fault::unreadable);

}  // namespace locus
