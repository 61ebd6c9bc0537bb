#include "core/text/tokenizers/charsmap.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>

#include "core/check.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/utf8.h"

namespace locus {

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

}  // namespace locus
