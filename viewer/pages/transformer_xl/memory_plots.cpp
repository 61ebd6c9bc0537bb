#include "viewer/pages/transformer_xl/memory_plots.h"

#include <algorithm>
#include <cmath>

#include "core/attention/relative.h"

namespace locus {

Index SegmentTape::word_at(float x) const {
    return std::clamp<Index>(static_cast<Index>(std::floor((x - left) / pitch())), 0, words() - 1);
}

Index SegmentTape::memory_at(float x) const {
    return std::clamp<Index>(longest - static_cast<Index>(std::lround((x - left) / pitch())), 0, longest);
}

SeenKeys keys_of(Index position, Index segment_tokens, Index memory) {
    LOCUS_CHECK(position >= 0 && segment_tokens > 0 && memory >= 0,
                "effective context: position " + std::to_string(position) + ", segments of " +
                    std::to_string(segment_tokens) + " and a memory of " + std::to_string(memory) +
                    ", expected none below 0 and segments of at least 1");
    return {std::max<Index>(0, position / segment_tokens * segment_tokens - memory), position};
}

std::vector<Index> oldest_known(Index position, Index layers, Index segment_tokens, Index memory) {
    std::vector<Index> oldest = {position};
    for (Index l = 0; l < layers; ++l) oldest.push_back(keys_of(oldest.back(), segment_tokens, memory).first);
    return oldest;
}

namespace {

/// Every number names its cell: 1 + query * columns + column; 0 stays the zero of the padding.
Matrix<double> named_products(Index queries, Index columns) {
    Matrix<double> named(queries, columns);
    for (Index n = 0; n < named.size(); ++n) named.data()[n] = static_cast<double>(1 + n);
    return named;
}

/// `first`: distance of column 0.
AnimationFrame frame_of(const std::string& what, const Matrix<double>& named, Index columns, Index first) {
    AnimationFrame frame{what, named.rows(), named.cols(), {}, {}};
    for (Index n = 0; n < named.size(); ++n) {
        const auto name = static_cast<Index>(named.data()[n]);
        AnimationCell cell;
        cell.padding = name == 0;
        if (!cell.padding) {
            cell.query = (name - 1) / columns;
            cell.distance = first - (name - 1) % columns;
        }
        frame.cells.push_back(cell);
    }
    return frame;
}

/// Marks what is not at its own query and distance; zeros of the padding are not counted.
void mark_leaks(AnimationFrame& frame, Index memory) {
    for (Index i = 0; i < frame.rows; ++i)
        for (Index j = 0; j < frame.columns; ++j) {
            AnimationCell& cell = frame.cells[static_cast<std::size_t>(i * frame.columns + j)];
            cell.leaked = !cell.padding && (cell.query != i || cell.distance != memory + i - j);
        }
}

/// Cell n of `frame` goes to the place that `place` says, or nowhere (-1).
template <class Place>
void send(AnimationFrame& frame, Place place) {
    for (Index n = 0; n < frame.rows * frame.columns; ++n) frame.goes_to.push_back(place(n));
}

}  // namespace

std::vector<AnimationFrame> shift_animation(Index queries, Index memory) {
    const Index keys = memory + queries;
    std::vector<AnimationFrame> animation;
    for (const ShiftFrame<double>& step : shift_frames<double>(named_products(queries, keys)))
        animation.push_back(frame_of(step.what, step.values, keys, keys - 1));
    // In the last picture the rows are queries again: whatever came from another one has leaked.
    mark_leaks(animation.back(), memory);
    animation.push_back(animation.back());
    animation.back().what = "mask: keys right of the query are hidden";
    const Mask visible = transformer_xl_mask(queries, memory, false, memory);
    for (Index n = 0; n < queries * keys; ++n)
        animation.back().cells[static_cast<std::size_t>(n)].hidden = visible.data()[n] == 0;
    send(animation[0], [&](Index n) { return n + n / keys + 1; });
    send(animation[1], [](Index n) { return n; });
    send(animation[2], [&](Index n) { return std::max<Index>(n - queries, -1); });
    send(animation[3], [](Index n) { return n; });
    send(animation[4], [](Index n) { return n; });
    return animation;
}

std::vector<AnimationFrame> shift_animation_xlnet(Index queries, Index memory) {
    const Index keys = memory + queries, columns = keys + queries;
    std::vector<AnimationFrame> animation;
    for (const ShiftFrame<double>& step : shift_frames_xlnet<double>(named_products(queries, columns), keys))
        animation.push_back(frame_of(step.what, step.values, columns, keys));
    animation[0].what = "(q_i + v) . r_k for " + std::to_string(columns) + " distances, on both sides";
    mark_leaks(animation.back(), memory);
    send(animation[0], [](Index n) { return n; });
    send(animation[1], [&](Index n) { return std::max<Index>(n - queries, -1); });
    send(animation[2], [](Index n) { return n; });
    send(animation[3], [&](Index n) {
        const Index row = n / (columns - 1), column = n % (columns - 1);
        return column < keys ? row * keys + column : -1;
    });
    AnimationFrame causal = shift_animation(queries, memory)[4];
    causal.what = "not this: the causal code, no mask covers the right";
    causal.goes_to.clear();
    animation.push_back(std::move(causal));
    return animation;
}

Index leaked_cells(const AnimationFrame& frame) {
    return std::count_if(frame.cells.begin(), frame.cells.end(),
                         [](const AnimationCell& cell) { return cell.leaked && !cell.hidden; });
}

}  // namespace locus
