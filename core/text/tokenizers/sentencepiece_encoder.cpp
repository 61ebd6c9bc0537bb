#include "core/text/tokenizers/sentencepiece_encoder.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <cfloat>
#include <limits>
#include <nlohmann/json.hpp>
#include <queue>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

constexpr std::string_view kEscapedBlank = "\xE2\x96\x81";  // U+2581

/// Bytes of the character that a text begins with; 0 if these bytes are none.
std::size_t valid_character_bytes(std::string_view text) {
    std::int32_t at = 0;
    const auto window = static_cast<std::int32_t>(std::min<std::size_t>(text.size(), U8_MAX_LENGTH));
    UChar32 character = 0;
    U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, window, character);
    return character < 0 ? 0 : static_cast<std::size_t>(at);
}

PieceTrie trie_of(const std::vector<SentencePieceModel::Entry>& pieces,
                  std::initializer_list<SentencePieceModel::Type> types, const std::string& location) {
    std::vector<PieceTrie::Entry> entries;
    for (std::size_t id = 0; id < pieces.size(); ++id)
        if (std::find(types.begin(), types.end(), pieces[id].type) != types.end())
            entries.emplace_back(pieces[id].text, static_cast<std::uint32_t>(id));
    return {std::move(entries), location};
}

}  // namespace

SentencePieceEncoder::SentencePieceEncoder(SentencePieceModel model, const std::string& location)
    : model_(std::move(model)) {
    if (const std::string& table = model_.normalizer.charsmap; !table.empty())
        charsmap_.emplace(table, location + ": precompiled_charsmap");
    pieces_ = trie_of(
        model_.pieces,
        {SentencePieceModel::Type::normal, SentencePieceModel::Type::user_defined, SentencePieceModel::Type::unused},
        location);
    reserved_ =
        trie_of(model_.pieces,
                {SentencePieceModel::Type::control, SentencePieceModel::Type::unknown, SentencePieceModel::Type::byte},
                location);
    user_defined_ = trie_of(model_.pieces, {SentencePieceModel::Type::user_defined}, location);
    for (std::size_t id = 0; id < model_.pieces.size(); ++id) {
        const SentencePieceModel::Entry& piece = model_.pieces[id];
        has_user_defined_ = has_user_defined_ || piece.type == SentencePieceModel::Type::user_defined;
        has_unused_ = has_unused_ || piece.type == SentencePieceModel::Type::unused;
        if (piece.type == SentencePieceModel::Type::byte)
            byte_ids_[static_cast<std::size_t>(byte_of_piece(piece.text))] = static_cast<std::int64_t>(id);
    }
    if (model_.kind == SentencePieceModel::Kind::unigram) set_scores(location);
}

void SentencePieceEncoder::set_scores(const std::string& location) {
    // As in unigram_model.cc: the largest score begins at the smallest positive number, so that it is never below 0.
    float least = FLT_MAX, largest = FLT_MIN;
    bool any = false;
    for (const SentencePieceModel::Entry& piece : model_.pieces) {
        any = any || piece.type == SentencePieceModel::Type::normal ||
              piece.type == SentencePieceModel::Type::user_defined || piece.type == SentencePieceModel::Type::unused;
        if (piece.type != SentencePieceModel::Type::normal) continue;
        least = std::min(least, piece.score);
        largest = std::max(largest, piece.score);
    }
    if (!any)
        throw Error(Fault::unreadable, location + ": has no piece but special ones, expected some to cut a text into");
    unknown_score_ = least - 10.0f;
    for (const SentencePieceModel::Entry& piece : model_.pieces) {
        const auto bytes = static_cast<float>(piece.text.size());
        scores_.push_back(piece.type == SentencePieceModel::Type::user_defined
                              ? static_cast<double>(bytes * largest) - 0.1
                          : piece.type == SentencePieceModel::Type::unused ? -std::numeric_limits<double>::infinity()
                                                                           : static_cast<double>(piece.score));
    }
}

// --- normaliser ------------------------------------------------------------------------------------------------------

Charsmap::Match SentencePieceEncoder::next_replacement(std::string_view text) const {
    if (has_user_defined_)
        if (const std::size_t bytes = user_defined_.longest_prefix(text)) return {bytes, text.substr(0, bytes)};
    if (charsmap_)
        if (const Charsmap::Match match = charsmap_->longest(text); match.bytes > 0) return match;
    if (const std::size_t bytes = valid_character_bytes(text)) return {bytes, text.substr(0, bytes)};
    return {1, "\xEF\xBF\xBD"};
}

std::string SentencePieceEncoder::normalize(std::string_view text) const {
    const SentencePieceModel::Normalizer& options = model_.normalizer;
    const std::string_view blank = options.escape_whitespaces ? kEscapedBlank : " ";
    const bool one_blank = options.remove_extra_whitespaces;
    std::size_t at = 0;
    while (one_blank && at < text.size()) {
        const Charsmap::Match first = next_replacement(text.substr(at));
        if (first.replacement != " ") break;
        at += first.bytes;
    }
    std::string normal;
    if (at == text.size()) return normal;
    normal.reserve(text.size() + text.size() / 2);
    if (options.add_dummy_prefix && !model_.whitespace_as_suffix) normal += blank;
    bool after_blank = one_blank;
    while (at < text.size()) {
        const Charsmap::Match match = next_replacement(text.substr(at));
        at += match.bytes;
        std::string_view part = match.replacement;
        while (after_blank && part.starts_with(' ')) part.remove_prefix(1);
        if (part.empty()) continue;
        after_blank = one_blank && part.ends_with(' ');
        if (part.size() == 1 && part.front() != ' ') {
            normal += part.front();
            continue;
        }
        for (std::size_t from = 0; from < part.size();) {
            const std::size_t end = std::min(part.find(' ', from), part.size());
            normal += part.substr(from, end - from);
            if (end < part.size()) normal += blank;
            from = end + 1;
        }
    }
    while (one_blank && normal.ends_with(blank)) normal.resize(normal.size() - blank.size());
    if (options.add_dummy_prefix && model_.whitespace_as_suffix) normal += blank;
    return normal;
}

// --- cutting ---------------------------------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t kNoSymbol = std::numeric_limits<std::uint32_t>::max();

/// A stretch of the text between two others; one that was merged into the one before it has no bytes.
struct MergeSymbol {
    std::uint32_t begin = 0, bytes = 0, previous = kNoSymbol, next = kNoSymbol;
    bool frozen = false;  // user-defined: never merged
};

/// Two neighbours that are a piece together: the largest score first, the leftmost of these.
struct MergePair {
    float score = 0;
    std::uint32_t left = 0, right = 0, bytes = 0;
    bool operator<(const MergePair& other) const {
        return score < other.score || (score == other.score && left > other.left);
    }
};

}  // namespace

std::int64_t SentencePieceEncoder::id(std::string_view piece) const {
    if (const auto id = reserved_.find(piece)) return *id;
    if (const auto id = pieces_.find(piece)) return *id;
    return static_cast<std::int64_t>(model_.unknown);
}

/// Bytes of the user-defined piece that a text begins with, or of its first character.
std::size_t SentencePieceEncoder::next_symbol(std::string_view text, bool& user_defined) const {
    const std::size_t bytes = has_user_defined_ ? user_defined_.longest_prefix(text) : 0;
    user_defined = bytes > 0;
    return bytes > 0 ? bytes : std::min(character_bytes(text.front()), text.size());
}

SentencePieceEncoder::Spans SentencePieceEncoder::cut_by_merges(std::string_view text) const {
    std::vector<MergeSymbol> symbols;
    for (std::size_t at = 0; at < text.size(); at += symbols.back().bytes) {
        const auto number = static_cast<std::uint32_t>(symbols.size());
        MergeSymbol symbol{static_cast<std::uint32_t>(at), 0, number - 1, number + 1, false};  // 0 - 1 is kNoSymbol
        symbol.bytes = static_cast<std::uint32_t>(next_symbol(text.substr(at), symbol.frozen));
        symbols.push_back(symbol);
    }
    if (symbols.empty()) return {};
    symbols.back().next = kNoSymbol;
    std::priority_queue<MergePair> queue;
    Halves halves;
    const auto look = [&](std::uint32_t left, std::uint32_t right) {
        if (left == kNoSymbol || right == kNoSymbol || symbols[left].frozen || symbols[right].frozen) return;
        const std::uint32_t bytes = symbols[left].bytes + symbols[right].bytes;
        const std::string_view piece = text.substr(symbols[left].begin, bytes);
        const auto id = pieces_.find(piece);
        if (!id) return;
        queue.push({model_.pieces[*id].score, left, right, bytes});
        if (has_unused_ && is(*id, SentencePieceModel::Type::unused)) halves[piece] = symbols[left].bytes;
    };
    for (std::uint32_t n = 1; n < symbols.size(); ++n) look(n - 1, n);
    while (!queue.empty()) {
        const MergePair best = queue.top();
        queue.pop();
        MergeSymbol& left = symbols[best.left];
        MergeSymbol& right = symbols[best.right];
        if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != best.bytes) continue;  // of the past
        left.bytes = best.bytes;
        right.bytes = 0;
        left.next = right.next;
        if (left.next != kNoSymbol) symbols[left.next].previous = best.left;
        look(left.previous, best.left);
        look(best.left, left.next);
    }
    Spans spans;
    for (std::uint32_t n = 0; n != kNoSymbol; n = symbols[n].next)
        add_used(text, {symbols[n].begin, symbols[n].begin + symbols[n].bytes, 0}, halves, spans);
    return spans;
}

void SentencePieceEncoder::add_used(std::string_view text, const PieceSpan& whole, const Halves& halves,
                                    Spans& spans) const {
    Spans open = {whole};
    while (!open.empty()) {
        PieceSpan span = open.back();
        open.pop_back();
        const std::string_view piece = text.substr(span.begin, span.end - span.begin);
        span.id = id(piece);
        const auto half = is(span.id, SentencePieceModel::Type::unused) ? halves.find(piece) : halves.end();
        if (half == halves.end()) {
            spans.push_back(span);
            continue;
        }
        open.push_back({span.begin + half->second, span.end, 0});
        open.push_back({span.begin, span.begin + half->second, 0});
    }
}

SentencePieceEncoder::Spans SentencePieceEncoder::cut_words(std::string_view text) const {
    Spans spans;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(kEscapedBlank, begin + 1), text.size());
        spans.push_back({begin, end, id(text.substr(begin, end - begin))});
        begin = end;
    }
    return spans;
}

SentencePieceEncoder::Spans SentencePieceEncoder::cut_characters(std::string_view text) const {
    Spans spans;
    bool user_defined = false;
    for (std::size_t begin = 0; begin < text.size(); begin = spans.back().end) {
        const std::size_t end = begin + next_symbol(text.substr(begin), user_defined);
        spans.push_back({begin, end, id(text.substr(begin, end - begin))});
    }
    return spans;
}

SentencePieceEncoder::Spans SentencePieceEncoder::cut(std::string_view text) const {
    LOCUS_CHECK(text.size() < kNoSymbol,
                "the text has " + std::to_string(text.size()) + " bytes, expected less than 4 GiB");
    Spans spans;
    switch (model_.kind) {
        case SentencePieceModel::Kind::bpe:
            return cut_by_merges(text);
        case SentencePieceModel::Kind::word:
            return cut_words(text);
        case SentencePieceModel::Kind::character:
            return cut_characters(text);
        case SentencePieceModel::Kind::unigram:
            spans = best_cut<float>(pieces_, scores_, unknown_score_, text);
            break;
    }
    for (PieceSpan& span : spans)
        if (span.id == PieceSpan::kUnknownSpan) span.id = static_cast<std::int64_t>(model_.unknown);
    return spans;
}

std::vector<Piece> SentencePieceEncoder::encode(std::string_view text) const {
    const std::string normal = normalize(text);
    std::vector<Piece> pieces;
    bool after_unknown = false;
    for (const PieceSpan& span : cut(normal)) {
        const auto part = std::string_view(normal).substr(span.begin, span.end - span.begin);
        LOCUS_CHECK(
            !is(span.id, SentencePieceModel::Type::control),
            "the text cannot be tokenized: it holds " + excerpt(std::string(part)) + ", the name of a control piece");
        const bool unknown = span.id == static_cast<std::int64_t>(model_.unknown);
        if (unknown && model_.byte_fallback) {
            for (const char letter : part) {
                const std::int64_t id = byte_ids_[static_cast<unsigned char>(letter)];
                pieces.push_back({id, piece(id)});
            }
        } else if (unknown && after_unknown) {
            pieces.back().text += part;
        } else {
            pieces.push_back({span.id, std::string(part)});
        }
        after_unknown = unknown;
    }
    return pieces;
}

}  // namespace locus
