#include "core/text/corpus/corpus_text.h"

#include <cstdint>

#include "core/check.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
constexpr std::string_view kBlanks = " \t\r\n\v\f";

[[noreturn]] void refuse_text(const std::filesystem::path& file, const std::string& what) {
    throw Error(Fault::unreadable, file.string() + ": " + what);
}

std::string_view first_word(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_first_of(kBlanks, begin) - begin);
}

void check_words(std::string_view text, const std::filesystem::path& file) {
    const std::string_view first = first_word(text);
    if (first.empty()) refuse_text(file, "holds no word, expected sentences to learn from");
    for (std::string_view rest = text;;) {
        const std::string_view word = first_word(rest);
        if (word.empty())
            refuse_text(file, "holds one word only, \"" + std::string(first.substr(0, 40)) +
                                  "\", expected sentences of different words");
        if (word != first) return;
        rest.remove_prefix(static_cast<std::size_t>(word.data() + word.size() - rest.data()));
    }
}

bool inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// How many bytes of a line that is too long go into the next piece.
std::size_t cut_of(std::string_view line, std::size_t most) {
    const std::size_t blank = line.find_last_of(kBlanks, most);
    if (blank != std::string_view::npos && blank > 0) return blank;
    std::size_t cut = most;
    while (cut > 1 && inside_character(line[cut])) --cut;
    return cut;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

std::string read_corpus_text(const std::filesystem::path& file) {
    std::error_code error;
    if (const auto bytes = std::filesystem::file_size(file, error); !error && bytes > kMostBytes)
        throw Error(Fault::unsupported, file.string() + ": has " + std::to_string(bytes) +
                                            " bytes, Locus learns from " + std::to_string(kMostBytes) + " at most");
    const std::string text = read_text_file(file);
    if (const std::size_t nul = text.find('\0'); nul != std::string::npos)
        refuse_text(file, "holds a NUL byte at byte " + std::to_string(nul) + ", expected text in UTF-8");
    if (const std::size_t bad = first_bad_byte(text); bad < text.size())
        refuse_text(file, "is not UTF-8 at byte " + std::to_string(bad));
    check_words(text, file);
    return text;
}

std::vector<std::string_view> short_lines(std::string_view text, std::size_t most) {
    LOCUS_CHECK(most >= 4, "lines of at most " + std::to_string(most) + " bytes were asked for, expected 4 or more");
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        while (line.size() > most) {
            const std::size_t cut = cut_of(line, most);
            lines.push_back(trimmed(line.substr(0, cut)));
            line = trimmed(line.substr(cut));
        }
        if (!line.empty()) lines.push_back(line);
    }
    return lines;
}

}  // namespace locus
