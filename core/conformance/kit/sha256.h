#pragma once
// SHA-256 of files, so that no port is judged by a kit that was changed.  FIPS 180-4.
#include <string>
#include <string_view>

namespace locus::conformance {

/// 64 hexadecimal digits, as sha256sum prints them.  Fifty lines instead of one more library to install: the hash
/// guards against accidents, not against an enemy.
std::string sha256(std::string_view bytes);

}  // namespace locus::conformance
