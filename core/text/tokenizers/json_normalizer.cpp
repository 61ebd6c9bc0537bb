#include "core/text/tokenizers/json_normalizer.h"

#include <memory>

#include "core/check.h"
#include "core/text/tokenizers/bert_words.h"
#include "core/text/tokenizers/byte_level.h"
#include "core/text/tokenizers/charsmap.h"
#include "core/text/tokenizers/json_pattern.h"
#include "core/text/tokenizers/lower_case.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

Normalizer normalizer_sequence(const JsonFields& json) {
    std::vector<Normalizer> steps;
    for (const JsonFields& one : json.list("normalizers")) steps.push_back(read_normalizer(one));
    return [steps = std::move(steps)](const std::string& text) {
        std::string changed = text;
        for (const Normalizer& step : steps) changed = step(changed);
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
        if (!left) begin = 0;
        if (!right) end = text.size();
        return begin < end ? text.substr(begin, end - begin) : std::string();
    };
}

Normalizer replace(const JsonFields& json) {
    const Pattern pattern = read_pattern(json);
    const std::string content = json.text("content");
    return [pattern, content](const std::string& text) {
        std::string changed;
        for (const Span& span : pattern(text))
            changed += span.match ? content : text.substr(span.begin, span.end - span.begin);
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

}  // namespace

Normalizer read_normalizer(const JsonFields& json) {
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
    json.refuse_type(
        "Sequence, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, Strip, Prepend, Replace, BertNormalizer, "
        "ByteLevel, Precompiled");
}

}  // namespace locus
