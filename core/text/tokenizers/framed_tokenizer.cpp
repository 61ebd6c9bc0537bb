#include "core/text/tokenizers/framed_tokenizer.h"

#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/utf8.h"

namespace locus {

namespace {

void add(Tokens& tokens, const Piece& piece) {
    tokens.ids.push_back(piece.id);
    tokens.pieces.push_back(piece.text);
    tokens.special.push_back(piece.special);
}

void add(Tokens& tokens, const SpecialToken& token) { add(tokens, Piece{token.id, token.name, token.special}); }

}  // namespace

FramedTokenizer::FramedTokenizer(TokenFrame frame, std::unique_ptr<TextCutter> cutter)
    : frame_(std::move(frame)), cutter_(std::move(cutter)) {}

Tokens FramedTokenizer::encode(const std::string& text) const {
    check_utf8(text);
    std::size_t first = 0;
    const bool blank = frame_.blank_in_front && !text.empty() && !is_python_space(next_character(text, first));
    const std::string whole = blank ? " " + text : text;
    Tokens tokens;
    for (const SpecialToken& token : frame_.front) add(tokens, token);
    for (const SpecialTokens::Section& section : frame_.specials.cut(whole)) {
        if (section.token) {
            add(tokens, *section.token);
            continue;
        }
        std::vector<Piece> pieces;
        cutter_->cut(std::string(section.text), section.text.data() == whole.data(), pieces);
        for (const Piece& one : pieces) add(tokens, one);
    }
    for (const SpecialToken& token : frame_.behind) add(tokens, token);
    return tokens;
}

std::string FramedTokenizer::piece(std::int64_t id) const {
    if (const SpecialToken* token = frame_.specials.find(id)) return token->name;
    return cutter_->piece(id).value_or("<" + std::to_string(id) + ">");
}

}  // namespace locus
