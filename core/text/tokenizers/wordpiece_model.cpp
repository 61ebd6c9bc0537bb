#include "core/text/tokenizers/wordpiece_model.h"

#include <algorithm>

#include "core/text/tokenizers/unicode.h"

namespace locus {

void WordPieceModel::cut(const std::string& word, std::vector<Piece>& pieces) const {
    std::vector<std::size_t> ends;  // of its characters
    for (std::size_t at = 0; at < word.size() && ends.size() <= longest_; ends.push_back(at)) next_character(word, at);
    if (ends.size() > longest_) {
        pieces.push_back(unknown_);
        return;
    }
    std::vector<Piece> found;
    std::size_t begin = 0;
    for (std::size_t first = 0; first < ends.size();) {
        const auto beyond = std::upper_bound(ends.begin(), ends.end(), begin + vocabulary_.longest());
        auto last = static_cast<std::size_t>(beyond - ends.begin());  // one past the last character of the piece
        for (; last > first; --last) {
            const std::string piece = (begin > 0 ? prefix_ : "") + word.substr(begin, ends[last - 1] - begin);
            if (const auto id = vocabulary_.find(piece)) {
                found.push_back({*id, piece});
                break;
            }
        }
        if (last <= first) {
            pieces.push_back(unknown_);
            return;
        }
        begin = ends[last - 1];
        first = last;
    }
    pieces.insert(pieces.end(), found.begin(), found.end());
}

}  // namespace locus
