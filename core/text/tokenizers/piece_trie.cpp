#include "core/text/tokenizers/piece_trie.h"

#include <algorithm>

#include "core/check.h"

namespace locus {

namespace {

constexpr std::uint32_t kBlock = 256;
constexpr std::uint32_t kLargestTrieId = (1u << 23) - 3;
constexpr std::size_t kOpenBlocks = 16;  // only the newest blocks are searched for room: older ones are nearly full

}  // namespace

/// Places the nodes one by one; a stack of its own, so that a piece may be as long as its file.
class PieceTrie::Builder {
public:
    Builder(const std::vector<Entry>& sorted, std::vector<Unit>& units) : sorted_(sorted), units_(units) {
        units_.assign(kBlock, Unit());
        used_.assign(kBlock, true);  // nobody's children lie in the first block
    }

    void build() {
        std::vector<Range> open = {{0, sorted_.size(), 0, 0}};
        std::vector<Range> children;
        while (!open.empty()) {
            const Range range = open.back();
            open.pop_back();
            children.clear();
            split(range, children);
            if (children.empty()) continue;
            place(range.node, children);
            open.insert(open.end(), children.begin(), children.end());
        }
    }

private:
    /// The pieces sorted_[begin ... end) share their first `depth` bytes, which lead to `node`.
    struct Range {
        std::size_t begin, end, depth;
        std::uint32_t node;
    };

    unsigned char byte(std::size_t piece, std::size_t depth) const {
        return static_cast<unsigned char>(sorted_[piece].first[depth]);
    }

    /// One range per next byte; the nodes are not known yet.
    void split(const Range& range, std::vector<Range>& children) const {
        std::size_t at = range.begin;
        if (at < range.end && sorted_[at].first.size() == range.depth) ++at;  // the piece that ends here
        while (at < range.end) {
            const unsigned char label = byte(at, range.depth);
            const auto behind = std::partition_point(
                sorted_.begin() + static_cast<std::ptrdiff_t>(at),
                sorted_.begin() + static_cast<std::ptrdiff_t>(range.end),
                [&](const Entry& one) { return static_cast<unsigned char>(one.first[range.depth]) <= label; });
            const auto end = static_cast<std::size_t>(behind - sorted_.begin());
            children.push_back({at, end, range.depth + 1, 0});
            at = end;
        }
    }

    void place(std::uint32_t node, std::vector<Range>& children) {
        const std::uint32_t offset = room_for(children);
        units_[node].children = offset;
        used_[offset] = true;
        for (Range& child : children) {
            const unsigned char label = byte(child.begin, child.depth - 1);
            child.node = offset ^ label;
            const auto& [piece, id] = sorted_[child.begin];
            units_[child.node].label_value = label | (piece.size() == child.depth ? (id + 1) << 9 : 0);
            free_.erase(std::lower_bound(free_.begin(), free_.end(), child.node));
        }
    }

    /// An offset that no other node has and whose units for all children are free.
    std::uint32_t room_for(const std::vector<Range>& children) {
        const unsigned char first = byte(children.front().begin, children.front().depth - 1);
        for (const std::uint32_t unit : free_)
            if (fits(unit ^ first, children)) return unit ^ first;
        const auto block = static_cast<std::uint32_t>(units_.size());
        units_.resize(block + kBlock);
        used_.resize(block + kBlock, false);
        if (block >= kOpenBlocks * kBlock)
            free_.erase(free_.begin(),
                        std::lower_bound(free_.begin(), free_.end(), block - (kOpenBlocks - 1) * kBlock));
        for (std::uint32_t unit = block; unit < block + kBlock; ++unit) free_.push_back(unit);
        return block;
    }

    bool fits(std::uint32_t offset, const std::vector<Range>& children) const {
        return !used_[offset] && std::all_of(children.begin(), children.end(), [&](const Range& child) {
            return units_[offset ^ byte(child.begin, child.depth - 1)].label() == kNoLabel;
        });
    }

    const std::vector<Entry>& sorted_;
    std::vector<Unit>& units_;
    std::vector<bool> used_;           // by offset: a label tells whose child a unit is only if no two nodes share one
    std::vector<std::uint32_t> free_;  // units of the newest blocks, sorted
};

PieceTrie::PieceTrie(std::vector<Entry> pieces, const std::string& location) {
    for (const auto& [piece, id] : pieces)
        if (id > kLargestTrieId)
            throw Error(Fault::unreadable, location + ": a piece has the id " + std::to_string(id) +
                                               ", expected at most " + std::to_string(kLargestTrieId));
    std::sort(pieces.begin(), pieces.end());
    Builder(pieces, units_).build();
}

std::optional<std::uint32_t> PieceTrie::find(std::string_view piece) const {
    std::optional<std::uint32_t> found;
    for_each_prefix(piece, [&](std::size_t bytes, std::uint32_t id) {
        if (bytes == piece.size()) found = id;
    });
    return found;
}

}  // namespace locus
