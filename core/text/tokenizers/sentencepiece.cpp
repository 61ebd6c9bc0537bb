#include "core/text/tokenizers/sentencepiece.h"

#include <sentencepiece_processor.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <algorithm>
#include <memory>

#include "core/check.h"
#include "core/text/tokenizers/token_frame.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

// --- replacements ----------------------------------------------------------------------------------------------------

namespace {

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t n = 4; n > 0; --n) value = value << 8 | static_cast<unsigned char>(bytes[at + n - 1]);
    return value;
}

// A unit of darts-clone: label in the low byte, whether a value hangs below, and the way to the children.
bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) == 1; }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000FF; }
std::size_t offset_of(std::uint32_t unit) { return static_cast<std::size_t>(unit >> 10) << ((unit & 0x200) >> 6); }

/// Ends of the grapheme clusters of a text, in bytes.
std::vector<std::size_t> cluster_ends(const std::string& text) {
    UErrorCode error = U_ZERO_ERROR;
    UText view = UTEXT_INITIALIZER;
    utext_openUTF8(&view, text.data(), static_cast<std::int64_t>(text.size()), &error);
    const std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> breaks(
        ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &error), ubrk_close);
    std::vector<std::size_t> ends;
    if (U_SUCCESS(error)) ubrk_setUText(breaks.get(), &view, &error);
    if (U_SUCCESS(error))
        for (std::int32_t end = ubrk_next(breaks.get()); end != UBRK_DONE; end = ubrk_next(breaks.get()))
            ends.push_back(static_cast<std::size_t>(end));
    utext_close(&view);
    if (U_FAILURE(error)) throw Error(Fault::unsupported, "ICU knows no grapheme clusters: its data is missing");
    return ends;
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& location) {
    const std::size_t size = bytes.size() < 4 ? 0 : little_endian(bytes, 0);
    if (size < 4 || size % 4 != 0 || size > bytes.size() - 4)
        throw Error(Fault::unreadable, location + ": the table says that its trie has " + std::to_string(size) +
                                           " bytes, expected a multiple of 4 within " + std::to_string(bytes.size()));
    for (std::size_t at = 4; at < size + 4; at += 4) trie_.push_back(little_endian(bytes, at));
    const std::string_view rest = bytes.substr(size + 4);
    if (repair_utf8(std::string(rest)).replaced > 0)
        throw Error(Fault::unreadable, location + ": a replacement is not UTF-8");
    for (std::size_t at = 0; at < rest.size();) {
        const std::size_t end = std::min(rest.find('\0', at), rest.size());
        replacements_.emplace_back(at, rest.substr(at, end - at));
        at = end + 1;
    }
}

const std::string* Charsmap::find(std::string_view key) const {
    std::size_t at = offset_of(trie_.front());
    for (const char letter : key) {
        const auto byte = static_cast<unsigned char>(letter);
        at ^= byte;
        if (byte == 0 || at >= trie_.size() || label_of(trie_[at]) != byte) return nullptr;
        const bool ends = has_value(trie_[at]);
        at ^= offset_of(trie_[at]);
        if (at >= trie_.size()) return nullptr;
        if (!ends) continue;
        const std::size_t place = value_of(trie_[at]);
        const auto found = std::lower_bound(replacements_.begin(), replacements_.end(), place,
                                            [](const auto& one, std::size_t wanted) { return one.first < wanted; });
        return found != replacements_.end() && found->first == place ? &found->second : nullptr;
    }
    return nullptr;
}

std::string Charsmap::apply(const std::string& text) const {
    std::string changed;
    std::size_t begin = 0;
    for (const std::size_t end : cluster_ends(text)) {
        const std::string_view cluster = std::string_view(text).substr(begin, end - begin);
        begin = end;
        if (const std::string* whole = cluster.size() < 6 ? find(cluster) : nullptr) {
            changed += *whole;
            continue;
        }
        for (std::size_t at = 0; at < cluster.size();) {
            const std::size_t start = at;
            next_character(cluster, at);
            const std::string_view character = cluster.substr(start, at - start);
            if (const std::string* one = find(character))
                changed += *one;
            else
                changed += character;
        }
    }
    return changed;
}

std::string decode_base64(std::string_view text, const std::string& location) {
    static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (text.ends_with('=')) text.remove_suffix(1);
    std::string bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char digit : text) {
        const std::size_t value = kDigits.find(digit);
        if (value == std::string_view::npos) throw Error(Fault::unreadable, location + ": is not base64");
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        count += 6;
        if (count >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
    }
    return bytes;
}

// --- text of XLNet ---------------------------------------------------------------------------------------------------

namespace {

const std::string kWordMark = "\u2581";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

std::string one_blank_each(const std::string& text) {
    std::string joined;
    for_each_run(text, is_python_space, [&](std::size_t begin, std::size_t end) {
        joined += (joined.empty() ? "" : " ") + text.substr(begin, end - begin);
    });
    return joined;
}

/// str.isdigit of Python: decimal digits, superscripts and the like, by the property Numeric_Type.
bool is_python_digit(char32_t character) {
    const int type = u_getIntPropertyValue(static_cast<UChar32>(character), UCHAR_NUMERIC_TYPE);
    return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}

bool ends_in_digit_comma(const std::string& piece) {
    return piece.size() > 1 && piece.back() == ',' && is_python_digit(previous_character(piece, piece.size() - 1));
}

}  // namespace

std::string prepare_xlnet_text(const std::string& text, const XlnetText& options) {
    std::string prepared = options.remove_space ? one_blank_each(text) : text;
    replace_all(prepared, "``", "\"");
    replace_all(prepared, "''", "\"");
    if (!options.keep_accents) prepared = without(normalize(prepared, NormalForm::nfkd), is_combining);
    if (options.lower_case) prepared = lower_case(prepared);
    return prepared;
}

std::vector<std::string> cut_digit_commas(const std::vector<std::string>& pieces,
                                          const std::function<std::vector<std::string>(const std::string&)>& encode) {
    std::vector<std::string> cut;
    for (const std::string& piece : pieces) {
        if (!ends_in_digit_comma(piece)) {
            cut.push_back(piece);
            continue;
        }
        std::string number = piece.substr(0, piece.size() - 1);
        replace_all(number, kWordMark, "");
        std::vector<std::string> parts = encode(number);
        if (!piece.starts_with(kWordMark) && !parts.empty() && parts.front().starts_with(kWordMark)) {
            parts.front().erase(0, kWordMark.size());
            if (parts.front().empty()) parts.erase(parts.begin());
        }
        cut.insert(cut.end(), parts.begin(), parts.end());
        cut.push_back(",");
    }
    return cut;
}

// --- the tokenizers --------------------------------------------------------------------------------------------------

namespace {

namespace fs = std::filesystem;

using Pieces = std::vector<std::string>;

class SentencePieceCutter : public TextCutter {
public:
    SentencePieceCutter(const fs::path& model, bool lower) : lower_case_(lower) {
        if (!processor_.Load(model.string()).ok())
            throw Error(Fault::unreadable, model.string() + ": not a SentencePiece model");
    }

    void cut(const std::string& text, bool, std::vector<Piece>& pieces) const override {
        for (const std::string& one : pieces_of(lower_case_ ? lower_case_by_character(text) : text))
            pieces.push_back({processor_.PieceToId(one), one});
    }
    std::optional<std::string> piece(std::int64_t id) const override {
        if (id < 0 || id >= size()) return std::nullopt;
        return processor_.IdToPiece(static_cast<int>(id));
    }
    std::optional<std::int64_t> find(const std::string& name) const {
        const int id = processor_.PieceToId(name);
        return processor_.IdToPiece(id) == name ? std::optional<std::int64_t>(id) : std::nullopt;
    }
    std::int64_t size() const { return processor_.GetPieceSize(); }

protected:
    virtual Pieces pieces_of(const std::string& text) const { return encode(text); }

    Pieces encode(const std::string& text) const {
        Pieces pieces;
        const auto status = processor_.Encode(text, &pieces);
        LOCUS_CHECK(status.ok(), "the text cannot be tokenized: " + status.ToString());
        return pieces;
    }

private:
    sentencepiece::SentencePieceProcessor processor_;
    bool lower_case_ = false;
};

class XlnetCutter : public SentencePieceCutter {
public:
    XlnetCutter(const fs::path& model, const XlnetText& options)
        : SentencePieceCutter(model, options.lower_case), options_(options) {}

private:
    Pieces pieces_of(const std::string& text) const override {
        return cut_digit_commas(encode(prepare_xlnet_text(text, options_)),
                                [this](const std::string& part) { return encode(part); });
    }

    XlnetText options_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_deberta_sentencepiece(const fs::path& model, const TokenizerFiles& files) {
    auto cutter = std::make_unique<SentencePieceCutter>(model, files.flag("do_lower_case").value_or(false));
    const auto find = [&](const std::string& name) -> std::optional<std::int64_t> {
        const auto id = cutter->find(name);
        return id || name != "[MASK]" ? id : cutter->size();
    };
    TokenFrame frame = make_frame(files, bert_frame(model.string()), find);
    if (!frame.pad) throw Error(Fault::unreadable, model.string() + ": has no piece [PAD], DeBERTa needs one");
    return std::make_unique<FramedTokenizer>(std::move(frame), std::move(cutter));
}

std::unique_ptr<Tokenizer> open_xlnet_sentencepiece(const fs::path& model, const TokenizerFiles& files) {
    XlnetText options;
    options.lower_case = files.flag("do_lower_case").value_or(false);
    options.keep_accents = files.flag("keep_accents").value_or(false);
    options.remove_space = files.flag("remove_space").value_or(true);
    auto cutter = std::make_unique<XlnetCutter>(model, options);
    FrameDefaults defaults;
    defaults.roles = {{"cls_token", "<cls>"},
                      {"sep_token", "<sep>"},
                      {"pad_token", "<pad>"},
                      {"unk_token", "<unk>"},
                      {"mask_token", "<mask>", /*takes_left=*/true},
                      {"bos_token", "<s>"},
                      {"eos_token", "</s>"}};
    defaults.behind = {"sep_token", "cls_token"};
    defaults.pads_left = true;
    defaults.vocabulary = model.string();
    const auto find = [&](const std::string& name) { return cutter->find(name); };
    TokenFrame frame = make_frame(files, defaults, find);
    if (files.more().empty())
        for (const char* name : {"<eop>", "<eod>"})
            if (const auto id = find(name); id && !frame.specials.find(name)) frame.specials.add({name, *id});
    return std::make_unique<FramedTokenizer>(std::move(frame), std::move(cutter));
}

}  // namespace locus
