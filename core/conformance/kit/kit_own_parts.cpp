#include "core/conformance/kit/kit_own_parts.h"

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/models/layers.h"

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

void compute_own_terms(CaseContent& content, const RelativeBuckets& line) {
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

}  // namespace locus::conformance
