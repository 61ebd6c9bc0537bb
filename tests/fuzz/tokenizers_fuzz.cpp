// Files of tokenizers: tokenizer.json, spm.model, the table of replacements inside both, and the older vocabularies.
#include <algorithm>

#include "core/text/tokenizers/charsmap.h"
#include "core/text/tokenizers/json_tokenizer.h"
#include "core/text/tokenizers/sentencepiece_encoder.h"
#include "core/text/tokenizers/sentencepiece_model.h"
#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"
#include "core/text/tokenizers/unicode.h"
#include "tests/fuzz/fuzz_target.h"

namespace locus::test {

namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& texts() {
    static const std::vector<std::string> all = {
        "", "A new [MASK] store opened, beside <mask> caf\u00e9s.",
        " \u4e2d\u6587 \ubc1c\ud55c\uae00\t\n \u0130stanbul e\u0301\u0301 \ufb01 \u00bd \U0001F469\u200D\U0001F52C ",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "1,000,000 '' `` <0x41> \u2581 \u0120 ## [CLS][SEP]</s>"};
    return all;
}

/// Two texts hold what each of them holds, every token with its type; or the tokenizer has no form for them.
void cut_pair(const Tokenizer& tokenizer, const std::string& first, const std::string& second) {
    Tokens pair;
    try {
        pair = tokenizer.encode_pair(first, second);
    } catch (const Error&) {
        return;
    }
    const auto [front, behind] = tokenizer.frame();
    const std::size_t inner =
        tokenizer.encode(first).ids.size() + tokenizer.encode(second).ids.size() - 2 * (front + behind);
    promise(pair.ids.size() >= inner, "a pair holds both texts");
    promise(pair.pieces.size() == pair.ids.size() && pair.special.size() == pair.ids.size() &&
                pair.types.size() == pair.ids.size(),
            "every id has a piece, a mark and a type");
    for (const std::int64_t type : pair.types) promise(type >= 0, "no type is negative");
    const auto separator = tokenizer.separator_id();
    promise(!separator || std::find(pair.ids.begin(), pair.ids.end(), *separator) != pair.ids.end(),
            "the separator is in a pair");
}

/// What comes out of a tokenizer is whole, and the same each time.
void cut_texts(const Tokenizer& tokenizer) {
    for (const std::string& text : texts()) {
        Tokens tokens;
        try {
            tokens = tokenizer.encode(text);
        } catch (const Error&) {
            continue;  // a text that names a control piece, say
        }
        promise(tokens.pieces.size() == tokens.ids.size() && tokens.special.size() == tokens.ids.size(),
                "every id has a piece and a mark");
        promise(tokens.ids.size() >= tokenizer.frame().first + tokenizer.frame().second, "the frame is around a text");
        for (const std::int64_t id : tokens.ids) {
            promise(id >= 0, "no id is negative");
            promise(!tokenizer.piece(id).empty(), "every id has a name");
        }
        promise(tokenizer.encode(text).ids == tokens.ids, "a text is cut the same way each time");
    }
    cut_pair(tokenizer, texts()[1], texts()[4]);
}

}  // namespace

void fuzz_tokenizer_json(std::string_view bytes, const fs::path& folder) {
    fuzz_file(folder, "tokenizer.json", bytes);
    cut_texts(*open_tokenizer_json(TokenizerFiles(folder)));
}

void fuzz_sentencepiece(std::string_view bytes, const fs::path&) {
    const SentencePieceEncoder encoder(parse_sentencepiece_model(bytes, "spm.model"), "spm.model");
    promise(static_cast<std::size_t>(encoder.size()) <= bytes.size(), "every piece has a byte");
    for (const std::string& text : texts()) {
        promise(first_bad_byte(encoder.normalize(text)) == encoder.normalize(text).size(),
                "a text that is normalised is UTF-8");
        std::vector<Piece> pieces;
        try {
            pieces = encoder.encode(text);
        } catch (const Error&) {
            continue;
        }
        for (const Piece& piece : pieces)
            promise(piece.id >= 0 && piece.id < encoder.size(), "an id is one of the vocabulary");
    }
}

void fuzz_charsmap(std::string_view bytes, const fs::path&) {
    const Charsmap table(bytes, "table");
    for (const std::string& text : texts()) {
        const std::string changed = table.apply(text);
        promise(first_bad_byte(changed) == changed.size(), "a text whose characters were replaced is UTF-8");
        promise(changed.size() <= 256 * (text.size() + 1), "no replacement is longer than 256 bytes");
        const Charsmap::Match match = table.longest(text);
        promise(match.bytes <= text.size(), "no entry is longer than the text");
    }
}

void fuzz_vocabulary(std::string_view bytes, const fs::path& folder) {
    // The first byte says which kind of tokenizer the parts are files of.
    static const std::vector<std::vector<std::string>> kinds = {
        {"vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json"},
        {"vocab.txt", "tokenizer_config.json", "added_tokens.json"},
        {"vocab.txt", "config.json"}};
    if (bytes.empty()) throw_unreadable("input", "is empty");
    const std::size_t kind = static_cast<unsigned char>(bytes.front()) % kinds.size();
    const auto& names = kinds[kind];
    const fs::path own = folder / ("vocabulary" + std::to_string(kind));
    fs::create_directory(own);
    const auto parts = fuzz_parts(bytes.substr(1), names.size());
    for (std::size_t n = 0; n < names.size(); ++n)
        if (parts[n].empty())
            fs::remove(own / names[n]);
        else
            fuzz_file(own, names[n], parts[n]);
    cut_texts(*open_tokenizer(own));
}

}  // namespace locus::test
