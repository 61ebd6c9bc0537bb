#include "core/text/tokenizers/charsmap.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>

#include "core/check.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

namespace {

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t n = 4; n > 0; --n) value = value << 8 | static_cast<unsigned char>(bytes[at + n - 1]);
    return value;
}

constexpr std::size_t kLongestReplacement = 256;

// A unit of darts-clone: label in the low byte, whether a value hangs below, and the way to the children; or the value
// itself, which the highest bit tells.
bool is_value(std::uint32_t unit) { return unit >> 31 == 1; }
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
    if (bytes.size() < 4)
        throw Error(Fault::unreadable, location + ": the table has " + std::to_string(bytes.size()) +
                                           " bytes, expected 4 for the length of its trie and more for the trie");
    if (size < 4 || size % 4 != 0 || size > bytes.size() - 4)
        throw Error(Fault::unreadable, location + ": the table says that its trie has " + std::to_string(size) +
                                           " bytes, expected a multiple of 4 from 4 to " +
                                           std::to_string(bytes.size() - 4));
    trie_.reserve(size / 4);
    for (std::size_t at = 4; at < size + 4; at += 4) trie_.push_back(little_endian(bytes, at));
    replacements_ = bytes.substr(size + 4);
    if (first_bad_byte(replacements_) < replacements_.size())
        throw Error(Fault::unreadable, location + ": a replacement is not UTF-8");
    if (!replacements_.empty() && replacements_.back() != '\0') replacements_ += '\0';
    // Unicode's own longest, NFKC of U+FDFA, has 33 bytes; a table of longer ones could fill the memory with one text.
    for (std::size_t begin = 0, end; begin < replacements_.size(); begin = end + 1) {
        end = replacements_.find('\0', begin);
        if (end - begin > kLongestReplacement)
            throw Error(Fault::unreadable, location + ": a replacement of " + std::to_string(end - begin) +
                                               " bytes, expected at most " + std::to_string(kLongestReplacement));
    }
    check_entries(location);
}

void Charsmap::check_entries(const std::string& location) const {
    if (offset_of(trie_.front()) >= trie_.size())
        throw Error(Fault::unreadable, location + ": the root of the trie leads to unit " +
                                           std::to_string(offset_of(trie_.front())) + ", expected one of the " +
                                           std::to_string(trie_.size()));
    for (std::size_t at = 0; at < trie_.size(); ++at) {
        if (is_value(trie_[at]) || !has_value(trie_[at])) continue;
        const std::size_t below = at ^ offset_of(trie_[at]);
        if (below >= trie_.size() || !is_replacement(value_of(trie_[below])))
            throw Error(Fault::unreadable, location + ": the entry that ends at unit " + std::to_string(at) +
                                               " of the trie leads to no replacement");
    }
}

bool Charsmap::is_replacement(std::size_t place) const {
    return place < replacements_.size() && (place == 0 || replacements_[place - 1] == '\0');
}

std::string_view Charsmap::replacement(std::size_t place) const {
    return std::string_view(replacements_).substr(place, replacements_.find('\0', place) - place);
}

/// Calls visit(bytes, place of the replacement) for every entry that the text begins with, the shortest first, until
/// it returns false.
template <class Visit>
void Charsmap::for_each_entry(std::string_view text, Visit visit) const {
    std::size_t at = offset_of(trie_.front());
    for (std::size_t n = 0; n < text.size(); ++n) {
        const auto byte = static_cast<unsigned char>(text[n]);
        at ^= byte;
        if (byte == 0 || at >= trie_.size() || label_of(trie_[at]) != byte) return;
        const bool ends = has_value(trie_[at]);
        at ^= offset_of(trie_[at]);
        if (at >= trie_.size()) return;
        if (ends && !visit(n + 1, value_of(trie_[at]))) return;
    }
}

Charsmap::Match Charsmap::shortest(std::string_view text) const {
    Match match;
    for_each_entry(text, [&](std::size_t bytes, std::uint32_t place) {
        match = {bytes, replacement(place)};
        return false;
    });
    return match;
}

Charsmap::Match Charsmap::longest(std::string_view text) const {
    std::size_t most = 0, found = 0;
    for_each_entry(text, [&](std::size_t bytes, std::uint32_t place) {
        most = bytes;
        found = place;
        return true;
    });
    return most == 0 ? Match() : Match{most, replacement(found)};
}

std::string Charsmap::apply(const std::string& text) const {
    std::string changed;
    std::size_t begin = 0;
    for (const std::size_t end : cluster_ends(text)) {
        const std::string_view cluster = std::string_view(text).substr(begin, end - begin);
        begin = end;
        if (const Match whole = cluster.size() < 6 ? shortest(cluster) : Match(); whole.bytes > 0) {
            changed += whole.replacement;
            continue;
        }
        for (std::size_t at = 0; at < cluster.size();) {
            const std::size_t start = at;
            next_character(cluster, at);
            const std::string_view character = cluster.substr(start, at - start);
            const Match one = shortest(character);
            changed += one.bytes > 0 ? one.replacement : character;
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
