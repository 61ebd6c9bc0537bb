#include "core/text/tokenizers/vocabulary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

constexpr std::int64_t kLargestPieceId = 999'999'999;

}  // namespace

void Vocabulary::add(const std::string& piece, std::int64_t id, const std::string& location) {
    if (id < 0 || id > kLargestPieceId)
        throw Error(Fault::unreadable, location + ": " + excerpt(piece) + " has the id " + std::to_string(id) +
                                           ", expected one from 0 to " + std::to_string(kLargestPieceId));
    if (const auto [there, added] = ids_.emplace(piece, id); !added)
        throw Error(Fault::unreadable, location + ": the piece " + excerpt(piece) + " is there twice, with the ids " +
                                           std::to_string(there->second) + " and " + std::to_string(id));
    if (const auto [there, added] = pieces_.emplace(id, piece); !added)
        throw Error(Fault::unreadable, location + ": the id " + std::to_string(id) + " belongs to " +
                                           excerpt(there->second) + " and to " + excerpt(piece));
    longest_ = std::max(longest_, piece.size());
}

std::optional<std::int64_t> Vocabulary::find(std::string_view piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> Vocabulary::piece(std::int64_t id) const {
    const auto found = pieces_.find(id);
    return found == pieces_.end() ? std::nullopt : std::optional(found->second);
}

Vocabulary read_vocab_txt(const std::filesystem::path& file) {
    Vocabulary vocabulary;
    std::int64_t id = 0;
    for (const std::string& line : lines_of(read_model_file(file))) {
        const std::string location = file.string() + ": line " + std::to_string(id + 1);
        if (line.empty()) throw Error(Fault::unreadable, location + " is blank, expected a piece");
        if (repair_utf8(line).replaced > 0) throw Error(Fault::unreadable, location + " is not UTF-8");
        vocabulary.add(line, id++, location);
    }
    if (vocabulary.size() == 0)
        throw Error(Fault::unreadable, file.string() + ": holds no piece, expected a vocabulary");
    return vocabulary;
}

Vocabulary read_vocab_json(const nlohmann::json& vocab, const std::string& location) {
    if (!vocab.is_object())
        throw Error(Fault::unreadable, location + " is " + excerpt(vocab) + ", expected an object of pieces and ids");
    Vocabulary vocabulary;
    for (const auto& [piece, id] : vocab.items()) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestPieceId))
            throw Error(Fault::unreadable, location + ": " + excerpt(piece) + " is " + excerpt(id) +
                                               ", expected a whole number from 0 to " +
                                               std::to_string(kLargestPieceId));
        vocabulary.add(piece, id.get<std::int64_t>(), location);
    }
    if (vocabulary.size() == 0) throw Error(Fault::unreadable, location + ": holds no piece, expected a vocabulary");
    return vocabulary;
}

}  // namespace locus
