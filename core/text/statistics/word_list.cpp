#include "core/text/statistics/word_list.h"

#include <algorithm>

namespace locus {

Index WordList::add(const std::string& word) {
    const auto [place, is_new] = numbers_.try_emplace(word, size());
    if (is_new) words_.push_back(word);
    return place->second;
}

std::optional<Index> WordList::find(const std::string& word) const {
    const auto place = numbers_.find(word);
    if (place == numbers_.end()) return std::nullopt;
    return place->second;
}

std::vector<Counted> count_each(const std::vector<std::string>& texts) {
    WordList distinct;
    std::vector<Counted> counted;
    for (const std::string& text : texts) {
        const auto number = static_cast<std::size_t>(distinct.add(text));
        if (number == counted.size()) counted.push_back({text, 0});
        ++counted[number].count;
    }
    return counted;
}

void sort_by_count(std::vector<Counted>& counted) {
    std::stable_sort(counted.begin(), counted.end(),
                     [](const Counted& a, const Counted& b) { return a.count > b.count; });
}

}  // namespace locus
