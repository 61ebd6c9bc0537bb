#pragma once
// Pieces and their ids, the two files they come in (vocab.txt and vocab.json), and the interface of everything that
// cuts a word into pieces.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace locus {

struct Piece {
    std::int64_t id = 0;
    std::string text;
    bool special = false;
    std::string behind = {};  // the word that an unknown piece stands for, where `text` is the name of that piece
};

/// Cuts one word (whatever a pre-tokenizer calls a word) into pieces of a vocabulary: BPE, WordPiece, Unigram.
class PieceModel {
public:
    virtual ~PieceModel() = default;
    /// Adds the pieces of a word, which is UTF-8 and not empty.
    virtual void cut(const std::string& word, std::vector<Piece>& pieces) const = 0;
    /// Id of a piece of the vocabulary.
    virtual std::optional<std::int64_t> find(const std::string& piece) const = 0;
    /// Piece of an id; nothing if no piece has it.
    virtual std::optional<std::string> piece(std::int64_t id) const = 0;
};

/// One id per piece and one piece per id; ids may have holes.
class Vocabulary {
public:
    /// Throws Error(unreadable) that begins with `location` for a piece or an id that is there already, and for an id
    /// outside 0 ... 999 999 999.
    void add(const std::string& piece, std::int64_t id, const std::string& location);

    std::optional<std::int64_t> find(std::string_view piece) const;
    /// Nothing for an id that no piece has.
    std::optional<std::string> piece(std::int64_t id) const;
    std::size_t size() const { return ids_.size(); }
    /// Bytes of the longest piece.
    std::size_t longest() const { return longest_; }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
    std::unordered_map<std::int64_t, std::string> pieces_;
    std::size_t longest_ = 0;
};

/// vocab.txt: one piece per line, the id is the number of the line from 0.  Blank lines at the end do not count.
/// Throws Error(unreadable) that names the line if it is blank, not UTF-8 or there twice, or if there is no piece.
Vocabulary read_vocab_txt(const std::filesystem::path& file);

/// vocab.json, or the vocab of a model in tokenizer.json: {"piece": id}.
/// Throws Error(unreadable) that names the piece if an id is no whole number from 0 on, or there twice, or if there is
/// no piece.
Vocabulary read_vocab_json(const nlohmann::json& vocab, const std::string& location);

}  // namespace locus
