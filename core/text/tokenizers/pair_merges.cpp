#include "core/text/tokenizers/pair_merges.h"

#include <queue>
#include <tuple>

namespace locus {

namespace {

std::uint64_t key_of(std::int64_t left, std::int64_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
}

constexpr std::size_t kNoLink = static_cast<std::size_t>(-1);

/// A piece of the word, linked to its neighbours; a piece merged into the one before it has the id -1.
struct Link {
    std::int64_t id = 0;
    std::size_t previous = kNoLink, next = kNoLink;
};

/// A pair that may be merged: the smallest rank first, the leftmost of these.
struct Candidate {
    std::size_t rank = 0, at = 0;
    std::int64_t left = 0, right = 0, merged = 0;  // the ids when it was found; the links may have changed since
    bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

}  // namespace

bool PairMerges::add(std::int64_t left, std::int64_t right, std::int64_t merged) {
    return merges_.try_emplace(key_of(left, right), Merge{merges_.size(), merged}).second;
}

const PairMerges::Merge* PairMerges::find(std::int64_t left, std::int64_t right) const {
    const auto found = merges_.find(key_of(left, right));
    return found == merges_.end() ? nullptr : &found->second;
}

std::vector<std::int64_t> PairMerges::merge(const std::vector<std::int64_t>& word, MergeOrder order) const {
    std::vector<Link> links(word.size());
    for (std::size_t n = 0; n < word.size(); ++n)
        links[n] = {word[n], n == 0 ? kNoLink : n - 1, n + 1 == word.size() ? kNoLink : n + 1};
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    std::vector<Candidate> found;  // waits for the end of the round
    const auto look = [&](std::size_t at) {
        if (at == kNoLink || links[at].next == kNoLink) return;
        const std::int64_t left = links[at].id, right = links[links[at].next].id;
        if (const Merge* merge = find(left, right)) found.push_back({merge->rank, at, left, right, merge->merged});
    };
    const auto publish = [&] {
        for (const Candidate& one : found) queue.push(one);
        found.clear();
    };
    for (std::size_t n = 0; n < word.size(); ++n) look(n);
    publish();
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Link& left = links[best.at];
        if (left.id == best.left && left.next != kNoLink && links[left.next].id == best.right) {
            Link& right = links[left.next];
            left.id = best.merged;
            left.next = right.next;
            right.id = -1;
            if (left.next != kNoLink) links[left.next].previous = best.at;
            look(left.previous);
            look(best.at);
        }
        if (order == MergeOrder::one_by_one || queue.empty() || queue.top().rank != best.rank) publish();
    }
    std::vector<std::int64_t> merged;
    for (std::size_t at = links.empty() ? kNoLink : 0; at != kNoLink; at = links[at].next)
        merged.push_back(links[at].id);
    return merged;
}

}  // namespace locus
