// The masked-word head: dense, activation, norm, then the word table once more.
#include "tests/conformance/toy/toolbox.h"

namespace locus::conformance::toy {

namespace {

/// Rows (sample, token) of x [B,T,N] -> [rows,N].
template <class Scalar>
Tensor<Scalar> rows_at(const Array<Scalar>& x, const IndexTensor& places) {
    Array<Scalar> rows({places.extent(0), x.width()});
    for (Index n = 0; n < rows.extent(0); ++n)
        for (Index c = 0; c < x.width(); ++c)
            rows(n, c) = x(static_cast<Index>(places[2 * n]), static_cast<Index>(places[2 * n + 1]), c);
    return as_stage(rows);
}

}  // namespace

template <class Scalar>
void masked_word_head(const Toolbox<Scalar>& tools, const WordHead<Scalar>& head, const ModelInput& input,
                      const Array<Scalar>& x, Trace& trace) {
    const Slip& slip = tools.slip();
    Array<Scalar> transform = x;
    const Array<Scalar> table = tools.weight(head.table);
    if (!slip.is(52, 0) || table.width() != x.width()) {
        transform = tools.dense(x, head.dense);
        if (!slip.is(52, 1)) transform = tools.activated(std::move(transform), head.activation);
        if (!slip.is(52, 2)) transform = tools.norm(transform, head.norm);
    }
    const Array<Scalar> logits =
        tools.dense(transform, table, slip.is(52, 3) ? Array<Scalar>() : tools.weight(head.bias));
    trace.add("mlm.transform", as_stage(transform));
    trace.add("mlm.logits", as_stage(logits));
    if (!input.mask_positions.empty()) {
        trace.add("mlm.positions", input.mask_positions);
        trace.add("mlm.transform_at_positions", rows_at(transform, input.mask_positions));
        trace.add("mlm.logits_at_positions", rows_at(logits, input.mask_positions));
    }
    if (input.labels.empty()) return;
    std::vector<Scalar> losses;
    for (Index n = 0; n < logits.runs(); ++n)
        if (input.labels[n] > 0 || slip.is(52, 4))  // 52, 4: only -100 would not count
            losses.push_back(surprise(logits.run(n), logits.width(), static_cast<Index>(input.labels[n])));
    const Shape shape = {static_cast<Index>(losses.size())};
    trace.add("mlm.loss", Tensor<Scalar>(shape, std::move(losses)));
}

template void masked_word_head<float>(const Toolbox<float>&, const WordHead<float>&, const ModelInput&,
                                      const Array<float>&, Trace&);
template void masked_word_head<double>(const Toolbox<double>&, const WordHead<double>&, const ModelInput&,
                                       const Array<double>&, Trace&);

}  // namespace locus::conformance::toy
