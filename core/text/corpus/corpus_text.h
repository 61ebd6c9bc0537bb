#pragma once
// A text file to learn from.
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// The text of a file of sentences, one a line.
/// Throws Error(unreadable) that names the file if it cannot be read, is not UTF-8, holds a NUL byte or fewer than two
/// different words, and Error(unsupported) above 1 GiB.
std::string read_corpus_text(const std::filesystem::path& file);

/// The lines of a text without blanks at their ends, none empty; one of more than `most` bytes is cut after the last
/// blank that fits, or else before a character.  Views into `text`.
std::vector<std::string_view> short_lines(std::string_view text, std::size_t most);

}  // namespace locus
