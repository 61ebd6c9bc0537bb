// Mistakes 70 and 71.  What Transformer-XL and XLNet remember of the segments before, and which keys a query sees.
#include <algorithm>
#include <vector>

#include "core/attention/relative.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace wrong_memory {  // mistake 70

/// Behind the last layer Transformer-XL keeps what is never read; nothing comes after that.
Tensor<double> outputs_kept(const Replay& at) {
    const bool behind_all = at.family() == Family::transformer_xl && at.layer() == at.transformer_xl().n_layer;
    return handed_on(at, behind_all ? at("x") : at("output"));
}

using LayerOf = Index (*)(Index own);

/// What another layer remembers; one behind the last has the last one's output.
Tensor<double> of_another_layer(const Replay& at, LayerOf layer_of) {
    const Index layer = layer_of(at.layer());
    if (at.segment() == 0 || layer < 0 || layer == at.layer()) throw NotEnough{"a segment before, and another layer"};
    return at.elsewhere("segment." + std::to_string(at.segment() - 1) + ".layer." + std::to_string(layer) +
                        ".")("memory");
}

/// Read in place of its own; what this layer keeps follows from its own.
Formula made_of_another_layer(const char* stem, LayerOf layer_of) {
    return {stem, {"memory_before", "x"}, [=](const Replay& at) {
                const Tensor<double> rows = of_another_layer(at, layer_of);
                return at.with({{"memory_before", {}, [&rows](const Replay&) { return rows; }}}).right(stem);
            }};
}

Variant reading_layer(const char* how, LayerOf layer_of) {
    return {how, {made_of_another_layer("k", layer_of), made_of_another_layer("v", layer_of)}, {"k", "v"}};
}

/// [x; memory] instead of [memory; x]; what sees which place, and how far it is, stays as it is.
Formula memory_behind(const char* stem) {
    return {stem, {"memory_before", "x"}, [stem](const Replay& at) {
                const Tensor<double> right = at.right(stem);
                const Index memory = at.remembered(), own = right.extent(2) - memory;
                if (memory == 0 || own < 1) throw NotEnough{"a memory"};
                return each_head(right, right.extent(2), right.extent(3), [&](Index n, Index, Index) {
                    Matrix<double> turned(right.extent(2), right.extent(3));
                    turned << right.matrix(n).bottomRows(own), right.matrix(n).topRows(memory);
                    return turned;
                });
            }};
}

/// pre_lnorm: the segment is normed before it is projected, the memory is not.
Formula memory_not_normed(const char* stem, int part) {
    return {stem, {"memory_before", "x"}, [=](const Replay& at) {
                if (!norm_first(at) || at.remembered() == 0) throw NotEnough{"a norm in front of a memory"};
                const Tensor<double> raw =
                    project_heads<double>(at("memory_before"), projection_of(at, part), heads_of(at));
                Tensor<double> heads = at.right(stem);
                for (Index n = 0; n < heads.extent(0) * heads.extent(1); ++n)
                    heads.matrix(n).topRows(raw.extent(2)) = raw.matrix(n);
                return heads;
            }};
}

Formula keeping(Kept kept) {
    return {"memory", {"memory_before", "x"}, [kept](const Replay& at) { return handed_on(at, at("x"), kept); }};
}

Mistake mistake() {
    return {
        .number = 70,
        .name = "the memory holds the wrong rows or stands at the wrong end, or that of another layer is read",
        .symptom = "the first segment is right, every later one is not",
        .betrays =
            "memory.l is the layer's output instead of its input, or begins with the oldest rows; k and v tell "
            "what is read",
        .evidence = "transformers #2970, #3580; kimiyoung/transformer-xl #96",
        .lesson = "24",
        .families = {Family::transformer_xl, Family::xlnet},
        .stems = {"memory"},
        .variants = {
            {"stored after the layer", {{"memory", {"memory_before", "output"}, outputs_kept}}},
            {"the oldest rows are kept", {keeping(Kept::oldest)}},
            reading_layer("layer l reads the memory of layer l + 1", [](Index own) { return own + 1; }),
            reading_layer("layer l reads the memory of layer l - 1", [](Index own) { return own - 1; }),
            reading_layer("every layer reads the memory of layer 0", [](Index) { return Index{0}; }),
            {"it stands behind the segment, not in front of it", {memory_behind("k"), memory_behind("v")}, {"k", "v"}},
            {"pre_lnorm: the segment is normed, the memory is not",
             {memory_not_normed("k", 1), memory_not_normed("v", 2)},
             {"k", "v"}},
            {"what was remembered is put behind the segment", {keeping(Kept::old_behind)}},
            {"what was remembered is dropped, the segment alone is kept", {keeping(Kept::segment_alone)}}}};
}

}  // namespace wrong_memory

namespace same_length_off_by_one {  // mistake 71

/// Query i sees keys up to last(i, M), and of those what it should see.
Tensor<double> visible_up_to(const Replay& at, Index (*last)(Index i, Index memory)) {
    const Index queries = queries_of(at), memory = at.remembered();
    const TransformerXlConfig& config = at.transformer_xl();
    Mask mask = transformer_xl_mask(queries, memory, config.same_length, config.mem_len);
    for (Index i = 0; i < mask.rows(); ++i)
        for (Index j = 0; j < mask.cols(); ++j) {
            if (j > last(i, memory)) mask(i, j) = 0;
            if (j > memory + i && j <= last(i, memory)) mask(i, j) = 1;
        }
    return as_visible(std::vector<Mask>(static_cast<std::size_t>(at.input().batch()), mask));
}

std::vector<Formula> causal(Index (*last)(Index i, Index memory)) {
    return {{"visible", {"query_tokens"}, [last](const Replay& at) { return visible_up_to(at, last); }}};
}

/// Where there is no column for a key, the last one, of distance 0, as a gather with clamped places has it.
Tensor<double> with_last_column(const Replay& at) {
    const Tensor<double>& raw = at("bd_raw");
    const Index first = first_distance(at), memory = at.remembered(), last = raw.extent(3) - 1;
    return without_hidden(at, shifted_by(at, raw, [&](Index token, Index key) {
                              return std::min(last, distance_column(first, memory, token, key));
                          }));
}

/// The next token is seen, at distance 0 too.
std::vector<Formula> causal_and_clamped() {
    std::vector<Formula> all = causal([](Index i, Index memory) { return memory + i + 1; });
    all.push_back({"bd", {"bd_raw", "visible", "query_tokens"}, with_last_column});
    return all;
}

Tensor<double> without_memory(const Replay& at) {
    if (at.remembered() == 0) throw NotEnough{"a memory"};
    return visible_up_to(at, [](Index i, Index) { return i; });
}

/// What a query should see, but nothing of the memory.
Tensor<double> memory_hidden(const Replay& at) {
    const Index memory = at.remembered();
    if (memory == 0) throw NotEnough{"a memory"};
    Tensor<double> visible = at.right("visible");
    for (Index b = 0; b < visible.extent(0); ++b)
        visible.matrix(b).leftCols(std::min(memory, visible.extent(2))).setZero();
    return visible;
}

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

/// Every key before a query, as without same_length.
Tensor<double> all_before(const Replay& at) { return visible_from(at, -keys_of(at)); }

/// Transformer-XL by XLNet's rule: key j of query i for j >= i, whatever mem_len is.
Tensor<double> as_in_xlnet(const Replay& at) {
    if (!at.transformer_xl().same_length) throw NotEnough{"same_length"};
    Mask mask = transformer_xl_mask(queries_of(at), at.remembered(), false, 0);
    for (Index i = 0; i < mask.rows(); ++i) mask.row(i).head(std::min(mask.cols(), i)).setZero();
    return as_visible(std::vector<Mask>(static_cast<std::size_t>(at.input().batch()), mask));
}

Mistake mistake() {
    const auto visible = [](Index later) {
        return std::vector<Formula>{
            {"visible", {"query_tokens"}, [later](const Replay& at) { return visible_from(at, later); }}};
    };
    return {
        .number = 71,
        .name = "the mask is off at same_length's end or the causal one, or forgets either, or the memory",
        .symptom = "every query sees one key too many or too few, or as many too few as the memory is long",
        .betrays = "the count of probs above 0 per row: with same_length mem_len in Transformer-XL, one more in XLNet",
        .evidence = "transformers #14832, #15665",
        .lesson = "24",
        .families = {Family::transformer_xl, Family::xlnet},
        .stems = {"bd", "probs"},
        .variants = {{"one key too many", visible(-1)},
                     {"one key too few", visible(1)},
                     {"causal: key j of query i for j <= i, as if there were no memory",
                      {{"visible", {"query_tokens"}, without_memory}}},
                     {"causal: the next token is seen",
                      causal([](Index i, Index memory) { return memory + i + 1; }),
                      {"probs"}},  // there is no distance for it: bd is 0 there, as it should be
                     {"causal: the next token is seen, at the distance of the token itself", causal_and_clamped()},
                     {"causal: no query sees itself", causal([](Index i, Index memory) { return memory + i - 1; })},
                     {"same_length is not followed", {{"visible", {"query_tokens"}, all_before}}},
                     {"same_length as XLNet has it", {{"visible", {"query_tokens"}, as_in_xlnet}}},
                     {"the memory is hidden", {{"visible", {"query_tokens"}, memory_hidden}}}}};
}

}  // namespace same_length_off_by_one

std::vector<Mistake> memory_mistakes() {
    return {
        wrong_memory::mistake(),            // 70
        same_length_off_by_one::mistake(),  // 71
    };
}

}  // namespace locus::conformance
