// L1 cases that no model of other people's shows: Locus computed them in double precision.
#include <cmath>

#include "core/attention/softmax.h"
#include "core/conformance/kit/kit_content.h"
#include "core/conformance/kit/kit_own_parts.h"
#include "core/positions/rotary.h"

namespace locus::conformance {

namespace {

/// [B,Tq,Tk], 1 = visible: the second sample has two keys of padding.  No query sees nothing, so all dialects agree.
IndexTensor padded_mask(Index queries, Index keys) {
    IndexTensor mask({2, queries, keys});
    for (Index n = 0; n < mask.size(); ++n) mask[n] = n < queries * keys || n % keys < keys - 2;
    return mask;
}

CaseContent terms_case(const std::string& name, Index queries, Index keys, Index span, const std::string& why) {
    const Index heads = 5, width = 4;
    CaseContent content;
    content.id = "L1/" + name;
    content.why = why;
    content.source = computed_by_locus();
    content.config = {{"span", span}, {"terms", 3}, {"head_width", width}};
    Numbers numbers(static_cast<std::uint64_t>(100 * queries + keys));
    content.inputs.add<double>("layer.0.q", numbers.tensor({2, heads, queries, width}));
    for (const char* stem : {"layer.0.k", "layer.0.v"})
        content.inputs.add<double>(stem, numbers.tensor({2, heads, keys, width}));
    for (const char* stem : {"layer.0.k_r", "layer.0.q_r"})
        content.inputs.add<double>(stem, numbers.tensor({heads, 2 * span, width}));
    const RelativeBuckets line = RelativeBuckets::clamped(queries, keys, span);
    content.inputs.add<std::int64_t>("relative.index", line.matrix());
    content.inputs.add(mask_stage(padded_mask(queries, keys)));
    compute_own_terms(content, line);
    return content;
}

/// Ordinary scores, and on the hidden keys 1e4 in the first sample, 1e9 in the second.
CaseContent huge_hidden_case() {
    const Index heads = 3, queries = 5, keys = 7;
    CaseContent content;
    content.id = "L1/softmax_huge_hidden";
    content.why =
        "A score of 1e4 or 1e9 on a hidden key: what is subtracted must be the maximum of visible keys alone.";
    content.source = computed_by_locus();
    content.config = {{"mask", "pairs"}};
    Tensor<double> scores = Numbers(57).tensor({2, heads, queries, keys});
    IndexTensor visible({2, queries, keys});
    for (Index n = 0; n < visible.size(); ++n) visible[n] = n % keys != 2 && n % keys != keys - 1;
    Tensor<double> probs(scores.shape());
    for (Index at = 0; at < 2 * heads; ++at) {
        const Mask mask = visible.matrix(at / heads).cast<std::uint8_t>();
        scores.matrix(at) *= 3;
        for (Index n = 0; n < mask.size(); ++n)
            if (mask.data()[n] == 0) scores.matrix(at).data()[n] = at < heads ? 1e4 : 1e9;
        probs.matrix(at) = masked_softmax<double>(scores.matrix(at), mask);
    }
    content.inputs.add<double>("layer.0.scores", std::move(scores));
    content.inputs.add(mask_stage(std::move(visible)));
    content.reference.add<double>("layer.0.probs", std::move(probs));
    return content;
}

}  // namespace

std::vector<CaseContent> own_terms() {
    return {huge_hidden_case(),
            terms_case("terms_h5_t7_k3", 7, 7, 3,
                       "Five heads: a wrong sqrt(D) cannot hide behind H = n, nor axes behind equal sizes."),
            terms_case("terms_h5_q3_k6", 3, 6, 4,
                       "Fewer queries than keys: rows are queries, columns keys, in every term.")};
}

CaseContent half_split_case(const CaseContent& roformer) {
    CaseContent content;
    content.id = "L1/rope_half_split";
    content.family = Family::roformer;
    content.why =
        "Pairs (t, t + d/2), as GPT-NeoX and the Llama weights converted by Hugging Face do; RoFormer and Meta's own "
        "Llama code pair neighbours.";
    content.dialect = Dialect::reference;
    content.source = computed_by_locus();
    content.config = {{"base", 10000}, {"layout", "half-split"}};
    for (const char* name : {"layer.0.q", "layer.0.k"}) content.inputs.add(roformer.reference.at(name));
    const auto& q = content.inputs.at("layer.0.q").as<double>();
    std::vector<double> theta;
    for (Index t = 0; 2 * t < q.extent(3); ++t)
        theta.push_back(std::pow(10000.0, -2.0 * static_cast<double>(t) / static_cast<double>(q.extent(3))));
    const RotaryTable<double> table = rotary_table<double>(theta, 0, q.extent(2));
    for (const auto& [from, to] : {std::pair{"layer.0.q", "layer.0.q_rot"}, {"layer.0.k", "layer.0.k_rot"}}) {
        Tensor<double> turned = content.inputs.at(from).as<double>();
        for (Index at = 0; at < turned.extent(0) * turned.extent(1); ++at)
            turned.matrix(at) = rotate<double>(turned.matrix(at), table, RotaryLayout::half_split);
        content.reference.add<double>(to, turned);
    }
    return content;
}

}  // namespace locus::conformance
