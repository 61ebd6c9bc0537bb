#include "core/text/tokenizers/json_text.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/text/tokenizers/charsmap.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

Pattern read_pattern(const JsonFields& json) {
    const JsonFields pattern = json.child("pattern");
    if (const auto text = pattern.optional_text("Regex"))
        return expression(icu_expression(*text, pattern.location()), pattern.location());
    const auto text = pattern.optional_text("String");
    if (!text || text->empty()) json.throw_unreadable("pattern", "a Regex or a String that is not empty");
    return each_occurrence(*text);
}

// --- what a text may become ------------------------------------------------------------------------------------------

namespace {

// Steps that each double a text would fill any memory: beyond this many bytes a text may become four times as long (a
// blank becomes a mark of three bytes) and no longer.
constexpr std::size_t kLongestMadeText = std::size_t{1} << 14;

void check_made_text(const std::string& location, std::size_t before, std::size_t now) {
    if (now > kLongestMadeText && now / 4 > before)
        throw Error(Fault::unsupported, location + ": makes " + std::to_string(now) + " bytes out of " +
                                            std::to_string(before) + ", expected fewer or shorter replacements");
}

std::size_t length_of(const CutWords& words) {
    std::size_t length = 0;
    for (const std::string& word : words.list) length += word.size();
    return length;
}

}  // namespace

// --- normalizer ------------------------------------------------------------------------------------------------------

namespace {

/// A sequence inside a sequence gives its steps to the outer one, which watches the length of the whole.
void add_normalizers(const JsonFields& json, std::vector<Normalizer>& steps) {
    for (const JsonFields& one : json.list("normalizers")) {
        if (one.type() == "Sequence")
            add_normalizers(one, steps);
        else
            steps.push_back(read_normalizer(one));
    }
}

Normalizer normalizer_sequence(const JsonFields& json) {
    std::vector<Normalizer> steps;
    add_normalizers(json, steps);
    return [steps = std::move(steps), location = json.location()](const std::string& text) {
        std::string changed = text;
        for (const Normalizer& step : steps) {
            changed = step(changed);
            check_made_text(location, text.size(), changed.size());
        }
        return changed;
    };
}

Normalizer form(NormalForm wanted) {
    return [wanted](const std::string& text) { return normalize(text, wanted); };
}

Normalizer strip(bool left, bool right) {
    return [left, right](const std::string& text) {
        std::size_t begin = text.size(), end = text.size();  // of what is not white space
        bool found = false;
        for_each_run(text, is_white_space, [&](std::size_t from, std::size_t to) {
            if (!found) begin = from;
            found = true;
            end = to;
        });
        if (!found && (left || right)) return std::string();  // white space alone is stripped from either side
        if (!left) begin = 0;
        if (!right) end = text.size();
        return begin < end ? text.substr(begin, end - begin) : std::string();
    };
}

Normalizer replace(const JsonFields& json) {
    const Pattern pattern = read_pattern(json);
    const std::string content = json.text("content");
    return [pattern, content, location = json.location()](const std::string& text) {
        std::string changed;
        for (const TextSpan& span : pattern(text)) {
            changed += span.match ? content : text.substr(span.begin, span.end - span.begin);
            check_made_text(location, text.size(), changed.size());
        }
        return changed;
    };
}

Normalizer bert(const JsonFields& json) {
    const bool clean = json.flag("clean_text", true), han = json.flag("handle_chinese_chars", true);
    const bool lower = json.flag("lowercase", true), accents = json.flag("strip_accents", lower);
    return [=](const std::string& text) {
        std::string changed = clean ? bert_clean(text, BertEdition::rust) : text;
        if (han) changed = bert_space_han(changed, BertEdition::rust);
        if (accents) changed = bert_strip_accents(changed);
        return lower ? lower_case_by_character(changed) : changed;
    };
}

Normalizer precompiled(const JsonFields& json) {
    const std::string field = json.location() + ": precompiled_charsmap";
    const auto table = std::make_shared<const Charsmap>(decode_base64(json.text("precompiled_charsmap"), field), field);
    return [table](const std::string& text) { return table->apply(text); };
}

Normalizer read_one_normalizer(const JsonFields& json) {
    const std::string type = json.type();
    if (type == "Sequence") return normalizer_sequence(json);
    if (type == "Lowercase") return lower_case_by_character;
    if (type == "NFC") return form(NormalForm::nfc);
    if (type == "NFD") return form(NormalForm::nfd);
    if (type == "NFKC") return form(NormalForm::nfkc);
    if (type == "NFKD") return form(NormalForm::nfkd);
    if (type == "StripAccents") return [](const std::string& text) { return without(text, is_mark); };
    if (type == "Strip") return strip(json.flag("strip_left", true), json.flag("strip_right", true));
    if (type == "Prepend")
        return [front = json.text("prepend")](const std::string& text) { return text.empty() ? text : front + text; };
    if (type == "Replace") return replace(json);
    if (type == "BertNormalizer") return bert(json);
    if (type == "ByteLevel") return [](const std::string& text) { return bytes_as_characters(text); };
    if (type == "Precompiled") return precompiled(json);
    json.throw_unknown_type(
        "Sequence, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, Strip, Prepend, Replace, BertNormalizer, "
        "ByteLevel, Precompiled");
}

}  // namespace

Normalizer read_normalizer(const JsonFields& json) {
    return [step = read_one_normalizer(json), location = json.location()](const std::string& text) {
        std::string changed = step(text);
        check_made_text(location, text.size(), changed.size());
        return changed;
    };
}

// --- pre-tokenizer ---------------------------------------------------------------------------------------------------

namespace {

using Words = std::vector<std::string>;

/// What a cut does to the characters of a word: a kept word is there from its first character on, possibly changed, of
/// a dropping one some characters may be gone.
enum class Front { kept, may_be_dropped };

/// A pre-tokenizer that cuts every word by itself; `cut` takes the word and whether it is where the text begins.
template <class Cut>
PreTokenizer each_word(Cut cut, Front front) {
    return [cut, front](const CutWords& words) {
        CutWords result;
        for (std::size_t n = 0; n < words.list.size(); ++n) {
            const bool first = words.at_start && n == 0;
            for (std::string& piece : cut(words.list[n], first))
                if (!piece.empty()) result.list.push_back(std::move(piece));
            if (first)
                result.at_start = !result.list.empty() &&
                                  (front == Front::kept || words.list.front().starts_with(result.list.front()));
        }
        return result;
    };
}

PreTokenizer by_pattern(Pattern pattern, Behaviour behaviour, bool invert = false) {
    return each_word([=](const std::string& word, bool) { return split(word, pattern, behaviour, invert); },
                     Front::may_be_dropped);
}

/// As add_normalizers.
void add_pre_tokenizers(const JsonFields& json, std::vector<PreTokenizer>& steps) {
    for (const JsonFields& one : json.list("pretokenizers")) {
        if (one.type() == "Sequence")
            add_pre_tokenizers(one, steps);
        else
            steps.push_back(read_pre_tokenizer(one));
    }
}

PreTokenizer pre_tokenizer_sequence(const JsonFields& json) {
    std::vector<PreTokenizer> steps;
    add_pre_tokenizers(json, steps);
    return [steps = std::move(steps), location = json.location()](const CutWords& words) {
        CutWords result = words;
        for (const PreTokenizer& step : steps) {
            result = step(result);
            check_made_text(location, length_of(words), length_of(result));
        }
        return result;
    };
}

PreTokenizer byte_level(const JsonFields& json) {
    const bool blank = json.flag("add_prefix_space", true), cut = json.flag("use_regex", true);
    return each_word(
        [=](const std::string& word, bool) {
            const std::string text = (blank && !word.starts_with(' ') ? " " : "") + word;
            Words words = cut ? gpt2_words(text) : Words{text};
            for (std::string& one : words) one = bytes_as_characters(one);
            return words;
        },
        Front::kept);
}

PreTokenizer metaspace(const JsonFields& json) {
    const std::string mark = json.text("replacement");
    std::size_t end = 0;
    if (!mark.empty()) next_character(mark, end);
    if (mark.empty() || end != mark.size()) json.throw_unreadable("replacement", "one character");
    const bool cut = json.flag("split", true);
    // Files from before prepend_scheme say add_prefix_space.
    const std::string scheme =
        json.optional_text("prepend_scheme").value_or(json.flag("add_prefix_space", true) ? "always" : "never");
    if (scheme != "always" && scheme != "first" && scheme != "never")
        json.throw_unreadable("prepend_scheme", "always, first or never");
    const Pattern marks = each_occurrence(mark);
    return each_word(
        [=](const std::string& word, bool at_start) {
            std::string text;
            for (const char letter : word) letter == ' ' ? text += mark : text += letter;
            const bool prepend = scheme == "always" || (scheme == "first" && at_start);
            if (prepend && !text.starts_with(mark)) text = mark + text;
            return cut ? split(text, marks, Behaviour::merged_with_next) : Words{text};
        },
        Front::kept);
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

PreTokenizer read_one_pre_tokenizer(const JsonFields& json) {
    const std::string type = json.type();
    if (type == "Sequence") return pre_tokenizer_sequence(json);
    if (type == "ByteLevel") return byte_level(json);
    if (type == "BertPreTokenizer")
        return each_word([](const std::string& word, bool) { return bert_words(word); }, Front::may_be_dropped);
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
    json.throw_unknown_type(
        "Sequence, ByteLevel, BertPreTokenizer, Whitespace, WhitespaceSplit, CharDelimiterSplit, "
        "Punctuation, Digits, Split, Metaspace");
}

}  // namespace

PreTokenizer read_pre_tokenizer(const JsonFields& json) {
    return [step = read_one_pre_tokenizer(json), location = json.location()](const CutWords& words) {
        CutWords result = step(words);
        check_made_text(location, length_of(words), length_of(result));
        return result;
    };
}

}  // namespace locus
