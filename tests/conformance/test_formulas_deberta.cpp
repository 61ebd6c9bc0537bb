// Every right formula of DeBERTa makes its recorded stage out of the other recorded stages, or out of few of them.
#include <catch2/catch.hpp>
#include <map>

#include "core/io/safetensors.h"
#include "tests/conformance/recorded.h"

namespace locus::test::test_formulas_deberta {

using namespace locus::conformance;

TEST_CASE("formulas: every stage of a recorded DeBERTa follows from the others", "[kit][oracle]") {
    std::map<std::string, int> checked;
    for (const auto& recorded : recorded_cases(Family::deberta))
        for (const Stage& stage : recorded->trace.stages()) {
            if (stage.name == "mlm.positions") continue;  // given, not computed
            INFO(recorded->one.name() << " " << stage.name);
            const auto [scope, stem] = scope_and_stem(stage.name);
            Tensor<double> found;
            CHECK_NOTHROW(found = Replay(recorded->evidence, scope).computed(stem));
            CHECK(distance(found, widened(stage)) <= recorded->allowed(stage));
            ++checked[scope.substr(0, 4) + stem];
        }
    for (const char* stem :
         {"/embeddings.word", "/embeddings.output", "layeconv", "layeconv_act", "layeoutput_before_conv", "layeoutput",
          "layescores_mixed", "layeprobs_mixed", "/emd.query.0", "emd.q", "emd.k", "emd.attention", "emd.output",
          "/mlm.transform", "/mlm.logits", "/mlm.transform_at_positions", "/mlm.logits_at_positions", "/mlm.loss"}) {
        INFO(stem);
        CHECK(checked[stem] > 0);
    }
}

TEST_CASE("formulas: a stage that nobody reports is computed from those it follows from", "[kit][oracle]") {
    for (const auto& recorded : recorded_cases(Family::deberta)) {
        if (recorded->one.name() != "ms_deberta_v2_conv_emd") continue;
        const std::set<std::string> kept = {"embeddings.word", "layer.0.output_before_conv",
                                            "layer.0.output",  "layer.1.output",
                                            "layer.2.output",  "emd.0.output"};
        Trace sparse;
        for (const Stage& stage : recorded->trace.stages())
            if (kept.contains(stage.name)) sparse.add(stage);
        const Evidence evidence{sparse, sparse, recorded->evidence.model, recorded->evidence.segments,
                                recorded->evidence.dialect};
        for (const char* name : {"embeddings.output", "layer.0.conv_act", "layer.0.output", "layer.0.context",
                                 "emd.1.attention", "emd.1.output"}) {
            INFO(name);
            const Stage& stage = recorded->trace.at(name);
            const auto [scope, stem] = scope_and_stem(name);
            CHECK(distance(Replay(evidence, scope).computed(stem), widened(stage)) <= 4 * recorded->allowed(stage));
        }
    }
}

}  // namespace locus::test::test_formulas_deberta
