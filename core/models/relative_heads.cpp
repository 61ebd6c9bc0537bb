#include "core/models/relative_heads.h"

#include <algorithm>
#include <cmath>

#include "core/models/block.h"

namespace locus {

namespace {

/// Cells that a query may not see become 0: no distance is looked up for them.
template <class Scalar>
void hide_cells(const RelativeHeads<Scalar>& heads, Tensor<Scalar>& scores) {
    for (Index at = 0; at < scores.extent(0) * scores.extent(1); ++at) {
        const Mask& mask = heads.masks[static_cast<std::size_t>(at / scores.extent(1))];
        auto scores_h = scores.matrix(at);
        for (Index p = 0; p < scores_h.rows(); ++p)
            for (Index j = 0; j < scores_h.cols(); ++j)
                if (mask(p, j) == 0) scores_h(p, j) = 0;
    }
}

}  // namespace

template <class Scalar>
void clear_unused(const std::vector<std::vector<Index>>& positions, Tensor<Scalar>& stage) {
    if (stage.empty()) return;
    for (Index b = 0; b < stage.extent(0); ++b)
        for (Index h = 0; h < stage.extent(1); ++h)
            for (Index p = 0; p < stage.extent(2); ++p)
                if (positions[static_cast<std::size_t>(b)][static_cast<std::size_t>(p)] < 0)
                    stage.matrix(b * stage.extent(1) + h).row(p).setZero();
}

template <class Scalar>
Tensor<Scalar> relative_attention(const RelativeHeads<Scalar>& heads, const std::string& prefix, Trace& trace,
                                  const Operations<Scalar>& compute) {
    const Index batch = heads.q.extent(0), count = heads.q.extent(1);
    const auto at = [count](Index b, Index h) { return b * count + h; };  // head h of sample b in [B,H,...]
    const auto each_head = [&](auto make) { return for_each_head<Scalar>(batch, count, make); };

    // ac: the query's content, and a bias of the head, against every key's content: (q + u) . k.
    Tensor<Scalar> ac = each_head([&](Index b, Index h) {
        return compute.content_term(heads.q.matrix(at(b, h)), heads.content_bias.row(h), heads.k.matrix(at(b, h)));
    });

    // bd: the same query, with another bias, against the sinusoid of every distance: (q + v) . r, one column per
    // distance.  The shift then gives each key the column of its own distance.
    Tensor<Scalar> bd_raw = each_head([&](Index b, Index h) {
        return compute.position_term(heads.q.matrix(at(b, h)), heads.position_bias.row(h),
                                     heads.r_k[static_cast<std::size_t>(b)]->matrix(h));
    });
    Tensor<Scalar> bd = each_head([&](Index b, Index h) {
        return compute.shift_by_index(bd_raw.matrix(at(b, h)), heads.k.extent(2), heads.first, heads.memory,
                                      heads.positions[static_cast<std::size_t>(b)]);
    });
    hide_cells(heads, bd);

    // ef (XLNet): does the key stand in the query's own sentence?
    Tensor<Scalar> ef;
    if (heads.segment_term) ef = each_head(heads.segment_term);

    // scores = (ac + bd + ef) / sqrt(d).
    Tensor<Scalar> scores = ac;
    compute.add(bd.rows(), scores.rows());
    if (heads.segment_term) compute.add(ef.rows(), scores.rows());
    compute.divide(std::sqrt(Scalar(heads.q.extent(3))), scores.rows());

    // Softmax over the keys that the query may see.
    Tensor<Scalar> probs = each_head([&](Index b, Index h) {
        return compute.masked_softmax(scores.matrix(at(b, h)), heads.masks[static_cast<std::size_t>(b)],
                                      heads.masked_row);
    });
    for (Tensor<Scalar>* stage : {&ac, &bd_raw, &ef, &scores, &probs}) clear_unused(heads.positions, *stage);

    // context: the values, weighted.
    Tensor<Scalar> context({batch, count, heads.q.extent(2), heads.v.extent(3)});
    for (Index n = 0; n < batch * count; ++n) compute.context(probs.matrix(n), heads.v.matrix(n), context.matrix(n));
    Tensor<Scalar> joined = join_heads(context);

    trace.add(prefix + ".q", heads.q);
    trace.add(prefix + ".ac", std::move(ac));
    trace.add(prefix + ".bd_raw", std::move(bd_raw));
    trace.add(prefix + ".bd", std::move(bd));
    if (heads.segment_term) trace.add(prefix + ".ef", std::move(ef));
    trace.add(prefix + ".scores", std::move(scores));
    trace.add(prefix + ".probs", std::move(probs));
    trace.add(prefix + ".context", joined);
    return joined;
}

template <class Scalar>
Tensor<Scalar> project_positions(const Matrix<Scalar>& r, const Matrix<Scalar>& weight, Index heads,
                                 const Operations<Scalar>& compute) {
    const Tensor<Scalar> split =
        project_heads<Scalar>(as_tensor<Scalar>({1, r.rows(), r.cols()}, r), Dense<Scalar>{weight, {}}, heads, compute);
    return {{split.extent(1), split.extent(2), split.extent(3)}, split.values()};
}

// --- segments and memory ---

std::string segment_prefix(std::size_t segment, std::size_t count) {
    return count == 1 ? "" : "segment." + std::to_string(segment) + ".";
}

namespace {

void check_samples(const ModelInput& input, Index before) {
    LOCUS_CHECK(input.batch() == before, "tokens has " + std::to_string(input.batch()) +
                                             " samples but the segment before had " + std::to_string(before) +
                                             ", expected as many");
}

}  // namespace

void check_segments(const std::vector<ModelInput>& segments, std::size_t layers, Index width) {
    LOCUS_CHECK(!segments.empty(), "no segments, expected at least one");
    const ModelInput& first = segments.front();
    for (const ModelInput& segment : segments) check_samples(segment, first.batch());
    const std::vector<Tensor<double>>& memories = first.memories;
    if (memories.empty()) return;
    LOCUS_CHECK(memories.size() == layers, std::to_string(memories.size()) + " memories, expected " +
                                               std::to_string(layers) + ": memory.0 to memory." +
                                               std::to_string(layers - 1));
    const Index rows = memories.front().rank() == 3 ? memories.front().extent(1) : 0;
    for (std::size_t l = 0; l < layers; ++l)
        LOCUS_CHECK(memories[l].shape() == Shape({first.batch(), rows, width}),
                    "memory." + std::to_string(l) + " has shape " + to_string(memories[l].shape()) + ", expected " +
                        to_string({first.batch(), rows, width}) + ": [B, M, D]");
}

template <class Scalar>
SegmentMemory<Scalar> first_memory(const ModelInput& input) {
    SegmentMemory<Scalar> memory;
    for (const Tensor<double>& rows : input.memories) {
        memory.emplace_back(rows.shape());
        if (!rows.empty()) memory.back().rows() = rows.rows().template cast<Scalar>();
    }
    return memory;
}

template <class Scalar>
Index remembered_rows(const SegmentMemory<Scalar>& memory, const ModelInput& input) {
    if (memory.empty()) return 0;
    check_samples(input, memory.front().extent(0));
    return memory.front().extent(1);
}

template <class Scalar>
Tensor<Scalar> memory_and_segment(const Tensor<Scalar>& memory, const Tensor<Scalar>& segment) {
    if (memory.empty()) return segment;
    const Index rows = memory.extent(1), length = segment.extent(1);
    Tensor<Scalar> both({segment.extent(0), rows + length, segment.extent(2)});
    for (Index b = 0; b < segment.extent(0); ++b) {
        both.matrix(b).topRows(rows) = memory.matrix(b);
        both.matrix(b).bottomRows(length) = segment.matrix(b);
    }
    return both;
}

template <class Scalar>
Tensor<Scalar> slice_rows(const Tensor<Scalar>& x, Index begin, Index end) {
    Tensor<Scalar> rows({x.extent(0), end - begin, x.extent(2)});
    for (Index b = 0; b < x.extent(0); ++b)
        if (end > begin) rows.matrix(b) = x.matrix(b).middleRows(begin, end - begin);
    return rows;
}

template Tensor<float> relative_attention<float>(const RelativeHeads<float>&, const std::string&, Trace&,
                                                 const Operations<float>&);
template void clear_unused<float>(const std::vector<std::vector<Index>>&, Tensor<float>&);
template Tensor<float> project_positions<float>(const Matrix<float>&, const Matrix<float>&, Index,
                                                const Operations<float>&);
template SegmentMemory<float> first_memory<float>(const ModelInput&);
template Index remembered_rows<float>(const SegmentMemory<float>&, const ModelInput&);
template Tensor<float> memory_and_segment<float>(const Tensor<float>&, const Tensor<float>&);
template Tensor<float> slice_rows<float>(const Tensor<float>&, Index, Index);
template Tensor<double> relative_attention<double>(const RelativeHeads<double>&, const std::string&, Trace&,
                                                   const Operations<double>&);
template void clear_unused<double>(const std::vector<std::vector<Index>>&, Tensor<double>&);
template Tensor<double> project_positions<double>(const Matrix<double>&, const Matrix<double>&, Index,
                                                  const Operations<double>&);
template SegmentMemory<double> first_memory<double>(const ModelInput&);
template Index remembered_rows<double>(const SegmentMemory<double>&, const ModelInput&);
template Tensor<double> memory_and_segment<double>(const Tensor<double>&, const Tensor<double>&);
template Tensor<double> slice_rows<double>(const Tensor<double>&, Index, Index);

}  // namespace locus
