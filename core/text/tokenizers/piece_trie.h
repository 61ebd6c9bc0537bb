#pragma once
// A set of pieces as a double-array trie: which of them does a text begin with, and which one is it?
// Source: Aoe 1989, "An efficient digital search algorithm by using a double-array structure".
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace locus {

class PieceTrie {
public:
    using Entry = std::pair<std::string_view, std::uint32_t>;  // a piece and its id

    PieceTrie() : PieceTrie({}, "") {}
    /// `pieces`: each different from the others and not empty; any bytes, a zero too.  The texts are not kept.
    /// Throws Error(unreadable) that begins with `location` if an id is above 8 388 605.
    PieceTrie(std::vector<Entry> pieces, const std::string& location);

    /// Id of exactly this piece.
    std::optional<std::uint32_t> find(std::string_view piece) const;

    /// Bytes of the longest piece that the text begins with; 0: none.
    std::size_t longest_prefix(std::string_view text) const {
        std::size_t longest = 0;
        for_each_prefix(text, [&](std::size_t bytes, std::uint32_t) { longest = bytes; });
        return longest;
    }

    /// Calls visit(bytes, id) for every piece that the text begins with, the shortest first.
    template <class Visit>
    void for_each_prefix(std::string_view text, Visit visit) const {
        const Unit* unit = units_.data();
        for (std::size_t n = 0; n < text.size(); ++n) {
            const auto byte = static_cast<unsigned char>(text[n]);
            unit = units_.data() + (unit->children ^ byte);
            if (unit->label() != byte) return;
            if (const std::uint32_t value = unit->value()) visit(n + 1, value - 1);
        }
    }

private:
    // A node of the trie.  The child by `byte` is unit children ^ byte, if that unit has the byte for its label.  Units
    // come in blocks of 256 and an xor with a byte stays within its block, so no index leaves the array.  The first
    // block holds the root alone: a node without children points there and finds no label that fits.
    struct Unit {
        std::uint32_t children = 0;
        std::uint32_t label_value = kNoLabel;  // 9 bits of label; above them the id + 1, or 0 where no piece ends

        std::uint32_t label() const { return label_value & 0x1FF; }
        std::uint32_t value() const { return label_value >> 9; }
    };
    static constexpr std::uint32_t kNoLabel = 0x100;  // fits no byte
    class Builder;

    std::vector<Unit> units_;
};

}  // namespace locus
