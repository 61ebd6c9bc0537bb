#include "core/text/tokenizers/unigram_model.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/tokenizers/byte_pair_encoding.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

constexpr double kUnknownPenalty = 10;  // below the least likely piece, as in unigram_model.cc

}  // namespace

UnigramModel::UnigramModel(const std::vector<std::pair<std::string, double>>& pieces,
                           std::optional<std::size_t> unknown, bool byte_fallback, const std::string& location)
    : byte_fallback_(byte_fallback) {
    if (pieces.empty()) throw Error(Fault::unreadable, location + ": holds no piece, expected a vocabulary");
    if (unknown && *unknown >= pieces.size())
        throw Error(Fault::unreadable, location + ": unk_id is " + std::to_string(*unknown) +
                                           ", expected less than the " + std::to_string(pieces.size()) + " pieces");
    if (unknown) unknown_ = static_cast<std::int64_t>(*unknown);
    double least = pieces.front().second;
    for (const auto& [piece, score] : pieces) {
        const auto id = static_cast<std::int64_t>(scores_.size());
        if (piece.empty() || !std::isfinite(score))
            throw Error(Fault::unreadable, location + ": piece " + std::to_string(id) + " is " + excerpt(piece) +
                                               ", expected text with a finite score");
        vocabulary_.add(piece, id, location);
        sorted_.emplace_back(piece, id);
        scores_.push_back(score);
        least = std::min(least, score);
    }
    unknown_score_ = least - kUnknownPenalty;
    std::sort(sorted_.begin(), sorted_.end());
}

std::vector<UnigramModel::Step> UnigramModel::best_steps(std::string_view word) const {
    std::vector<Step> steps(word.size() + 1);
    const auto reach = [&](std::size_t from, std::size_t to, std::int64_t id, double score) {
        if (steps[to].id < 0 || steps[from].score + score > steps[to].score)
            steps[to] = {steps[from].score + score, from, id};
    };
    for (std::size_t from = 0; from < word.size();) {
        std::size_t behind = from;  // the next character
        next_character(word, behind);
        bool covered = false;  // is there a piece of just this character?
        auto first = sorted_.begin(), last = sorted_.end();
        for (std::size_t at = from; at < word.size() && first != last; ++at) {  // pieces that begin with word[from..at]
            const std::size_t depth = at - from;
            const auto byte = [depth](const auto& piece) {
                return depth < piece.first.size() ? static_cast<unsigned char>(piece.first[depth]) : -1;
            };
            const int wanted = static_cast<unsigned char>(word[at]);
            first = std::partition_point(first, last, [&](const auto& piece) { return byte(piece) < wanted; });
            last = std::partition_point(first, last, [&](const auto& piece) { return byte(piece) <= wanted; });
            if (first == last || first->first.size() != depth + 1) continue;
            reach(from, at + 1, first->second, scores_[static_cast<std::size_t>(first->second)]);
            covered = covered || at + 1 == behind;
        }
        if (!covered) {
            LOCUS_CHECK(unknown_, "the text has a character without a piece, and the model has no unknown one");
            reach(from, behind, *unknown_, unknown_score_);
        }
        from = behind;
    }
    return steps;
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
    const std::vector<Step> steps = best_steps(word);
    std::vector<std::size_t> ends;
    for (std::size_t at = word.size(); at > 0; at = steps[at].from) ends.push_back(at);
    std::string unknown;  // a run of unknown characters
    for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
        const Step& step = steps[*end];
        const std::string text = word.substr(step.from, *end - step.from);
        if (unknown_ && step.id == *unknown_) {
            unknown += text;
            continue;
        }
        if (!unknown.empty()) add_unknown(unknown, pieces);
        unknown.clear();
        pieces.push_back({step.id, text});
    }
    if (!unknown.empty()) add_unknown(unknown, pieces);
}

}  // namespace locus
