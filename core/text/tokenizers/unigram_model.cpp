#include "core/text/tokenizers/unigram_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/tokenizers/byte_pair_encoding.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

constexpr double kUnknownPenalty = 10;  // below the least likely piece, as in unigram_model.cc
constexpr std::uint32_t kNoWay = std::numeric_limits<std::uint32_t>::max();

/// The best way to a place in the text.
template <class Sum>
struct UnigramStep {
    Sum sum = 0;
    std::uint32_t from = kNoWay;
    std::int32_t id = 0;  // of the piece that ends here
};

}  // namespace

template <class Sum>
std::vector<PieceSpan> best_cut(const PieceTrie& pieces, const std::vector<double>& scores,
                                std::optional<Sum> unknown_score, std::string_view text) {
    LOCUS_CHECK(text.size() < kNoWay,
                "the text has " + std::to_string(text.size()) + " bytes, expected less than 4 GiB");
    std::vector<UnigramStep<Sum>> steps(text.size() + 1);
    for (std::size_t from = 0; from < text.size();) {
        const Sum before = steps[from].sum;
        const std::size_t character = from + std::min(character_bytes(text[from]), text.size() - from);
        bool covered = false;  // is there a piece of just this character?
        const auto reach = [&](std::size_t to, auto sum, std::int32_t id) {
            UnigramStep<Sum>& step = steps[to];
            if (step.from == kNoWay || sum > step.sum)
                step = {static_cast<Sum>(sum), static_cast<std::uint32_t>(from), id};
        };
        pieces.for_each_prefix(text.substr(from), [&](std::size_t bytes, std::uint32_t id) {
            const double score = scores[id];
            if (score == -std::numeric_limits<double>::infinity()) return;
            reach(from + bytes, score + before, static_cast<std::int32_t>(id));
            covered = covered || from + bytes == character;
        });
        if (!covered) {
            LOCUS_CHECK(unknown_score, "the text has a character without a piece, and the model has no unknown one");
            reach(character, *unknown_score + before, static_cast<std::int32_t>(PieceSpan::kUnknownSpan));
        }
        from = character;
    }
    std::vector<PieceSpan> spans;
    for (std::size_t end = text.size(); end > 0; end = steps[end].from)
        spans.push_back({steps[end].from, end, steps[end].id});
    std::reverse(spans.begin(), spans.end());
    return spans;
}

template std::vector<PieceSpan> best_cut<float>(const PieceTrie&, const std::vector<double>&, std::optional<float>,
                                                std::string_view);
template std::vector<PieceSpan> best_cut<double>(const PieceTrie&, const std::vector<double>&, std::optional<double>,
                                                 std::string_view);
UnigramModel::UnigramModel(const std::vector<std::pair<std::string, double>>& pieces,
                           std::optional<std::size_t> unknown, bool byte_fallback, const std::string& location)
    : byte_fallback_(byte_fallback) {
    if (pieces.empty()) throw Error(Fault::unreadable, location + ": holds no piece, expected a vocabulary");
    if (unknown && *unknown >= pieces.size())
        throw Error(Fault::unreadable, location + ": unk_id is " + std::to_string(*unknown) +
                                           ", expected less than the " + std::to_string(pieces.size()) + " pieces");
    if (unknown) unknown_ = static_cast<std::int64_t>(*unknown);
    double least = pieces.front().second;
    std::vector<PieceTrie::Entry> entries;
    for (const auto& [piece, score] : pieces) {
        const auto id = static_cast<std::int64_t>(scores_.size());
        if (piece.empty() || !std::isfinite(score))
            throw Error(Fault::unreadable, location + ": piece " + std::to_string(id) + " is " + excerpt(piece) +
                                               ", expected text with a finite score");
        vocabulary_.add(piece, id, location);
        entries.emplace_back(piece, static_cast<std::uint32_t>(id));
        scores_.push_back(score);
        least = std::min(least, score);
    }
    if (unknown_) unknown_score_ = least - kUnknownPenalty;
    trie_ = PieceTrie(std::move(entries), location);
}

void UnigramModel::add_unknown(const std::string& text, std::vector<Piece>& pieces) const {
    if (const auto id = vocabulary_.find(text))  // the unknown piece written out
        pieces.push_back({*id, text});
    else if (const auto bytes = byte_fallback_ ? byte_pieces(text, *this) : std::nullopt)
        pieces.insert(pieces.end(), bytes->begin(), bytes->end());
    else
        pieces.push_back({*unknown_, text});
}

void UnigramModel::cut(const std::string& word, std::vector<Piece>& pieces) const {
    std::string unknown;  // a run of unknown characters
    for (const PieceSpan& span : best_cut(trie_, scores_, unknown_score_, word)) {
        const std::string text = word.substr(span.begin, span.end - span.begin);
        if (span.id == PieceSpan::kUnknownSpan || span.id == unknown_) {
            unknown += text;
            continue;
        }
        if (!unknown.empty()) add_unknown(unknown, pieces);
        unknown.clear();
        pieces.push_back({span.id, text});
    }
    if (!unknown.empty()) add_unknown(unknown, pieces);
}

}  // namespace locus
