// Mistakes 72 to 77 and 128.  XLNet: factorisation orders, the two streams, segments and the backward half.
#include <algorithm>

#include "core/conformance/formulas/transformer_xl.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/positions/factorisation_order.h"

namespace locus::conformance {

namespace order_taken_for_ranks {  // mistake 72

/// Tokens that a perm_mask hides: those that are predicted.  They are hidden from themselves.
std::vector<Index> targets_in(const Mask& hidden) {
    std::vector<Index> targets;
    for (Index t = 0; t < hidden.rows(); ++t)
        if (hidden(t, t) != 0) targets.push_back(t);
    return targets;
}

/// The order that a perm_mask was made from, as places in `targets`: the one that sees n other targets is the n-th;
/// empty if it tells no order.
std::vector<Index> order_of(const Mask& hidden, const std::vector<Index>& targets) {
    std::vector<Index> order(targets.size(), -1);
    for (std::size_t n = 0; n < targets.size(); ++n) {
        const auto seen = static_cast<std::size_t>(
            std::count_if(targets.begin(), targets.end(), [&](Index other) { return hidden(targets[n], other) == 0; }));
        if (seen >= order.size() || order[seen] >= 0) return {};
        order[seen] = static_cast<Index>(n);
    }
    return order;
}

Tensor<double> visible_by_order(const Replay& at) {
    if (at.input().perm_mask.empty()) throw NotEnough{"perm_mask"};
    return visible_to_stream(at, [&](Index b) {
        TwoStreamHiding hiding = hiding_of(at, b);
        const std::vector<Index> targets = targets_in(hiding.permutation);
        const std::vector<Index> order = order_of(hiding.permutation, targets);
        if (order.empty()) throw NotEnough{"a perm_mask of an order"};
        // What is not predicted is seen by whoever saw it.
        for (std::size_t a = 0; a < targets.size(); ++a)
            for (std::size_t c = 0; c < targets.size(); ++c)
                hiding.permutation(targets[a], targets[c]) = order[c] >= order[a] ? 1 : 0;
        const TwoStreamMasks masks = two_stream_masks(queries_of(at), hiding);
        return at.is_query_stream() ? masks.query : masks.content;
    });
}

/// The right masks of what `change` makes of the hiding.
Tensor<double> visible_after(const Replay& at, const std::function<void(TwoStreamHiding&)>& change) {
    return visible_to_stream(at, [&](Index b) {
        TwoStreamHiding hiding = hiding_of(at, b);
        change(hiding);
        const TwoStreamMasks masks = two_stream_masks(queries_of(at), hiding);
        return at.is_query_stream() ? masks.query : masks.content;
    });
}

Tensor<double> transposed_order(const Replay& at) {
    if (at.input().perm_mask.empty()) throw NotEnough{"perm_mask"};
    return visible_after(at, [](TwoStreamHiding& hiding) { hiding.permutation.transposeInPlace(); });
}

Tensor<double> without_order(const Replay& at) {
    if (at.input().perm_mask.empty()) throw NotEnough{"perm_mask"};
    return visible_after(at, [](TwoStreamHiding& hiding) { hiding.permutation.setZero(); });
}

Tensor<double> without_padding(const Replay& at) {
    if (at.input().input_mask.empty()) throw NotEnough{"input_mask"};
    return visible_after(at, [](TwoStreamHiding& hiding) { hiding.padding = {}; });
}

Tensor<double> inverted_order(const Replay& at) {
    if (at.input().perm_mask.empty()) throw NotEnough{"perm_mask"};
    return visible_after(at, [](TwoStreamHiding& hiding) {
        for (Index n = 0; n < hiding.permutation.size(); ++n)
            hiding.permutation.data()[n] = hiding.permutation.data()[n] == 0;
    });
}

Tensor<double> inverted_padding(const Replay& at) {
    if (at.input().input_mask.empty()) throw NotEnough{"input_mask"};
    return visible_after(at, [](TwoStreamHiding& hiding) { hiding.padding.flip(); });
}

Mistake mistake() {
    return {.number = 72,
            .name = "perm_mask or input_mask is misread: the factorisation order is taken for the ranks of the tokens",
            .symptom = "tokens are predicted in another order than was asked for; only self-inverse orders work",
            .betrays = "who sees whom is right after inverting the permutation; 3,2,4,1 tells, 4,3,2,1 does not",
            .evidence = "",
            .lesson = "22",
            .families = {Family::xlnet},
            .stems = {"bd", "probs"},
            .variants = {{"the order is taken for ranks", {{"visible", {"query_tokens"}, visible_by_order}}},
                         {"perm_mask is transposed", {{"visible", {"query_tokens"}, transposed_order}}},
                         {"perm_mask is not applied", {{"visible", {"query_tokens"}, without_order}}},
                         {"input_mask is not applied", {{"visible", {"query_tokens"}, without_padding}}},
                         {"perm_mask is inverted: 1 is read as seen", {{"visible", {"query_tokens"}, inverted_order}}},
                         {"input_mask is inverted: 1 is read as a real token",
                          {{"visible", {"query_tokens"}, inverted_padding}}}}};
}

}  // namespace order_taken_for_ranks

namespace streams_share_a_mask {  // mistake 73

/// One stream under the mask of the other.
Tensor<double> mask_of_the_other(const Replay& at, bool query_stream) {
    if (at.is_query_stream() != query_stream) throw NotEnough{"the other stream"};
    return visible_to_stream(at, [&](Index b) {
        const TwoStreamMasks masks = two_stream_masks(queries_of(at), hiding_of(at, b));
        return query_stream ? masks.content : masks.query;
    });
}

Mistake mistake() {
    const auto visible = [](bool query_stream) {
        return std::vector<Formula>{{"visible", {"query_tokens"}, [query_stream](const Replay& at) {
                                         return mask_of_the_other(at, query_stream);
                                     }}};
    };
    return {.number = 73,
            .name = "both streams use one mask, or each that of the other",
            .symptom =
                "the content stream is blind to its own token, or the query stream sees what it must predict "
                "and the loss falls to 0 at once",
            .betrays = "the diagonal of probs: above 0 in the content stream, 0 in the query stream",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"bd", "probs"},
            .variants = {{"the content stream cannot see itself", visible(false)},
                         {"the query stream sees the answer", visible(true)},
                         {"each stream has the mask of the other", {{"visible", {"query_tokens"}, [](const Replay& at) {
                                                                         return mask_of_the_other(at,
                                                                                                  at.is_query_stream());
                                                                     }}}}}};
}

}  // namespace streams_share_a_mask

namespace query_stream_starts_from_the_word {  // mistake 74

/// Row p is what row(b, token) makes of the right start.
template <class Row>
Tensor<double> changed_start(const Replay& at, Row row) {
    if (!at.is_query_stream()) throw NotEnough{"the query stream"};
    const Tensor<double>& tokens = at("query_tokens");
    Tensor<double> start = at.right("/query_stream");
    for (Index b = 0; b < start.extent(0); ++b)
        for (Index p = 0; p < start.extent(1); ++p)
            row(b, std::max<Index>(0, static_cast<Index>(tokens.matrix()(b, p))), start.matrix(b).row(p));
    return start;
}

Tensor<double> words(const Replay& at) {
    const Tensor<double>& words = at("/embeddings.word");
    return changed_start(at, [&](Index b, Index token, auto row) { row = words.matrix(b).row(token); });
}

Tensor<double> with_positions(const Replay& at) {
    std::vector<double> places;
    for (Index t = 0; t < queries_of(at); ++t) places.push_back(static_cast<double>(t));
    const Tensor<double> sinusoids = sinusoids_of(at, places, SinusoidLayout::concatenated);
    return changed_start(at, [&](Index, Index token, auto row) { row += sinusoids.matrix().row(token); });
}

Tensor<double> zeros(const Replay& at) {
    return changed_start(at, [](Index, Index, auto row) { row.setZero(); });
}

Mistake mistake() {
    return {.number = 74,
            .name = "the query stream starts from more than the one trained vector, or without it",
            .symptom = "the loss is too good: the word that must be predicted is already in the query",
            .betrays = "layer.0.g.q differs between targets; the right one has equal rows",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"q"},
            .variants = {{"from the word itself", {{"/query_stream", {"/embeddings.word", "query_tokens"}, words}}},
                         {"a position vector is added", {{"/query_stream", {"query_tokens"}, with_positions}}},
                         {"from zeros", {{"/query_stream", {"query_tokens"}, zeros}}}}};
}

}  // namespace query_stream_starts_from_the_word

namespace targets_mixed_up {  // mistake 75

const IndexTensor& mapping_of(const Replay& at) {
    if (!at.is_query_stream() || at.input().target_mapping.empty()) throw NotEnough{"the query stream"};
    return at.input().target_mapping;
}

/// The buffer of [P,T] read as [T,P].
Tensor<double> transposed_targets(const Replay& at) {
    const IndexTensor& mapping = mapping_of(at);
    const Index targets = mapping.extent(1), length = mapping.extent(2);
    Tensor<double> tokens({mapping.extent(0), targets});
    for (Index b = 0; b < mapping.extent(0); ++b)
        for (Index p = 0; p < targets; ++p) {
            tokens.matrix()(b, p) = -1;
            for (Index t = 0; t < length; ++t)
                if (mapping[b * targets * length + t * targets + p] != 0)
                    tokens.matrix()(b, p) = static_cast<double>(t);
        }
    return tokens;
}

Tensor<double> targets_of_first_sample(const Replay& at) {
    mapping_of(at);
    Tensor<double> tokens = at.right("query_tokens");
    if (tokens.extent(0) == 1) throw NotEnough{"a second sample"};
    tokens.matrix().bottomRows(tokens.extent(0) - 1).setConstant(-1);
    return tokens;
}

/// The same layer with the content stream's rows as residual; zeros for a target that is not used, which target_mapping
/// makes of whatever it selects from.
Tensor<double> residual_of_content(const Replay& at) {
    mapping_of(at);
    const Tensor<double>&tokens = at("query_tokens"), &h = at("x"), &context = at("context");
    Tensor<double> residual = at("x_q");
    for (Index b = 0; b < residual.extent(0); ++b)
        for (Index p = 0; p < residual.extent(1); ++p)
            if (const auto token = static_cast<Index>(tokens.matrix()(b, p)); token >= 0)
                residual.matrix(b).row(p) = h.matrix(b).row(token);
            else
                residual.matrix(b).row(p).setZero();
    return at
        .with({{"x_q", {}, [&](const Replay&) { return residual; }},
               {"context", {}, [&](const Replay&) { return context; }}})
        .right("attention");
}

/// Row p asks as token p, whatever target_mapping says.
Tensor<double> counted_targets(const Replay& at) {
    const IndexTensor& mapping = mapping_of(at);
    Tensor<double> tokens({mapping.extent(0), mapping.extent(1)});
    for (Index n = 0; n < tokens.size(); ++n) tokens[n] = static_cast<double>(n % mapping.extent(1));
    return tokens;
}

/// Logits of the targets' rows in the content stream.
Tensor<double> logits_of_content(const Replay& at) {
    const IndexTensor& mapping = at.input().target_mapping;
    if (mapping.empty()) throw NotEnough{"targets"};
    LanguageHead head = xlnet_head(at);
    const Tensor<double>& h = at("/layer." + std::to_string(at.xlnet().n_layer - 1) + ".output");
    const Index targets = mapping.extent(1), length = mapping.extent(2);
    head.rows.setZero();
    for (Index n = 0; n < head.rows.rows(); ++n)
        for (Index t = 0; t < length; ++t)
            if (mapping[n * length + t] != 0) head.rows.row(n) = h.matrix(n / targets).row(t);
    return language_logits(at, head, head.table, head.bias);
}

Mistake mistake() {
    return {.number = 75,
            .name = "rows of the query stream belong to other tokens, or h is read in their place",
            .symptom =
                "the content stream is right, predictions are those of other tokens; "
                "hidden if as many tokens are predicted as there are",
            .betrays = "g.bd equals the right one of another token; g.attention changes with the predicted word",
            .evidence = "transformers #7267, #3417, #3021",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"bd", "attention", "/lm.logits"},
            .variants = {{"target_mapping read as [T,P]", {{"query_tokens", {}, transposed_targets}}},
                         {"residual from h", {{"attention", {"context", "x", "query_tokens"}, residual_of_content}}},
                         {"only the first sample has targets", {{"query_tokens", {}, targets_of_first_sample}}},
                         {"target_mapping is not used: row p is token p", {{"query_tokens", {}, counted_targets}}},
                         {"logits from h", {{"/lm.logits", {}, logits_of_content}}, {"/lm.logits"}}}};
}

}  // namespace targets_mixed_up

namespace segment_term {  // mistake 76

Tensor<double> memory_of_segment_one(const Replay& at) {
    if (at.remembered() == 0) throw NotEnough{"a memory"};
    return segment_term_by(at, 1, 0, 1);
}

Tensor<double> of_one_segment(const Replay& at) {
    const std::vector<std::int64_t>& types = at.input().token_types.values();
    if (std::adjacent_find(types.begin(), types.end(), std::not_equal_to<>()) == types.end())
        throw NotEnough{"two token types"};
    return segment_term_by(at, 0, 0, 0);
}

Mistake mistake() {
    const std::vector<std::string> inputs = {"q", "bias.s", "query_tokens"};
    return {
        .number = 76,
        .name = "the segment term takes the wrong row or the wrong bias",
        .symptom = "sentence pairs are told apart the wrong way round; with one segment only a constant is off",
        .betrays = "with a single segment ef must use row 0 of seg_embed alone; memory has segment 0",
        .evidence = "",
        .lesson = "23",
        .families = {Family::xlnet},
        .stems = {"ef"},
        .variants = {
            {"same and different exchanged",
             {{"ef", inputs, [](const Replay& at) { return segment_term_by(at, 0, 1, 0); }}}},
            {"token types are not read: every pair is of one segment", {{"ef", inputs, of_one_segment}}},
            {"memory has segment 1", {{"ef", inputs, memory_of_segment_one}}},
            {"r_s_bias is not added to q",
             {{"bias.s", {}, [](const Replay& at) { return mapped(at.right("bias.s"), [](double) { return 0.0; }); }}}},
            {"the term is left out",
             {{"ef", inputs, [](const Replay& at) { return mapped(at.right("ef"), [](double) { return 0.0; }); }}}}}};
}

}  // namespace segment_term

namespace reversed_half {  // mistake 77

Mistake mistake() {
    return {.number = 77,
            .name = "with bi_data the second half of the batch keeps the signs of forward text",
            .symptom = "half of the batch is right, the other half sees its past as its future",
            .betrays = "samples from B/2 on: the sines of their rows of positions have the wrong sign, cosines agree",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"/positions.r_backward"},
            .variants = {{"", {{"/positions.r_backward", {"/positions.r"}, [](const Replay& at) {
                                    at.right("/positions.r_backward");  // only where there is reversed text
                                    return at("/positions.r");
                                }}}}}};
}

}  // namespace reversed_half

std::vector<Mistake> xlnet_mistakes() {
    return {
        order_taken_for_ranks::mistake(),              // 72
        streams_share_a_mask::mistake(),               // 73
        query_stream_starts_from_the_word::mistake(),  // 74
        targets_mixed_up::mistake(),                   // 75
        segment_term::mistake(),                       // 76
        reversed_half::mistake(),                      // 77
    };
}

// Mistake 128.

namespace keys_of_the_query_stream {  // mistake 128

/// "k" or "v" of a layer whose content stream were `rows` [B,T,D]; the memory in front of them stays.
Tensor<double> made_of(const Replay& content, const Tensor<double>& rows, const char* stem) {
    const Tensor<double> memory = content("memory_before");
    return content
        .with({{"x", {}, [&](const Replay&) { return rows; }},
               {"memory_before", {}, [&](const Replay&) { return memory; }}})
        .right(stem);
}

/// What the layer hands on in the content stream, which a program has at hand that computes h before g.
Tensor<double> of_new_output(const Replay& at, const char* stem) {
    const Replay content = at.elsewhere(at.scope().substr(0, at.scope().size() - 2));
    return made_of(content, content("output"), stem);
}

/// The query stream's own rows, of which there must be as many as tokens.
Tensor<double> of_its_own_rows(const Replay& at, const char* stem) {
    return made_of(at.elsewhere(at.scope().substr(0, at.scope().size() - 2)), at("x_q"), stem);
}

/// The query stream's products with other keys, and its context of other values; the content stream stays right.
std::vector<Formula> reading(Tensor<double> (*made)(const Replay& at, const char* stem)) {
    const auto in_query_stream =
        [made](const char* stem, Tensor<double> (*compute)(const Replay&, const Tensor<double>&), const char* read) {
            return [=](const Replay& at) {
                const IndexTensor& targets = at.input().target_mapping;
                if (targets.empty()) throw NotEnough{"the query stream"};
                if (made == of_its_own_rows && targets.extent(1) != targets.extent(2))
                    throw NotEnough{"as many targets as tokens"};
                return at.is_query_stream() ? compute(at, made(at, read)) : at.right(stem);
            };
        };
    const auto ac = [](const Replay& at, const Tensor<double>& k) {
        return without_unused(at, products(biased(at("q"), at("bias.u")), k));
    };
    const auto context = [](const Replay& at, const Tensor<double>& v) { return joined_heads(at("probs"), v); };
    return {{"ac", {"q", "k", "bias.u", "x", "x_q", "query_tokens"}, in_query_stream("ac", ac, "k")},
            {"context", {"probs", "v", "x", "x_q"}, in_query_stream("context", context, "v")}};
}

Mistake mistake() {
    return {.number = 128,
            .name = "the query stream reads keys and values of the layer's new output, or of its own rows, not of h",
            .symptom = "the content stream is right, every prediction is off from the first layer on",
            .betrays =
                "g.ac is right with the keys of the layer after, made by this layer's weights; g.q and g.bd are right",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"ac"},
            .variants = {{"of the layer's new output: h is computed before g", reading(of_new_output)},
                         {"of the query stream's own rows", reading(of_its_own_rows)}}};
}

}  // namespace keys_of_the_query_stream

std::vector<Mistake> query_stream_mistakes() {
    return {keys_of_the_query_stream::mistake()};  // 128
}

}  // namespace locus::conformance
