// Every right formula of DeBERTa makes its recorded stage out of the other recorded stages.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/io/safetensors.h"
#include "tests/conformance/recorded.h"

using namespace locus;
using namespace locus::conformance;

namespace {

/// Rows of queries that see no key: official code leaves 0 there, Hugging Face 1/T; both are right in their dialect.
void forget_hidden_rows(const Replay& at, Tensor<double>& probs) {
    for (Index n = 0; n < probs.extent(0) * probs.extent(1); ++n) {
        const Mask mask = at.mask(n / probs.extent(1));
        for (Index i = 0; i < mask.rows(); ++i)
            if (mask.row(i).maxCoeff() == 0) probs.matrix(n).row(i).setZero();
    }
}

/// Rows beyond the table's clamp differ between official code and Hugging Face.
bool is_a_matter_of_dialect(const Recorded& recorded, const std::string& name) {
    return name == "relative.index" && recorded.name == "hf_deberta_v2_long";
}

}  // namespace

TEST_CASE("formulas: every stage of a recorded DeBERTa follows from the others", "[kit]") {
    std::map<std::string, int> checked;
    for (const test::Case& one : deberta_cases()) {
        const Recorded recorded(one);
        const Evidence evidence = recorded.evidence();
        for (const Stage& stage : recorded.trace.stages()) {
            if (is_a_matter_of_dialect(recorded, stage.name) || stage.name == "mlm.positions") continue;
            INFO(recorded.name << " " << stage.name);
            const auto [scope, stem] = place_of(stage.name);
            const Replay replay(evidence, scope);
            Tensor<double> expected = widened(stage), found;
            CHECK_NOTHROW(found = replay.computed(stem));
            if (stem == "probs" && found.shape() == expected.shape()) {
                forget_hidden_rows(replay, expected);
                forget_hidden_rows(replay, found);
            }
            CHECK(deviation(found, expected) <= recorded.tolerance);
            ++checked[stem];
        }
    }
    for (const char* stem : {"/embeddings.word", "/embeddings.output", "conv", "conv_act", "output_before_conv",
                             "output", "scores_mixed", "probs_mixed", "/emd.query.0", "/mlm.transform", "/mlm.logits",
                             "/mlm.transform_at_positions", "/mlm.logits_at_positions", "/mlm.loss"}) {
        INFO(stem);
        CHECK(checked[stem] > 0);
    }
}

TEST_CASE("formulas: a stage that nobody reports is computed from those it follows from", "[kit]") {
    for (const test::Case& one : deberta_cases()) {
        if (one.name() != "ms_deberta_v2_conv_emd") continue;
        const Recorded recorded(one);
        const std::set<std::string> kept = {"embeddings.word",
                                            "layer.0.output",
                                            "layer.1.output",
                                            "layer.2.output",
                                            "emd.0.output",
                                            "emd.1.output",
                                            "layer.0.output_before_conv"};
        Trace sparse;
        for (const Stage& stage : recorded.trace.stages())
            if (kept.contains(stage.name)) sparse.add(stage);
        const Evidence evidence{sparse, sparse, recorded.model, recorded.segments};
        for (const char* name : {"embeddings.output", "layer.0.conv_act", "layer.0.output", "emd.1.attention",
                                 "mlm.transform", "mlm.logits", "mlm.loss"}) {
            const Stage* stage = recorded.trace.find(name);
            if (!stage) continue;
            INFO(recorded.name << " " << name);
            const auto [scope, stem] = place_of(name);
            CHECK(deviation(Replay(evidence, scope).computed(stem), widened(*stage)) <= 2 * recorded.tolerance);
        }
    }
}
