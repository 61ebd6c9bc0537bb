#include "core/text/tokenizers/sentencepiece_model.h"

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "core/check.h"
#include "core/json_text.h"
#include "core/text/corpus/text_file.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

// --- the wire format -------------------------------------------------------------------------------------------------

namespace {

constexpr std::uintmax_t kLargestModelFile = std::uintmax_t{1} << 28;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroupBegin = 3, kGroupEnd = 4, kFixed32 = 5 };

/// One field of a message: its number, and the value that its wire type has.
struct WireField {
    std::uint32_t number = 0, type = kVarint;
    std::uint64_t value = 0;  // of a varint or of fixed bytes
    std::string_view bytes;   // of a string, of bytes or of a message inside this one
    std::size_t at = 0;       // where the field begins in the file
};

/// Reads the fields of one message; no byte outside it is touched.
class WireReader {
public:
    /// `begin`: where the message begins in the file, for messages.
    WireReader(std::string_view message, std::size_t begin, const std::string& location)
        : message_(message), begin_(begin), location_(location) {}
    /// A message that is a field of another one.
    WireReader(const WireField& field, const WireReader& around)
        : WireReader(field.bytes, around.begin_ + static_cast<std::size_t>(field.bytes.data() - around.message_.data()),
                     around.location_) {}

    std::optional<WireField> next() {
        if (at_ == message_.size()) return std::nullopt;
        WireField field;
        field.at = begin_ + at_;
        const std::uint64_t tag = varint();
        field.type = static_cast<std::uint32_t>(tag & 7);
        if (tag >> 32 != 0 || tag >> 3 == 0)
            throw_damaged(field.at, "the number of a field is " + std::to_string(tag >> 3) +
                                        ", expected one from 1 to 536870911");
        field.number = static_cast<std::uint32_t>(tag >> 3);
        switch (field.type) {
            case kVarint:
                field.value = varint();
                break;
            case kFixed64:
                field.value = little_endian(take(8));
                break;
            case kBytes:
                field.bytes = take(varint());
                break;
            case kFixed32:
                field.value = little_endian(take(4));
                break;
            default:
                throw_damaged(field.at, "a field has the wire type " + std::to_string(field.type) +
                                            ", expected 0, 1, 2 or 5 (groups are not part of this format)");
        }
        return field;
    }

    /// Throws Error(unreadable): "<location>: not a SentencePiece model: at byte <at> <what>".
    [[noreturn]] void throw_damaged(std::size_t at, const std::string& what) const {
        throw Error(Fault::unreadable,
                    location_ + ": not a SentencePiece model: at byte " + std::to_string(at) + " " + what);
    }

    /// A field that the model has must have the wire type that the format gives it.
    void expect(const WireField& field, WireType type, const char* name) const {
        if (field.type != type)
            throw_damaged(field.at, std::string(name) + " has the wire type " + std::to_string(field.type) +
                                        ", expected " + std::to_string(type));
    }

private:
    std::uint64_t varint() {
        const std::size_t start = at_;
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (at_ == message_.size()) throw_damaged(begin_ + start, "a number is cut off by the end of its message");
            const auto byte = static_cast<unsigned char>(message_[at_++]);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value;
        }
        throw_damaged(begin_ + start, "a number has more than 10 bytes");
    }

    std::string_view take(std::uint64_t size) {
        const std::size_t left = message_.size() - at_;
        if (size > left)
            throw_damaged(begin_ + at_, "a field says that it has " + std::to_string(size) +
                                            " bytes, expected at most the " + std::to_string(left) +
                                            " that are left of its message");
        const std::string_view taken = message_.substr(at_, static_cast<std::size_t>(size));
        at_ += taken.size();
        return taken;
    }

    static std::uint64_t little_endian(std::string_view bytes) {
        std::uint64_t value = 0;
        for (std::size_t n = bytes.size(); n > 0; --n) value = value << 8 | static_cast<unsigned char>(bytes[n - 1]);
        return value;
    }

    std::string_view message_;
    std::size_t begin_ = 0, at_ = 0;
    const std::string& location_;
};

// --- the messages ----------------------------------------------------------------------------------------------------
// A field that is there twice counts as its last one, and a message that is there twice as both together (protobuf).

SentencePieceModel::Entry read_entry(WireReader reader) {
    SentencePieceModel::Entry entry;
    while (const auto field = reader.next()) {
        if (field->number == 1) {
            reader.expect(*field, kBytes, "the text of a piece");
            entry.text = field->bytes;
        } else if (field->number == 2) {
            reader.expect(*field, kFixed32, "the score of a piece");
            entry.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
        } else if (field->number == 3) {
            reader.expect(*field, kVarint, "the type of a piece");
            if (field->value < 1 || field->value > 6)
                reader.throw_damaged(
                    field->at, "the type of a piece is " + std::to_string(field->value) + ", expected one from 1 to 6");
            entry.type = static_cast<SentencePieceModel::Type>(field->value);
        }
    }
    return entry;
}

void read_trainer(WireReader reader, SentencePieceModel& model, const std::string& location) {
    while (const auto field = reader.next()) {
        if (field->number == 3) {
            reader.expect(*field, kVarint, "model_type");
            if (field->value < 1 || field->value > 4)
                throw Error(Fault::unsupported, location + ": model_type is " + std::to_string(field->value) +
                                                    ", expected 1 (unigram), 2 (BPE), 3 (word) or 4 (character)");
            model.kind = static_cast<SentencePieceModel::Kind>(field->value);
        } else if (field->number == 24) {
            reader.expect(*field, kVarint, "treat_whitespace_as_suffix");
            model.whitespace_as_suffix = field->value != 0;
        } else if (field->number == 35) {
            reader.expect(*field, kVarint, "byte_fallback");
            model.byte_fallback = field->value != 0;
        }
    }
}

void read_normalizer_spec(WireReader reader, SentencePieceModel::Normalizer& normalizer) {
    while (const auto field = reader.next()) {
        if (field->number == 2) {
            reader.expect(*field, kBytes, "precompiled_charsmap");
            normalizer.charsmap = field->bytes;
        } else if (field->number == 3) {
            reader.expect(*field, kVarint, "add_dummy_prefix");
            normalizer.add_dummy_prefix = field->value != 0;
        } else if (field->number == 4) {
            reader.expect(*field, kVarint, "remove_extra_whitespaces");
            normalizer.remove_extra_whitespaces = field->value != 0;
        } else if (field->number == 5) {
            reader.expect(*field, kVarint, "escape_whitespaces");
            normalizer.escape_whitespaces = field->value != 0;
        }
    }
}

SentencePieceModel read_fields(std::string_view bytes, const std::string& location) {
    SentencePieceModel model;
    WireReader reader(bytes, 0, location);
    while (const auto field = reader.next()) {
        if (field->number == 1) {
            reader.expect(*field, kBytes, "a piece");
            model.pieces.push_back(read_entry({*field, reader}));
        } else if (field->number == 2) {
            reader.expect(*field, kBytes, "trainer_spec");
            read_trainer({*field, reader}, model, location);
        } else if (field->number == 3) {
            reader.expect(*field, kBytes, "normalizer_spec");
            read_normalizer_spec({*field, reader}, model.normalizer);
        }
    }
    return model;
}

// --- checks ----------------------------------------------------------------------------------------------------------

[[noreturn]] void throw_bad_piece(const SentencePieceModel& model, std::size_t id, const std::string& expected,
                                  const std::string& location) {
    throw Error(Fault::unreadable,
                location + ": piece " + std::to_string(id) + " is " + excerpt(model.pieces[id].text) + ", " + expected);
}

void check_pieces(SentencePieceModel& model, const std::string& location) {
    // Text that is cut becomes a normal, user-defined or unused piece; a name of another type may be the same text.
    std::unordered_map<std::string_view, std::size_t> cut, reserved;
    std::optional<std::size_t> unknown;
    for (std::size_t id = 0; id < model.pieces.size(); ++id) {
        const SentencePieceModel::Entry& piece = model.pieces[id];
        using Type = SentencePieceModel::Type;
        if (piece.text.empty() || piece.text.find('\0') != std::string::npos ||
            first_bad_byte(piece.text) < piece.text.size())
            throw_bad_piece(model, id, "expected UTF-8 text without a zero byte", location);
        if (!std::isfinite(piece.score))
            throw_bad_piece(model, id, "with the score " + std::to_string(piece.score) + ", expected a finite one",
                            location);
        const bool is_cut =
            piece.type == Type::normal || piece.type == Type::user_defined || piece.type == Type::unused;
        if (const auto [there, added] = (is_cut ? cut : reserved).emplace(piece.text, id); !added)
            throw_bad_piece(model, id, "and piece " + std::to_string(there->second) + " is too, expected each once",
                            location);
        if (piece.type == Type::byte && (!model.byte_fallback || byte_of_piece(piece.text) < 0))
            throw_bad_piece(model, id,
                            model.byte_fallback ? "of the type byte, expected <0x00> to <0xFF>"
                                                : "of the type byte, expected none without byte_fallback",
                            location);
        if (piece.type == Type::unknown && unknown)
            throw_bad_piece(model, id,
                            "a second unknown piece after piece " + std::to_string(*unknown) + ", expected one",
                            location);
        if (piece.type == Type::unknown) unknown = id;
    }
    if (!unknown)
        throw Error(Fault::unreadable, location + ": not a SentencePiece model: has no unknown piece among its " +
                                           std::to_string(model.pieces.size()) + ", expected one");
    model.unknown = *unknown;
}

void check_bytes(const SentencePieceModel& model, const std::string& location) {
    int count = 0;  // the pieces differ, so that 256 of them are all
    for (const SentencePieceModel::Entry& piece : model.pieces) count += piece.type == SentencePieceModel::Type::byte;
    if (model.byte_fallback && count != 256)
        throw Error(Fault::unreadable, location + ": byte_fallback is set and " + std::to_string(count) +
                                           " pieces are bytes, expected 256");
}

}  // namespace

int byte_of_piece(std::string_view piece) {
    static constexpr std::string_view kDigits = "0123456789ABCDEF";
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
    const std::size_t high = kDigits.find(piece[3]), low = kDigits.find(piece[4]);
    return high == std::string_view::npos || low == std::string_view::npos ? -1 : static_cast<int>(high * 16 + low);
}

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& location) {
    SentencePieceModel model = read_fields(bytes, location);
    check_pieces(model, location);
    check_bytes(model, location);
    return model;
}

SentencePieceModel read_sentencepiece_model(const std::filesystem::path& file) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
        throw Error(Fault::unreadable, file.string() + ": cannot be read, expected a file");
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    if (!error && size > kLargestModelFile)
        throw Error(Fault::unreadable, file.string() + ": has " + std::to_string(size) +
                                           " bytes, expected a SentencePiece model of at most " +
                                           std::to_string(kLargestModelFile));
    return parse_sentencepiece_model(read_model_file(file), file.string());
}

}  // namespace locus
