// Right formulas of a backward pass make the gradients that other people's autograd recorded, and those that follow
// from nothing but the forward formulas.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/conformance/kit/kit_content.h"
#include "tests/conformance/recorded.h"

namespace locus::test::test_formulas_gradients {

using namespace locus::conformance;

namespace {

/// A case, and everything that is known of it in one trace.
struct Backward {
    explicit Backward(const CaseContent& content) : id(content.id), family(content.family) {
        for (const Trace* part : {&content.inputs, &content.reference})
            for (const Stage& stage : part->stages()) all.add(stage);
        evidence.family = family;
    }
    Backward(const Backward&) = delete;
    std::string id;
    Family family;
    Trace all;
    Evidence evidence{all, all, nullptr, {}};
};

std::vector<std::unique_ptr<Backward>> attentions() {
    std::vector<std::unique_ptr<Backward>> cases;
    for (const CaseContent& content : gradient_cases(test::kOracle))
        if (content.model.empty()) cases.push_back(std::make_unique<Backward>(content));
    return cases;
}

/// sum(context * grad.layer.0.context), with one stage replaced.
double loss(const Backward& one, const std::string& stem, const Tensor<double>& values) {
    const Replay replay(one.evidence, "layer.0.", {{stem, {}, [&](const Replay&) { return values; }}});
    const Tensor<double>& context = replay("context");
    const Tensor<double>& weights = replay("grad.context");
    double sum = 0;
    for (Index n = 0; n < context.size(); ++n) sum += context[n] * weights[n];
    return sum;
}

}  // namespace

TEST_CASE("gradients: every recorded gradient follows from the forward stages", "[kit][gradients]") {
    std::size_t checked = 0;
    for (const auto& one : attentions())
        for (const Stage& stage : one->all.stages()) {
            if (!stage.name.starts_with("grad.") || stage.name == "grad.layer.0.context") continue;
            INFO(one->id << " " << stage.name);
            // Gradients that nobody gave: those that formulas compute on their way are computed, not looked up.
            Trace forward;
            for (const Stage& other : one->all.stages())
                if (!other.name.starts_with("grad.") || other.name == "grad.layer.0.context") forward.add(other);
            Evidence evidence{forward, forward, nullptr, {}};
            evidence.family = one->family;
            const auto [scope, stem] = scope_and_stem(stage.name);
            const Tensor<double> expected = widened(stage);
            double size = 1;
            for (const double value : expected.values()) size = std::max(size, std::abs(value));
            CHECK(distance(Replay(evidence, scope).computed(stem), expected) <= 1e-12 * size);
            ++checked;
        }
    CHECK(checked == 3 * 7 + 2 * 5 + 2 * 8);
}

TEST_CASE("gradients: central differences of the forward formulas agree", "[kit][gradients]") {
    for (const auto& one : attentions()) {
        if (one->id != "L1/grad_t11_k3" && one->id != "L1/grad_rope_value") continue;
        // The mask is what the forward formulas ask for beside stages.
        ModelInput input;
        input.mask = one->all.at("mask").as<std::int64_t>();
        input.tokens = IndexTensor({input.mask.extent(0), input.mask.extent(1)});
        one->evidence.segments = {input};
        for (const char* stem : {"q", "k", "v", "q_r", "k_r"}) {
            if (!one->all.find(std::string("layer.0.") + stem)) continue;
            const Tensor<double> at = widened(one->all.at(std::string("layer.0.") + stem));
            const Tensor<double> gradient = widened(one->all.at(std::string("grad.layer.0.") + stem));
            for (Index n = 0; n < at.size(); n += 7) {
                const double step = 1e-5;
                Tensor<double> above = at, below = at;
                above[n] += step;
                below[n] -= step;
                INFO(one->id << " " << stem << " " << n);
                CHECK((loss(*one, stem, above) - loss(*one, stem, below)) / (2 * step) ==
                      Approx(gradient[n]).margin(1e-7));
            }
        }
    }
}

}  // namespace locus::test::test_formulas_gradients
