#pragma once
// Where words and characters end, in any script.  Unicode Standard Annex 29 as ICU implements it.
#include <string>
#include <vector>

#include "core/text/statistics/word_list.h"
#include "core/text/tokenizers/utf8.h"

namespace locus {

/// One spelling for what a reader takes for the same: composed characters (NFC), and lower case unless `keep_case`.
/// The text must be UTF-8; throws Error(usage) if it is not.
std::string normalise_text(const std::string& text, bool keep_case = false);

/// Words of a UTF-8 text: letters and digits by the rules of Unicode ("don't" and "3.14" are one word), Chinese,
/// Japanese and Thai by ICU's dictionaries.  Punctuation, symbols and space are dropped.
/// Throws Error(usage) if the text is not UTF-8 or longer than 2^31 - 1 bytes.
Document split_words(const std::string& text);

/// What a reader calls characters (grapheme clusters); white space of any kind and length is one " ", and none at the
/// ends.  Throws as split_words.
std::vector<std::string> split_characters(const std::string& text);

}  // namespace locus
