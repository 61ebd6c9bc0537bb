#include "core/text/tokenizers/json_pre_tokenizer.h"

#include "core/text/tokenizers/bert_words.h"
#include "core/text/tokenizers/byte_level.h"
#include "core/text/tokenizers/expression.h"
#include "core/text/tokenizers/json_pattern.h"
#include "core/text/tokenizers/split.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

using Words = std::vector<std::string>;

/// A pre-tokenizer that cuts every word by itself; `cut` takes the word and whether it is the first of the text.
template <class Cut>
PreTokenizer each_word(Cut cut) {
    return [cut](const Words& words, bool at_start) {
        Words result;
        for (std::size_t n = 0; n < words.size(); ++n)
            for (std::string& piece : cut(words[n], at_start && n == 0))
                if (!piece.empty()) result.push_back(std::move(piece));
        return result;
    };
}

PreTokenizer by_pattern(Pattern pattern, Behaviour behaviour, bool invert = false) {
    return each_word([=](const std::string& word, bool) { return split(word, pattern, behaviour, invert); });
}

PreTokenizer pre_tokenizer_sequence(const JsonFields& json) {
    std::vector<PreTokenizer> steps;
    for (const JsonFields& one : json.list("pretokenizers")) steps.push_back(read_pre_tokenizer(one));
    return [steps = std::move(steps)](const Words& words, bool at_start) {
        Words result = words;
        for (const PreTokenizer& step : steps) result = step(result, at_start);
        return result;
    };
}

PreTokenizer byte_level(const JsonFields& json) {
    const bool blank = json.flag("add_prefix_space", true), cut = json.flag("use_regex", true);
    return each_word([=](const std::string& word, bool) {
        const std::string text = (blank && !word.starts_with(' ') ? " " : "") + word;
        Words words = cut ? gpt2_words(text) : Words{text};
        for (std::string& one : words) one = bytes_as_characters(one);
        return words;
    });
}

PreTokenizer metaspace(const JsonFields& json) {
    const std::string mark = json.text("replacement");
    if (mark.empty()) json.throw_unreadable("replacement", "a character");
    const bool cut = json.flag("split", true);
    // Files from before prepend_scheme say add_prefix_space.
    const std::string scheme =
        json.optional_text("prepend_scheme").value_or(json.flag("add_prefix_space", true) ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never")
        json.throw_unreadable("prepend_scheme", "always, first or never");
    const Pattern marks = each_occurrence(mark);
    return each_word([=](const std::string& word, bool at_start) {
        std::string text;
        for (const char letter : word) letter == ' ' ? text += mark : text += letter;
        const bool prepend = scheme == "always" || (scheme == "first" && at_start);
        if (prepend && !text.starts_with(mark)) text = mark + text;
        return cut ? split(text, marks, Behaviour::merged_with_next) : Words{text};
    });
}

Behaviour read_behaviour(const JsonFields& json, const std::string& fallback) {
    const std::string name = json.optional_text("behavior").value_or(fallback);
    if (name == "Removed") return Behaviour::removed;
    if (name == "Isolated") return Behaviour::isolated;
    if (name == "MergedWithPrevious") return Behaviour::merged_with_previous;
    if (name == "MergedWithNext") return Behaviour::merged_with_next;
    if (name == "Contiguous") return Behaviour::contiguous;
    json.throw_unreadable("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

PreTokenizer char_delimiter(const JsonFields& json) {
    const std::string delimiter = json.text("delimiter");
    if (delimiter.empty()) json.throw_unreadable("delimiter", "a character");
    return by_pattern(each_occurrence(delimiter), Behaviour::removed);
}

}  // namespace

PreTokenizer read_pre_tokenizer(const JsonFields& json) {
    const std::string type = json.type();
    if (type == "Sequence") return pre_tokenizer_sequence(json);
    if (type == "ByteLevel") return byte_level(json);
    if (type == "BertPreTokenizer") return each_word([](const std::string& word, bool) { return bert_words(word); });
    if (type == "Whitespace")
        return by_pattern(expression(R"(\w+|[^\w\s]+)", json.location()), Behaviour::removed, /*invert=*/true);
    if (type == "WhitespaceSplit") return by_pattern(each_character(is_white_space), Behaviour::removed);
    if (type == "CharDelimiterSplit") return char_delimiter(json);
    if (type == "Punctuation") return by_pattern(each_character(is_bert_punctuation), read_behaviour(json, "Isolated"));
    if (type == "Digits")
        return by_pattern(each_character(is_number),
                          json.flag("individual_digits", false) ? Behaviour::isolated : Behaviour::contiguous);
    if (type == "Split") return by_pattern(read_pattern(json), read_behaviour(json, ""), json.flag("invert", false));
    if (type == "Metaspace") return metaspace(json);
    json.refuse_type(
        "Sequence, ByteLevel, BertPreTokenizer, Whitespace, WhitespaceSplit, CharDelimiterSplit, "
        "Punctuation, Digits, Split, Metaspace");
}

}  // namespace locus
