// What the recorded code makes of a query that sees nothing is read off its own rows, whatever stands beside them.
#include <catch2/catch.hpp>

#include "core/conformance/diagnosis/evidence.h"
#include "tests/conformance/recorded.h"

namespace locus::test::test_visibility {

using namespace locus::conformance;

namespace {

/// XLNet's order 3, 2, 4, 1: in the query stream token 2 sees nothing.  `unused`: one more target stands for no token.
struct HiddenQuery {
    std::shared_ptr<const ModelFolder> model;
    std::vector<ModelInput> segments;
    Trace trace;
    Evidence evidence;

    HiddenQuery(Dialect dialect, std::optional<Index> unused)
        : model(ModelFolder::open((kOracle / "hf_xlnet_order_3241/model").string())),
          segments(read_segments(kOracle / "hf_xlnet_order_3241/inputs.safetensors",
                                 kOracle / "hf_xlnet_order_3241/trace.safetensors")),
          trace(pass(dialect, unused)),
          evidence{trace, trace, model, segments, dialect} {}
    HiddenQuery(const HiddenQuery&) = delete;

private:
    Trace pass(Dialect dialect, std::optional<Index> unused) {
        IndexTensor& targets = segments.front().target_mapping;
        const Index tokens = targets.extent(2);
        for (Index t = 0; unused && t < tokens; ++t) targets[*unused * tokens + t] = 0;
        return open_case_model<double>(kOracle / "hf_xlnet_order_3241/model")->forward(segments, dialect);
    }
};

}  // namespace

TEST_CASE("visibility: a target that is not used does not decide what a query without keys is", "[kit]") {
    for (const std::optional<Index> unused : {std::optional<Index>(), std::optional<Index>(0), std::optional<Index>(3)})
        for (const Dialect dialect : {Dialect::hf, Dialect::reference}) {
            INFO(to_string(dialect) << ", unused " << unused.value_or(-1));
            const HiddenQuery one(dialect, unused);
            const Replay at(one.evidence, "layer.0.g.");
            CHECK(at.masked_row() == (dialect == Dialect::hf ? MaskedRow::uniform : MaskedRow::zero));
            const Stage& probs = one.trace.at("layer.0.g.probs");
            CHECK(distance(at.computed("probs"), widened(probs)) < 1e-12);
        }
}

TEST_CASE("visibility: a hypothesis that hides other keys does not change what the recorded code does", "[kit]") {
    const HiddenQuery one(Dialect::reference, std::nullopt);
    const Replay at(one.evidence, "layer.0.");
    const Tensor<double> nothing(at("visible").shape());
    CHECK(at.with({{"visible", {}, [&](const Replay&) { return nothing; }}}).masked_row() == MaskedRow::zero);
}

}  // namespace locus::test::test_visibility
