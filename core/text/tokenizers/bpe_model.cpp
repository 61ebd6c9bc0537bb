#include "core/text/tokenizers/bpe_model.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/utf8.h"

namespace locus {

std::vector<std::int64_t> BpeModel::characters(const std::string& word) const {
    std::vector<std::int64_t> ids;
    bool unknown_before = false;
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t start = at;
        next_character(word, at);
        const std::string character = word.substr(start, at - start);
        if (const auto id = vocabulary_.find(character)) {
            ids.push_back(*id);
            unknown_before = false;
            continue;
        }
        if (options_.byte_fallback) {
            if (const auto bytes = byte_pieces(character, *this)) {
                for (const Piece& one : *bytes) ids.push_back(one.id);
                unknown_before = false;
                continue;
            }
        }
        if (options_.unknown && !(unknown_before && options_.fuse_unknown)) ids.push_back(options_.unknown->id);
        unknown_before = true;
    }
    return ids;
}

void BpeModel::cut(const std::string& word, std::vector<Piece>& pieces) const {
    if (const auto whole = options_.whole_words_first ? vocabulary_.find(word) : std::nullopt) {
        pieces.push_back({*whole, word});
        return;
    }
    for (const std::int64_t id : merges_.merge(characters(word), options_.order))
        pieces.push_back({id, vocabulary_.piece(id).value_or(options_.unknown ? options_.unknown->text : "")});
}

void add_merge(PairMerges& merges, const Vocabulary& vocabulary, const std::string& left, const std::string& right,
               const std::string& location) {
    std::int64_t ids[3];
    int n = 0;
    for (const std::string& piece : {left, right, left + right}) {
        const auto id = vocabulary.find(piece);
        if (!id)
            throw Error(Fault::unreadable, location + " merges " + excerpt(left) + " and " + excerpt(right) +
                                               ", but the vocabulary has no piece " + excerpt(piece));
        ids[n++] = *id;
    }
    if (!merges.add(ids[0], ids[1], ids[2]))
        throw Error(Fault::unreadable,
                    location + " merges " + excerpt(left) + " and " + excerpt(right) + " for the second time");
}

PairMerges read_merges_txt(const std::filesystem::path& file, const Vocabulary& vocabulary) {
    const std::vector<std::string> lines = read_lines(file);
    PairMerges merges;
    for (std::size_t n = 0; n < lines.size(); ++n) {
        if (n == 0 && lines[n].starts_with("#version")) continue;
        const std::string location = file.string() + ": line " + std::to_string(n + 1);
        const std::size_t blank = lines[n].find(' ');
        if (blank == 0 || blank == std::string::npos || blank + 1 == lines[n].size() ||
            lines[n].find(' ', blank + 1) != std::string::npos || repair_utf8(lines[n]).replaced > 0)
            throw Error(Fault::unreadable,
                        location + " is " + excerpt(lines[n]) + ", expected two pieces with one blank between them");
        add_merge(merges, vocabulary, lines[n].substr(0, blank), lines[n].substr(blank + 1), location);
    }
    return merges;
}

std::optional<std::vector<Piece>> byte_pieces(const std::string& text, const PieceModel& model) {
    std::vector<Piece> pieces;
    for (const char letter : text) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(static_cast<unsigned char>(letter)));
        const auto id = model.find(name);
        if (!id) return std::nullopt;
        pieces.push_back({*id, name});
    }
    return pieces;
}

}  // namespace locus
