#include "core/attention/relative.h"

#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// The oldest key of query i moved by `later`; everything else as it is.
Tensor<double> visible_from(const Replay& at, Index later) {
    const Index queries = queries_of(at), memory = at.remembered();
    if (at.family() == Family::transformer_xl) {
        if (!at.transformer_xl().same_length) throw NotEnough{"same_length"};
        Mask mask = transformer_xl_mask(queries, memory, false, 0);
        const Index beyond = memory + queries - at.transformer_xl().mem_len;
        const Index oldest = 1 - (beyond > 0 ? queries - beyond : queries) + later;
        for (Index i = 0; i < mask.rows(); ++i)
            for (Index j = 0; j < std::min(mask.cols(), i + oldest); ++j) mask(i, j) = 0;
        return as_visible(std::vector<Mask>(static_cast<std::size_t>(at.input().batch()), mask));
    }
    if (!at.xlnet().same_length || at.xlnet().direction != Direction::unidirectional) throw NotEnough{"same_length"};
    return visible_to_stream(at, [&](Index b) {
        TwoStreamHiding hiding = hiding_of(at, b);
        hiding.same_length = false;
        const TwoStreamMasks masks = two_stream_masks(queries, hiding);
        Mask mask = at.is_query_stream() ? masks.query : masks.content;
        for (Index i = 0; i < mask.rows(); ++i)
            for (Index j = 0; j < std::min(mask.cols(), i + later); ++j)
                if (at.is_query_stream() || j - memory != i) mask(i, j) = 0;
        return mask;
    });
}

}  // namespace

Mistake mistake_71() {
    const auto visible = [](Index later) {
        return std::vector<Formula>{
            {"visible", {"query_tokens"}, [later](const Replay& at) { return visible_from(at, later); }}};
    };
    return {.number = 71,
            .name = "same_length begins one key off: Transformer-XL hides j <= i, XLNet j < i",
            .symptom = "every query sees one key too many or too few",
            .betrays = "the count of probs above 0 per row: memory_length in Transformer-XL, one more in XLNet",
            .evidence = "transformers #14832, #15665",
            .lesson = "24",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"bd", "probs"},
            .variants = {{"one key too many", visible(-1)}, {"one key too few", visible(1)}}};
}

}  // namespace locus::conformance
