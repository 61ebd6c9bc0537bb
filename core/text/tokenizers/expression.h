#pragma once
// Regular expressions over UTF-8, matched by ICU.
#include <string>

#include "core/text/tokenizers/split.h"

namespace locus {

/// A pattern out of a regular expression; ^ and $ also mean the ends of lines, as in the library that wrote the files.
/// Throws Error(unreadable) that begins with `location` if ICU cannot read the expression; the pattern throws
/// Error(unsupported) if one text costs it more than about ten million steps.
Pattern expression(const std::string& text, const std::string& location);

}  // namespace locus
