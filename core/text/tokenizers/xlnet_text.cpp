#include "core/text/tokenizers/xlnet_text.h"

#include <unicode/uchar.h>

#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

const std::string kWordMark = "\u2581";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

std::string one_blank_each(const std::string& text) {
    std::string joined;
    for_each_run(text, is_python_space, [&](std::size_t begin, std::size_t end) {
        joined += (joined.empty() ? "" : " ") + text.substr(begin, end - begin);
    });
    return joined;
}

/// str.isdigit of Python: decimal digits, superscripts and the like, by the property Numeric_Type.
bool is_python_digit(char32_t character) {
    const int type = u_getIntPropertyValue(static_cast<UChar32>(character), UCHAR_NUMERIC_TYPE);
    return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool ends_in_digit_comma(const std::string& piece) {
    return piece.size() > 1 && piece.back() == ',' && is_python_digit(previous_character(piece, piece.size() - 1));
}

}  // namespace

std::string prepare_xlnet_text(const std::string& text, const XlnetText& options) {
    std::string prepared = options.remove_space ? one_blank_each(text) : text;
    replace_all(prepared, "``", "\"");
    replace_all(prepared, "''", "\"");
    if (!options.keep_accents) prepared = without(normalize(prepared, NormalForm::nfkd), is_combining);
    if (options.lower_case) prepared = lower_case(prepared);
    return prepared;
}

std::vector<std::string> cut_digit_commas(const std::vector<std::string>& pieces,
                                          const std::function<std::vector<std::string>(const std::string&)>& encode) {
    std::vector<std::string> cut;
    for (const std::string& piece : pieces) {
        if (!ends_in_digit_comma(piece)) {
            cut.push_back(piece);
            continue;
        }
        std::string number = piece.substr(0, piece.size() - 1);
        replace_all(number, kWordMark, "");
        std::vector<std::string> parts = encode(number);
        if (!piece.starts_with(kWordMark) && !parts.empty() && parts.front().starts_with(kWordMark)) {
            parts.front().erase(0, kWordMark.size());
            if (parts.front().empty()) parts.erase(parts.begin());
        }
        cut.insert(cut.end(), parts.begin(), parts.end());
        cut.push_back(",");
    }
    return cut;
}

}  // namespace locus
