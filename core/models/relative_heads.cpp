#include "core/models/relative_heads.h"

#include <algorithm>
#include <cmath>

#include "core/models/block.h"

namespace locus {

namespace {

/// All stages of one call, filled head by head.
template <class Scalar>
struct Stages {
    explicit Stages(const RelativeHeads<Scalar>& heads)
        : shape({heads.q.extent(0), heads.q.extent(1), heads.q.extent(2), heads.k.extent(2)}),
          bd_raw({shape[0], shape[1], shape[2], heads.r_k.front()->extent(1)}),
          context({shape[0], shape[1], shape[2], heads.v.extent(3)}) {
        for (Tensor<Scalar>* stage : {&ac, &bd, &scores, &probs}) *stage = Tensor<Scalar>(shape);
        if (heads.segment_term) ef = Tensor<Scalar>(shape);
    }
    Shape shape;
    Tensor<Scalar> ac, bd_raw, bd, ef, scores, probs, context;
};

template <class Scalar>
void fill_head(const Operations<Scalar>& compute, const RelativeHeads<Scalar>& heads, Index b, Index h,
               Stages<Scalar>& stages) {
    const Index at = b * heads.q.extent(1) + h;
    const auto sample = static_cast<std::size_t>(b);
    const Mask& mask = heads.masks[sample];
    const std::vector<Index>& positions = heads.positions[sample];
    auto ac = stages.ac.matrix(at), bd_raw = stages.bd_raw.matrix(at), bd = stages.bd.matrix(at);
    auto scores = stages.scores.matrix(at), probs = stages.probs.matrix(at);
    ac = compute.content_term(heads.q.matrix(at), heads.content_bias.row(h), heads.k.matrix(at));
    bd_raw = compute.position_term(heads.q.matrix(at), heads.position_bias.row(h), heads.r_k[sample]->matrix(h));
    bd = compute.shift_by_index(bd_raw, heads.k.extent(2), heads.first, heads.memory, positions);
    for (Index p = 0; p < bd.rows(); ++p)
        for (Index j = 0; j < bd.cols(); ++j)
            if (mask(p, j) == 0) bd(p, j) = 0;
    scores = ac;
    compute.add(bd, scores);
    if (heads.segment_term) {
        stages.ef.matrix(at) = heads.segment_term(b, h);
        compute.add(stages.ef.matrix(at), scores);
    }
    compute.divide(std::sqrt(Scalar(heads.q.extent(3))), scores);
    probs = compute.masked_softmax(scores, mask, heads.masked_row);
    for (Index p = 0; p < probs.rows(); ++p) {
        if (positions[static_cast<std::size_t>(p)] >= 0) continue;
        for (Tensor<Scalar>* stage : {&stages.ac, &stages.bd_raw, &stages.ef, &stages.scores, &stages.probs})
            if (!stage->empty()) stage->matrix(at).row(p).setZero();
    }
    compute.context(probs, heads.v.matrix(at), stages.context.matrix(at));
}

}  // namespace

template <class Scalar>
Tensor<Scalar> relative_attention(const RelativeHeads<Scalar>& heads, const std::string& prefix, Trace& trace,
                                  const Operations<Scalar>& compute) {
    Stages<Scalar> stages(heads);
    for (Index b = 0; b < heads.q.extent(0); ++b)
        for (Index h = 0; h < heads.q.extent(1); ++h) fill_head(compute, heads, b, h, stages);
    Tensor<Scalar> joined = join_heads(stages.context);
    trace.add(prefix + ".q", heads.q);
    trace.add(prefix + ".ac", std::move(stages.ac));
    trace.add(prefix + ".bd_raw", std::move(stages.bd_raw));
    trace.add(prefix + ".bd", std::move(stages.bd));
    if (heads.segment_term) trace.add(prefix + ".ef", std::move(stages.ef));
    trace.add(prefix + ".scores", std::move(stages.scores));
    trace.add(prefix + ".probs", std::move(stages.probs));
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

template <class Scalar>
Tensor<Scalar> behind_memory(const Tensor<Scalar>& memory, const Tensor<Scalar>& segment) {
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

Index check_memories(const std::vector<Tensor<double>>& memories, std::size_t count, Index batch, Index width) {
    if (memories.empty()) return 0;
    LOCUS_CHECK(memories.size() == count, std::to_string(memories.size()) + " memories, expected " +
                                              std::to_string(count) + ": memory.0 to memory." +
                                              std::to_string(count - 1));
    const Index rows = memories.front().rank() == 3 ? memories.front().extent(1) : 0;
    for (std::size_t l = 0; l < count; ++l)
        LOCUS_CHECK(memories[l].shape() == Shape({batch, rows, width}),
                    "memory." + std::to_string(l) + " has shape " + to_string(memories[l].shape()) + ", expected " +
                        to_string({batch, rows, width}) + ": [B, M, D]");
    return rows;
}

template Tensor<float> relative_attention<float>(const RelativeHeads<float>&, const std::string&, Trace&,
                                                 const Operations<float>&);
template Tensor<double> relative_attention<double>(const RelativeHeads<double>&, const std::string&, Trace&,
                                                   const Operations<double>&);
template Tensor<float> project_positions<float>(const Matrix<float>&, const Matrix<float>&, Index,
                                                const Operations<float>&);
template Tensor<double> project_positions<double>(const Matrix<double>&, const Matrix<double>&, Index,
                                                  const Operations<double>&);
template Tensor<float> behind_memory<float>(const Tensor<float>&, const Tensor<float>&);
template Tensor<double> behind_memory<double>(const Tensor<double>&, const Tensor<double>&);
template Tensor<float> slice_rows<float>(const Tensor<float>&, Index, Index);
template Tensor<double> slice_rows<double>(const Tensor<double>&, Index, Index);

}  // namespace locus
