#include "core/attention/relative.h"

#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// What the shift trick itself leaves, hidden cells too: right of the diagonal the values of other rows.
Tensor<double> as_the_trick_leaves_it(const Replay& at) {
    const Tensor<double>& raw = at("bd_raw");
    const Index keys = keys_of(at);
    const bool xlnet = at.family() == Family::xlnet;
    if (at.is_query_stream()) {
        // Rows of targets alone: the shift ran over all tokens.  Where nothing wraps it is the index.
        if (at.xlnet().direction != Direction::bidirectional) throw NotEnough{"all rows of the query stream"};
        return shifted_by(at, raw, [&](Index token, Index key) { return key + queries_of(at) - token; });
    }
    return each_head(raw, raw.extent(2), keys, [&](Index n, Index, Index) {
        return xlnet ? shift_frames_xlnet<double>(raw.matrix(n), keys).back().values
                     : shift_frames<double>(raw.matrix(n)).back().values;
    });
}

Tensor<double> softmax_of_everything(const Replay& at) {
    const Tensor<double>& scores = at("scores");
    return without_unused(at, each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index, Index) {
                              return masked_softmax<double>(scores.matrix(n), {});
                          }));
}

}  // namespace

Mistake mistake_66() {
    const Formula bd = {"bd", {"bd_raw", "query_tokens"}, as_the_trick_leaves_it};
    const Formula probs = {"probs", {"scores", "query_tokens"}, softmax_of_everything};
    return {.number = 66,
            .name = "what the shift leaves in hidden cells is used",
            .symptom = "the future leaks, with values that belong to another row",
            .betrays =
                "bd is right where the mask shows something; probs of hidden keys are above 0. "
                "Where probs are right, bd was only reported before its mask",
            .evidence = "kimiyoung/transformer-xl #129, #132; OpenTransformer #25",
            .lesson = "26",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"bd"},
            .variants = {{"bd and probs without a mask", {bd, probs}},
                         {"bd reported before its mask", {bd}},
                         {"probs without a mask", {probs}}}};
}

}  // namespace locus::conformance
