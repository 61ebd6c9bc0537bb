// L1 cases that no model of other people's shows: Locus computed them in double precision.
#include <cmath>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/models/layers.h"
#include "core/positions/rotary.h"
#include "tests/conformance/kit_content.h"

namespace locus::conformance {

namespace {

/// Seeded numbers between -1 and 1, the same on every machine.
class Numbers {
public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    Tensor<double> tensor(const Shape& shape) {
        Tensor<double> values(shape);
        for (Index n = 0; n < values.size(); ++n) {
            state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
            values[n] = static_cast<double>((state_ >> 33) % 2000001) / 1e6 - 1;
        }
        return values;
    }

private:
    std::uint64_t state_;
};

/// [B,Tq,Tk], 1 = visible: the second sample has two keys of padding.  No query sees nothing, so all dialects agree.
IndexTensor padded_mask(Index queries, Index keys) {
    IndexTensor mask({2, queries, keys});
    for (Index n = 0; n < mask.size(); ++n) mask[n] = n < queries * keys || n % keys < keys - 2;
    return mask;
}

Stage mask_stage(IndexTensor values) {
    Stage stage;
    stage.name = "mask";
    stage.axes = {"B", "Tq", "Tk"};
    stage.formula = "1 = visible";
    stage.values = std::move(values);
    return stage;
}

/// c2c ... context of one head after the other, from what content.inputs holds.
void compute_terms(CaseContent& content, const BucketLine& line) {
    const auto input = [&](const char* stem) -> const Tensor<double>& {
        return content.inputs.at(std::string("layer.0.") + stem).as<double>();
    };
    const IndexTensor& visible = content.inputs.at("mask").as<std::int64_t>();
    const Index batch = input("q").extent(0), heads = input("q").extent(1), width = input("q").extent(3);
    const Shape shape = {batch, heads, line.queries(), line.keys()};
    Tensor<double> c2c(shape), c2p(shape), p2c(shape), scores(shape), probs(shape);
    Tensor<double> split({batch, heads, line.queries(), width});
    for (Index at = 0; at < batch * heads; ++at) {
        const Index b = at / heads, h = at % heads;
        c2c.matrix(at) = content_to_content<double>(input("q").matrix(at), input("k").matrix(at));
        c2p.matrix(at) = content_to_position<double>(input("q").matrix(at), input("k_r").matrix(h), line);
        p2c.matrix(at) = position_to_content<double>(input("k").matrix(at), input("q_r").matrix(h), line);
        scores.matrix(at) = (c2c.matrix(at) + c2p.matrix(at) + p2c.matrix(at)) / score_divisor<double>(3, width);
        const Mask mask = visible.matrix(b).cast<std::uint8_t>();
        probs.matrix(at) = masked_softmax<double>(scores.matrix(at), mask);
        split.matrix(at) = probs.matrix(at) * input("v").matrix(at);
    }
    Trace& out = content.reference;
    const auto add = [&](const char* stem, Tensor<double> values) {
        out.add<double>(std::string("layer.0.") + stem, std::move(values));
    };
    add("c2c", std::move(c2c)), add("c2p", std::move(c2p)), add("p2c", std::move(p2c));
    add("scores", std::move(scores)), add("probs", std::move(probs)), add("context", join_heads(split));
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
    const BucketLine line = BucketLine::clamped(queries, keys, span);
    content.inputs.add<std::int64_t>("relative.index", line.matrix());
    content.inputs.add(mask_stage(padded_mask(queries, keys)));
    compute_terms(content, line);
    return content;
}

}  // namespace

std::vector<CaseContent> own_terms() {
    return {terms_case("terms_h5_t7_k3", 7, 7, 3,
                       "Five heads: a wrong sqrt(D) cannot hide behind H = n, nor axes behind equal sizes."),
            terms_case("terms_h5_q3_k6", 3, 6, 4,
                       "Fewer queries than keys: rows are queries, columns keys, in every term.")};
}

CaseContent half_split_case(const CaseContent& roformer) {
    CaseContent content;
    content.id = "L1/rope_half_split";
    content.family = Family::roformer;
    content.why = "Pairs (t, t + d/2), as GPT-NeoX and Llama turn them; a RoFormer does not.";
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
