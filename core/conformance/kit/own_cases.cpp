// L1 cases that Locus made up itself: from seeded numbers, through its own double-precision formulas.
#include <cmath>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/conformance/kit/cases.h"
#include "core/models/layers.h"
#include "core/positions/rotary.h"
#include "core/products.h"

namespace locus::conformance {

Stage mask_stage(IndexTensor values) {
    Stage stage;
    stage.name = "mask";
    if (values.rank() == 3)
        stage.axes = {"B", "Tq", "Tk"};
    else
        stage.axes = {"B", "T"};
    stage.formula = "1 = visible";
    stage.values = std::move(values);
    return stage;
}

void compute_own_terms(CaseContent& content, const RelativeBuckets& buckets) {
    const auto input = [&](const char* stem) -> const Tensor<double>& {
        return content.inputs.at(std::string("layer.0.") + stem).as<double>();
    };
    const IndexTensor& visible = content.inputs.at("mask").as<std::int64_t>();
    const Index batch = input("q").extent(0), heads = input("q").extent(1), width = input("q").extent(3);
    const Shape shape = {batch, heads, buckets.queries(), buckets.keys()};
    Tensor<double> c2c(shape), c2p(shape), p2c(shape), scores(shape), probs(shape);
    Tensor<double> split({batch, heads, buckets.queries(), width});
    for (Index at = 0; at < batch * heads; ++at) {
        const Index b = at / heads, h = at % heads;
        c2c.matrix(at) = content_to_content<double>(input("q").matrix(at), input("k").matrix(at));
        c2p.matrix(at) = content_to_position<double>(input("q").matrix(at), input("k_r").matrix(h), buckets);
        p2c.matrix(at) = position_to_content<double>(input("k").matrix(at), input("q_r").matrix(h), buckets);
        scores.matrix(at) = (c2c.matrix(at) + c2p.matrix(at) + p2c.matrix(at)) / score_divisor<double>(3, width);
        const Mask mask = visible.matrix(b).cast<std::uint8_t>();
        probs.matrix(at) = masked_softmax<double>(scores.matrix(at), mask);
        split.matrix(at) = times<double>(probs.matrix(at), input("v").matrix(at));
    }
    Trace& out = content.reference;
    const auto add = [&](const char* stem, Tensor<double> values) {
        out.add<double>(std::string("layer.0.") + stem, std::move(values));
    };
    add("c2c", std::move(c2c)), add("c2p", std::move(c2p)), add("p2c", std::move(p2c));
    add("scores", std::move(scores)), add("probs", std::move(probs)), add("context", join_heads(split));
}

// L1 cases that no model of other people's shows: Locus computed them in double precision.

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
    const RelativeBuckets buckets = RelativeBuckets::clamped(queries, keys, span);
    content.inputs.add<std::int64_t>("relative.index", buckets.matrix());
    content.inputs.add(mask_stage(padded_mask(queries, keys)));
    compute_own_terms(content, buckets);
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
        Tensor<double> rotated = content.inputs.at(from).as<double>();
        for (Index at = 0; at < rotated.extent(0) * rotated.extent(1); ++at)
            rotated.matrix(at) = rotate<double>(rotated.matrix(at), table, RotaryLayout::half_split);
        content.reference.add<double>(to, rotated);
    }
    return content;
}

// L1: texts longer than a tile of 8, 16, 32 or 64, no size a multiple of one: what a GPU's kernel does at its edges.

namespace {

constexpr Index kLength = 70, kWidth = 4;

CaseContent tile_case(const std::string& name, const RelativeBuckets& buckets, Index rows, const std::string& why,
                      nlohmann::ordered_json config) {
    const Index heads = 2;
    CaseContent content;
    content.id = "L1/" + name;
    content.why = why;
    content.source = computed_by_locus();
    content.config = std::move(config);
    content.config["terms"] = 3;
    content.config["head_width"] = kWidth;
    Numbers numbers(static_cast<std::uint64_t>(rows));
    for (const char* stem : {"layer.0.q", "layer.0.k", "layer.0.v"})
        content.inputs.add<double>(stem, numbers.tensor({1, heads, kLength, kWidth}));
    for (const char* stem : {"layer.0.k_r", "layer.0.q_r"})
        content.inputs.add<double>(stem, numbers.tensor({heads, rows, kWidth}));
    IndexTensor visible({1, kLength, kLength});
    for (Index n = 0; n < visible.size(); ++n) visible[n] = n % kLength < kLength - 3;
    content.inputs.add(mask_stage(std::move(visible)));
    content.reference.add<std::int64_t>("relative.index", buckets.matrix());
    compute_own_terms(content, buckets);
    return content;
}

}  // namespace

std::vector<CaseContent> tile_cases() {
    const Index span = 37, buckets = 18, max_position = 64;
    return {tile_case("tiles_t70_k37", RelativeBuckets::clamped(kLength, kLength, span), 2 * span,
                      "Longer than a tile of 64, and than the span: far tiles are clamped, the last tile is not full.",
                      {{"span", span}}),
            tile_case("tiles_t70_b18",
                      RelativeBuckets::logarithmic(kLength, kLength, buckets, max_position, OffsetClamp::official),
                      2 * buckets, "The same with log buckets: a tile's rows are no run of the table.",
                      {{"position_buckets", buckets}, {"max_position", max_position}})};
}

}  // namespace locus::conformance
