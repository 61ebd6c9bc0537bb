#pragma once
// Damage for fuzz tests.
#include <algorithm>
#include <random>
#include <string>

namespace locus::test {

/// Changes, removes or repeats a few bytes; most of them near the front and the back, where the tables are.
inline std::string damage(std::string bytes, std::mt19937& generator) {
    const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : generator() % limit; };
    const auto place = [&] {
        const std::size_t near = below(std::min<std::size_t>(bytes.size(), 4096));
        return below(3) == 0 ? below(bytes.size()) : below(2) == 0 ? near : bytes.size() - 1 - near;
    };
    static constexpr unsigned char kTelling[] = {0, 1, 0x7f, 0x80, 0xff, '[', '{', '"', '9', '-', '.', 'R', 'h', 'Q'};
    for (std::size_t times = 1 + below(4); times > 0 && !bytes.empty(); --times) {
        const std::size_t at = place(), count = std::min<std::size_t>(1 + below(9), bytes.size() - at);
        switch (below(6)) {
            case 0:
                bytes.resize(at);
                break;
            case 1:
                bytes.erase(at, count);
                break;
            case 2:
                bytes.insert(at, bytes.substr(at, count));
                break;
            case 3:
                for (std::size_t n = 0; n < count; ++n) bytes[at + n] = static_cast<char>(0xff);
                break;
            case 4:
                bytes[at] = static_cast<char>(kTelling[below(sizeof kTelling)]);
                break;
            default:
                bytes[at] = static_cast<char>(generator());
        }
    }
    return bytes;
}

}  // namespace locus::test
