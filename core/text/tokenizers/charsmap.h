#pragma once
// The normalisation that SentencePiece trained with, as spm.model and tokenizer.json carry it: a table of replacements,
// found through a double-array trie.
// Source: google/sentencepiece normalizer.cc; huggingface/spm_precompiled lib.rs; s-yata/darts-clone darts.h.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

class Charsmap {
public:
    /// `bytes`: uint32 size of the trie, the trie's uint32 units (little endian), the replacements, each ended by 0.
    /// Throws Error(unreadable) that begins with `location` if the sizes do not fit, if the root leads out of the trie,
    /// if an entry leads to no replacement, or if a replacement is not UTF-8.
    Charsmap(std::string_view bytes, const std::string& location);

    struct Match {
        std::size_t bytes = 0;  // of the text that are replaced; 0: the table has no entry for its front
        std::string_view replacement;
    };
    /// The longest entry that the text begins with, as SentencePiece takes it.
    Match longest(std::string_view text) const;

    /// tokenizer.json: a grapheme cluster of less than 6 bytes is looked up as a whole, then its characters one by one;
    /// what is not in the table stays.  The lookup ends at the shortest entry that the cluster begins with, and the
    /// rest of the cluster goes with it, as in the Rust library (SentencePiece itself takes the longest).
    std::string apply(const std::string& text) const;

private:
    template <class Visit>
    void for_each_entry(std::string_view text, Visit visit) const;
    Match shortest(std::string_view text) const;
    void check_entries(const std::string& location) const;
    bool is_replacement(std::size_t place) const;
    std::string_view replacement(std::size_t place) const;

    std::vector<std::uint32_t> trie_;
    std::string replacements_;  // as in the file, ended by 0
};

/// Bytes of a base64 text.  Throws Error(unreadable) that begins with `location` for any other character.
std::string decode_base64(std::string_view text, const std::string& location);

}  // namespace locus
