#pragma once
// Tokens that are cut out of a text before anything else happens to it: [MASK], </s>, added words.
// Source: huggingface/tokenizers tokenizer/added_vocabulary.rs; transformers tokenization_utils.py.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizers/unicode.h"

namespace locus {

struct SpecialToken {
    std::string name;
    std::int64_t id = 0;
    bool takes_left = false, takes_right = false;  // white space beside it goes with it (lstrip, rstrip)
    bool single_word = false;                      // only where no letter or digit touches it
    bool special = true;                           // false: an ordinary word that was added
    bool normalized = false;                       // looked for in normalized text, lower case where that is made
};

class SpecialTokens {
public:
    using IsBlank = bool (*)(char32_t);
    /// Where the two programs differ.  `rust`: a token may begin within the white space that the one before it took.
    /// `python`: that is gone by then, and U+001C ... U+001F are white space.
    enum class Edition { rust, python };
    explicit SpecialTokens(Edition edition = Edition::rust)
        : edition_(edition), is_blank_(edition == Edition::python ? is_python_space : is_white_space) {}

    /// A token of the same name is replaced.  A name that is empty is never found.
    void add(const SpecialToken& token);

    const SpecialToken* find(std::string_view name) const;
    const SpecialToken* find(std::int64_t id) const;

    /// A stretch of a text: a token, or plain text where `token` is null.
    struct Section {
        std::string_view text;  // without the white space that a token takes
        const SpecialToken* token = nullptr;
    };
    /// The sections of a text in order; at one place the longest token wins.  The view must outlive the sections.
    std::vector<Section> cut(std::string_view text) const;

private:
    const SpecialToken* at(std::string_view text, std::size_t place) const;

    Edition edition_;
    IsBlank is_blank_;
    std::vector<SpecialToken> tokens_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
    // Lengths of the names that begin with a byte, the longest first: a text is compared with few of many tokens.
    std::array<std::set<std::size_t, std::greater<>>, 256> lengths_;
};

}  // namespace locus
