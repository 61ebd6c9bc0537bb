#include "core/text/tokenizers/special_tokens.h"

#include <algorithm>
namespace locus {

namespace {

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
    std::size_t behind = end;
    return (begin > 0 && is_word_character(previous_character(text, begin))) ||
           (end < text.size() && is_word_character(next_character(text, behind)));
}

/// Begin of the white space that ends at `end`, not before `limit`.
std::size_t blanks_before(std::string_view text, std::size_t end, std::size_t limit, SpecialTokens::IsBlank is_blank) {
    while (end > limit && is_blank(previous_character(text, end))) {
        do --end;
        while (end > limit && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
    }
    return end;
}

std::size_t blanks_behind(std::string_view text, std::size_t begin, SpecialTokens::IsBlank is_blank) {
    for (std::size_t at = begin; at < text.size(); begin = at)
        if (!is_blank(next_character(text, at))) break;
    return begin;
}

}  // namespace

void SpecialTokens::add(const SpecialToken& token) {
    if (token.name.empty()) return;
    const auto [there, added] = by_name_.emplace(token.name, tokens_.size());
    if (!added) {
        tokens_[there->second] = token;
        return;
    }
    tokens_.push_back(token);
    lengths_[static_cast<unsigned char>(token.name.front())].insert(token.name.size());
}

const SpecialToken* SpecialTokens::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tokens_[found->second];
}

const SpecialToken* SpecialTokens::find(std::int64_t id) const {
    const auto found = std::find_if(tokens_.begin(), tokens_.end(), [&](const auto& one) { return one.id == id; });
    return found == tokens_.end() ? nullptr : &*found;
}

const SpecialToken* SpecialTokens::at(std::string_view text, std::size_t place) const {
    const std::string_view rest = text.substr(place);
    for (const std::size_t length : lengths_[static_cast<unsigned char>(rest.front())])
        if (length <= rest.size())
            if (const SpecialToken* token = find(rest.substr(0, length))) return token;
    return nullptr;
}

std::vector<SpecialTokens::Section> SpecialTokens::cut(std::string_view text) const {
    std::vector<Section> sections;
    std::size_t done = 0;  // the end of the last section
    for (std::size_t place = 0; place < text.size();) {
        const SpecialToken* token = at(text, place);
        if (!token) {
            ++place;
            continue;
        }
        std::size_t begin = place, end = place + token->name.size();
        place = end;
        if (token->single_word && touches_word(text, begin, end)) continue;
        begin = std::max(begin, done);  // the white space of the token before may reach into this one's
        if (token->takes_left) begin = blanks_before(text, begin, done, is_blank_);
        if (token->takes_right) end = blanks_behind(text, end, is_blank_);
        if (begin > done) sections.push_back({text.substr(done, begin - done), nullptr});
        sections.push_back({text.substr(place - token->name.size(), token->name.size()), token});
        done = end;
        if (edition_ == Edition::python) place = end;
    }
    if (done < text.size()) sections.push_back({text.substr(done), nullptr});
    return sections;
}

}  // namespace locus
