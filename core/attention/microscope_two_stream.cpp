#include "core/attention/microscope_two_stream.h"

namespace locus {

HiddenBy hidden_by(Index queries, const TwoStreamHiding& hiding, Stream stream, Index position, Index key) {
    const Index token = key - hiding.memory;
    LOCUS_CHECK(position >= 0 && position < queries && key >= 0 && token < queries,
                "hidden_by: (" + std::to_string(position) + ", " + std::to_string(key) + ") lies outside [" +
                    std::to_string(queries) + ", " + std::to_string(hiding.memory + queries) + "]");
    const bool own = token == position;
    if (own && stream == Stream::content) return HiddenBy::nothing;
    if (token >= 0 && !hiding.padding.empty() && hiding.padding[static_cast<std::size_t>(token)])
        return HiddenBy::padding;
    if (token >= 0 && hiding.permutation.size() > 0 && hiding.permutation(position, token) != 0)
        return own ? HiddenBy::itself : HiddenBy::permutation;
    if (hiding.direction == Direction::bidirectional) return HiddenBy::nothing;
    if (token > position) return HiddenBy::later;
    return hiding.same_length && key < position ? HiddenBy::too_old : HiddenBy::nothing;
}

const char* reason_of(HiddenBy hidden) {
    switch (hidden) {
        case HiddenBy::padding:
            return "it is padding, no word";
        case HiddenBy::itself:
            return "it is the very word to be predicted; to see it would be to copy it";
        case HiddenBy::permutation:
            return "it is predicted later";
        case HiddenBy::later:
            return "it stands right of the query, and this model reads from left to right";
        case HiddenBy::too_old:
            return "it is older than every query of the segment can look back";
        case HiddenBy::nothing:
            break;
    }
    return "";
}

}  // namespace locus
