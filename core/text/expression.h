#pragma once
// Regular expressions over UTF-8, matched by ICU.
#include <string>

#include "core/text/split.h"

namespace locus {

/// A pattern out of a regular expression.  \s and \S mean White_Space, ^ and $ also lines, as in the library that
/// wrote the files (ICU's own \s knows neither U+000B nor U+0085).
/// Throws Error(unreadable) that begins with `location` if ICU cannot read the expression; the pattern throws
/// Error(unsupported) if one text costs it more than about ten million steps.
Pattern expression(const std::string& text, const std::string& location);

}  // namespace locus
