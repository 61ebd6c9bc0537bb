#pragma once
// Cuts a text as a SentencePiece model does: normalise, cut into pieces (unigram, BPE, words or characters), and spell
// what no piece covers by bytes where the model says so.  Ids equal those of
// libsentencepiece 0.1.97 to 0.2.1; from 0.2.2 on its unigram search breaks ties the other way.
// Source: google/sentencepiece sentencepiece_processor.cc, normalizer.cc, unigram_model.cc, bpe_model.cc.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/tokenizers/charsmap.h"
#include "core/text/tokenizers/piece_trie.h"
#include "core/text/tokenizers/sentencepiece_model.h"
#include "core/text/tokenizers/unigram_model.h"

namespace locus {

class SentencePieceEncoder {
public:
    /// Throws Error(unreadable) that begins with `location` for a damaged table of replacements, and for a unigram
    /// model without a piece to cut.
    SentencePieceEncoder(SentencePieceModel model, const std::string& location);

    /// Pieces of a text, which may be any bytes: one that is not UTF-8 counts as U+FFFD.  Neighbouring unknown
    /// characters are one piece.  Throws Error(usage) if the text holds the name of a control piece that a BPE, word or
    /// character model would cut (the library refuses it too), and for a text of 4 GiB.
    std::vector<Piece> encode(std::string_view text) const;

    /// What the model cuts: replacements, blanks, U+2581.
    std::string normalize(std::string_view text) const;

    /// Id of a piece, names of control pieces first; that of the unknown piece for any other text.
    std::int64_t id(std::string_view piece) const;
    /// `id` from 0 to size() - 1.
    const std::string& piece(std::int64_t id) const { return model_.pieces[static_cast<std::size_t>(id)].text; }
    std::int64_t size() const { return static_cast<std::int64_t>(model_.pieces.size()); }

private:
    using Spans = std::vector<PieceSpan>;

    void set_scores(const std::string& location);
    Charsmap::Match next_replacement(std::string_view text) const;
    std::size_t next_symbol(std::string_view text, bool& user_defined) const;
    Spans cut(std::string_view text) const;
    Spans cut_by_merges(std::string_view text) const;
    using Halves = std::unordered_map<std::string_view, std::size_t>;
    /// Adds a piece, or, if it is of the type unused, the pieces it was merged from.  `halves`: an unused piece -> the
    /// bytes of the first of the two that made it.
    void add_used(std::string_view text, const PieceSpan& whole, const Halves& halves, Spans& spans) const;
    Spans cut_words(std::string_view text) const;
    Spans cut_characters(std::string_view text) const;
    bool is(std::int64_t id, SentencePieceModel::Type type) const {
        return model_.pieces[static_cast<std::size_t>(id)].type == type;
    }

    SentencePieceModel model_;
    std::optional<Charsmap> charsmap_;
    PieceTrie pieces_;        // normal, user-defined and unused ones: what text is cut into
    PieceTrie reserved_;      // control, unknown and byte pieces: no text of a unigram model becomes one
    PieceTrie user_defined_;  // are never changed nor cut
    bool has_user_defined_ = false, has_unused_ = false;
    std::vector<double> scores_;  // of the unigram search, by id
    float unknown_score_ = 0;
    std::array<std::int64_t, 256> byte_ids_{};
};

}  // namespace locus
