#pragma once
// The normalisation that SentencePiece trained with, as tokenizer.json carries it: a table of replacements.
// Source: google/sentencepiece normalizer.cc; huggingface/spm_precompiled lib.rs.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// Replacements for grapheme clusters and characters, found through a double-array trie.
class Charsmap {
public:
    /// `bytes`: uint32 size of the trie, the trie's uint32 units (little endian), the replacements, each ended by 0.
    /// Throws Error(unreadable) that begins with `location` if the sizes do not fit.
    Charsmap(std::string_view bytes, const std::string& location);

    /// A grapheme cluster of less than 6 bytes is looked up as a whole, then its characters one by one; what is not in
    /// the table stays.  The lookup ends at the shortest entry that the cluster begins with, and the rest of the
    /// cluster goes with it, as in the Rust library (SentencePiece itself takes the longest).
    std::string apply(const std::string& text) const;

private:
    const std::string* find(std::string_view key) const;

    std::vector<std::uint32_t> trie_;
    std::vector<std::pair<std::size_t, std::string>> replacements_;  // by their place in the file, sorted
};

/// Bytes of a base64 text.  Throws Error(unreadable) that begins with `location` for any other character.
std::string decode_base64(std::string_view text, const std::string& location);

}  // namespace locus
