#include "core/text/statistics/word_vectors.h"

#include <algorithm>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace locus {

namespace {

constexpr std::size_t kLongestVectorLine = std::size_t{1} << 22;  // 200 times what the widest vectors take

bool is_space(char letter) { return letter == ' ' || letter == '\t'; }

/// Takes the last word off a line; empty if there is none.
std::string_view take_last(std::string_view& line) {
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    std::size_t start = line.size();
    while (start > 0 && !is_space(line[start - 1])) --start;
    const std::string_view last = line.substr(start);
    line = line.substr(0, start);
    return last;
}

std::size_t count_fields(std::string_view line) {
    std::size_t fields = 0;
    for (std::size_t at = 0; at < line.size(); ++at)
        fields += !is_space(line[at]) && (at == 0 || is_space(line[at - 1])) ? 1 : 0;
    return fields;
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return number;
}

/// One file on its way through: its lines, what is wrong with them, and the shape they must have.
class VectorLines {
public:
    VectorLines(std::istream& stream, const std::string& location) : stream_(stream), location_(location) {}

    bool next(std::string_view& line) {
        buffer_.clear();
        for (int letter = stream_.rdbuf()->sbumpc(); letter != '\n'; letter = stream_.rdbuf()->sbumpc()) {
            if (letter == std::istream::traits_type::eof()) {
                if (buffer_.empty()) return false;
                break;
            }
            if (buffer_.size() == kLongestVectorLine) refuse_binary();
            buffer_ += static_cast<char>(letter);
        }
        ++number_;
        if (!buffer_.empty() && buffer_.back() == '\r') buffer_.pop_back();
        if (number_ == 1 && buffer_.starts_with("\xEF\xBB\xBF")) buffer_.erase(0, 3);  // a byte order mark
        if (number_ == 1 && buffer_.starts_with("\x1f\x8b"))
            throw Error(Fault::unsupported, location_ + ": is compressed, expected text; gunzip unpacks it");
        line = buffer_;
        return true;
    }

    [[noreturn]] void throw_unreadable(const std::string& what) const {
        throw Error(Fault::unreadable, location_ + ": line " + std::to_string(number_) + " " + what);
    }
    [[noreturn]] void refuse_binary() const {
        throw Error(Fault::unsupported, location_ + ": line " + std::to_string(number_) +
                                            " is not text, expected a word and its numbers; of word2vec's two formats "
                                            "only the text one is read");
    }

private:
    std::istream& stream_;
    std::string location_, buffer_;
    std::size_t number_ = 0;
};

/// "3000000 300": how many vectors of what width.
std::optional<std::pair<Index, Index>> parse_first_line(std::string_view line) {
    if (count_fields(line) != 2) return std::nullopt;
    const auto width = parse<Index>(take_last(line)), count = parse<Index>(take_last(line));
    if (!width || !count || *width < 1 || *count < 1) return std::nullopt;
    return std::pair{*count, *width};
}

/// The word before the last `width` fields.  What is too much on the line must not look like a number.
std::string_view word_of(std::string_view line, Index width, const VectorLines& lines) {
    const std::size_t fields = count_fields(line), expected = static_cast<std::size_t>(width) + 1;
    std::string_view word = line;
    if (fields >= expected)
        for (Index n = 0; n < width; ++n) take_last(word);
    std::string_view rest = word;
    const bool too_wide = fields > expected && parse<double>(take_last(rest)).has_value();
    if (fields < expected || too_wide) {
        if (line.find('\0') != std::string_view::npos) lines.refuse_binary();
        lines.throw_unreadable("has " + std::to_string(fields == 0 ? 0 : fields - 1) +
                               " numbers after the word, expected " + std::to_string(width));
    }
    while (!word.empty() && is_space(word.front())) word.remove_prefix(1);
    while (!word.empty() && is_space(word.back())) word.remove_suffix(1);
    return word;
}

RowVector<double> parse_vector(std::string_view line, Index width, const std::string& word, const VectorLines& lines) {
    RowVector<double> vector(width);
    for (Index n = width; n-- > 0;) {
        const std::string_view text = take_last(line);
        const auto value = parse<double>(text);
        if (!value || !(std::abs(*value) <= FLT_MAX))
            lines.throw_unreadable("gives \"" + word + "\" the value \"" + std::string(text.substr(0, 40)) +
                                   "\", expected a finite number");
        vector[n] = *value;
    }
    return vector;
}

}  // namespace

WordVectors read_word_vectors(std::istream& stream, const std::string& location, const WordList& wanted) {
    VectorLines lines(stream, location);
    std::string_view line;
    if (!lines.next(line))
        throw Error(Fault::unreadable, location + ": is empty, expected lines of a word and numbers");
    const auto promised = parse_first_line(line);
    bool more = promised ? lines.next(line) : true;
    const Index width = promised ? promised->second : static_cast<Index>(count_fields(line)) - 1;
    if (width < 1) lines.throw_unreadable("is not a word and its numbers");
    WordVectors found;
    std::vector<RowVector<double>> rows;
    Index count = 0;
    for (; more && found.words.size() < wanted.size(); more = lines.next(line)) {
        const std::string word(word_of(line, width, lines));
        ++count;
        if (!wanted.find(word) || found.words.find(word)) continue;
        rows.push_back(parse_vector(line, width, word, lines));
        found.words.add(word);
    }
    if (!more && promised && promised->first != count)
        throw Error(Fault::unreadable, location + ": has " + std::to_string(count) + " vectors, its first line says " +
                                           std::to_string(promised->first));
    found.vectors.resize(static_cast<Index>(rows.size()), width);
    for (std::size_t row = 0; row < rows.size(); ++row) found.vectors.row(static_cast<Index>(row)) = rows[row];
    return found;
}

}  // namespace locus
