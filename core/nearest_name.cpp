#include "core/nearest_name.h"

#include <algorithm>
#include <utility>

namespace locus {

namespace {

std::string in_small_letters(std::string word) {
    for (char& c : word)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return word;
}

}  // namespace

std::size_t edits(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row[b.size()];
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
    if (known.empty()) return {};
    const std::string start = word.substr(0, 200);
    // "c2P" is as far from "c2c" as from "c2p": a letter of the other case is the smaller change.
    const auto distance = [&](const std::string& name) {
        return std::pair(edits(in_small_letters(start), in_small_letters(name)), edits(start, name));
    };
    return *std::min_element(known.begin(), known.end(),
                             [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
}

}  // namespace locus
