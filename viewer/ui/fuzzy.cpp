#include "viewer/ui/fuzzy.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace locus {

namespace {

constexpr int kNone = std::numeric_limits<int>::min() / 2;
constexpr int kLetter = 16, kFollows = 14, kBeginsWord = 10, kBeginsName = 8;
constexpr std::size_t kLongest = 400;  // letters of a name that are looked at

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Bytes above 0x7f are letters of some alphabet.
bool is_letter(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x7f || (byte >= '0' && byte <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

int worth(std::string_view name, std::size_t at) {
    if (at == 0) return kLetter + kBeginsWord + kBeginsName;
    return is_letter(name[at]) && !is_letter(name[at - 1]) ? kLetter + kBeginsWord : kLetter;
}

}  // namespace

std::optional<int> fuzzy_score(std::string_view name, std::string_view typed) {
    std::string letters;
    for (const char c : typed)
        if (c != ' ') letters += lower(c);
    name = name.substr(0, kLongest);
    if (letters.empty()) return 0;
    if (letters.size() > name.size()) return std::nullopt;
    // best[at]: of all ways to place the letters so far with the last one at `at`.
    std::vector<int> best(name.size(), kNone), next(name.size());
    for (std::size_t n = 0; n < letters.size(); ++n) {
        int before = n == 0 ? 0 : kNone;  // the best that ends anywhere in front of `at`
        for (std::size_t at = 0; at < name.size(); ++at) {
            next[at] = kNone;
            if (lower(name[at]) == letters[n]) {
                int reached = before;
                if (n > 0 && at > 0) reached = std::max(reached, best[at - 1] + kFollows);
                if (reached > kNone / 2) next[at] = reached + worth(name, at);
            }
            if (n > 0) before = std::max(before, best[at]);
        }
        best.swap(next);
    }
    const int score = *std::max_element(best.begin(), best.end());
    if (score < kNone / 2) return std::nullopt;
    return score - static_cast<int>((name.size() - letters.size()) / 4);
}

std::vector<std::size_t> fuzzy_order(const std::vector<std::string>& names, std::string_view typed,
                                     const std::vector<std::size_t>& first) {
    std::vector<std::size_t> order = first;
    for (std::size_t n = 0; n < names.size(); ++n)
        if (std::find(first.begin(), first.end(), n) == first.end()) order.push_back(n);
    std::vector<int> scores(names.size(), kNone);
    for (const std::size_t n : order)
        if (const auto score = fuzzy_score(names[n], typed)) scores[n] = *score;
    std::erase_if(order, [&](std::size_t n) { return scores[n] == kNone; });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    return order;
}

}  // namespace locus
