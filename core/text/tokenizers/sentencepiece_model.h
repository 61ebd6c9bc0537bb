#pragma once
// What a SentencePiece model file (spm.model, spiece.model) holds: pieces with scores and types, the kind of model, and
// how a text is normalised before it is cut.  The file is a protobuf message; only its wire format is read here.
// Source: google/sentencepiece sentencepiece_model.proto, model_interface.cc; protobuf.dev/programming-guides/encoding.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

struct SentencePieceModel {
    enum class Kind { unigram = 1, bpe = 2, word = 3, character = 4 };
    enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

    struct Entry {
        std::string text;
        float score = 0;  // a log probability (unigram), or minus the rank of the merge (BPE)
        Type type = Type::normal;
    };

    /// The normaliser; the defaults are those of the format.
    struct Normalizer {
        std::string charsmap;                  // bytes of the table of replacements; empty: none
        bool add_dummy_prefix = true;          // a blank before the text, so that its first word is one like others
        bool remove_extra_whitespaces = true;  // at the ends, and all but one in a row
        bool escape_whitespaces = true;        // a blank becomes U+2581
    };

    Kind kind = Kind::unigram;
    std::vector<Entry> pieces;  // the id is the place in the list
    std::size_t unknown = 0;    // id of the one unknown piece
    bool byte_fallback = false;
    bool whitespace_as_suffix = false;  // the blank of add_dummy_prefix goes after the text
    Normalizer normalizer;
};

/// Reads the bytes of a model.  Fields of the format that are not in the struct are passed over.
/// Throws Error(unreadable) that begins with `location` and names the byte, or the piece and its field: lengths beyond
/// the end, damaged numbers, groups; a piece that is empty, not UTF-8, holds a zero byte or is there twice, a score
/// that is not finite; not exactly one unknown piece; byte pieces without byte_fallback, or not all 256 with it. Throws
/// Error(unsupported) for a kind of model that the format does not have.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& location);

/// Reads a file of at most 256 MiB.  Throws as above, and Error(unreadable) if it cannot be read.
SentencePieceModel read_sentencepiece_model(const std::filesystem::path& file);

/// The byte that a piece such as <0x0A> stands for, or -1.
int byte_of_piece(std::string_view piece);

}  // namespace locus
