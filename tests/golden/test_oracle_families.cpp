// Every stage of every RoFormer, Transformer-XL and XLNet case that other people's code recorded.
#include "tests/changed_model.h"

namespace locus::test::test_oracle_families {

TEST_CASE("oracle: every RoFormer case", "[oracle][roformer]") {
    const std::vector<Case> cases = cases_of({"hf_roformer"}, "tiny_roformer_trained", "tiny-roformer");
    REQUIRE(cases.size() == 7);
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            check_case(one);
        }
}

TEST_CASE("oracle: every Transformer-XL case", "[oracle][transformer_xl]") {
    const std::vector<Case> cases = cases_of({"txl_", "hf_txl_"}, "tiny_txl_trained", "tiny-txl");
    REQUIRE(cases.size() == 9);
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            check_case(one);
        }
}

TEST_CASE("oracle: every XLNet case", "[oracle][xlnet]") {
    const std::vector<Case> cases = cases_of({"hf_xlnet_"}, "tiny_xlnet_trained", "tiny-xlnet");
    REQUIRE(cases.size() == 10);
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            check_case(one);
        }
}

TEST_CASE("oracle: a query that sees nothing is zero by default and uniform in Hugging Face's dialect",
          "[oracle][xlnet][dialect]") {
    const Case one{kOracle / "hf_xlnet_order_3241", kOracle / "hf_xlnet_order_3241" / "model", {}};
    const Trace hf = run_case<double>(one, Dialect::hf), ours = run_case<double>(one, Dialect::reference);
    for (const char* layer : {"layer.0", "layer.1"}) {
        const std::string name = std::string(layer) + ".g.probs";
        const auto &uniform = hf.at(name).as<double>(), &zero = ours.at(name).as<double>();
        for (Index h = 0; h < uniform.extent(1); ++h) {
            CHECK((uniform.matrix(h).row(2).array() == 0.25).all());
            CHECK(zero.matrix(h).row(2).isZero(0));
        }
    }
    // In the first layer nothing else differs.
    auto a = hf.at("layer.0.g.probs").as<double>(), b = ours.at("layer.0.g.probs").as<double>();
    for (Index h = 0; h < a.extent(1); ++h) a.matrix(h).row(2).setZero();
    CHECK(a.values() == b.values());
    CHECK(hf.at("layer.1.output").as<double>().values() == ours.at("layer.1.output").as<double>().values());
}

TEST_CASE("oracle: a query that sees nothing, RoFormer", "[oracle][roformer][dialect]") {
    const Case one{kOracle / "hf_roformer_mask3d", kOracle / "hf_roformer_mask3d" / "model", {}};
    const auto uniform = run_case<double>(one, Dialect::hf).at("layer.0.probs").as<double>();
    const auto zero = run_case<double>(one, Dialect::reference).at("layer.0.probs").as<double>();
    Index hidden = 0;
    for (Index row = 0; row < uniform.rows().rows(); ++row) {
        if (uniform.rows().row(row) == zero.rows().row(row)) continue;
        ++hidden;
        CHECK(zero.rows().row(row).isZero(0));
        CHECK((uniform.rows().row(row).array() == uniform.rows()(row, 0)).all());
    }
    CHECK(hidden == uniform.extent(1));  // one query of one sample, in every head
}

/// Visible to query i: the keys up to i that the mask of tokens leaves visible.
IndexTensor causal_pairs(const ModelInput& input) {
    const Index length = input.length();
    IndexTensor pairs({input.batch(), length, length});
    for (Index b = 0; b < input.batch(); ++b)
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j <= i; ++j)
                pairs[(b * length + i) * length + j] = input.mask.empty() ? 1 : input.mask[b * length + j];
    return pairs;
}

TEST_CASE("oracle: a RoFormer that is a decoder sees no later token", "[oracle][roformer]") {
    const fs::path recorded = kOracle / "hf_roformer";
    const TemporaryFolder folder;
    copy_changed(recorded / "model", folder / "model", {{"is_decoder", true}});
    const auto encoder = open_case_model<double>(recorded / "model"),
               decoder = open_case_model<double>(folder / "model");
    std::vector<ModelInput> inputs = read_segments(recorded / "inputs.safetensors", recorded / "trace.safetensors");
    inputs.push_back(inputs.front());
    inputs.front().mask = {};
    inputs.back().mask = IndexTensor(inputs.back().tokens.shape());
    for (Index n = 0; n < inputs.back().mask.size(); ++n) inputs.back().mask[n] = n % 5 != 1;
    for (const ModelInput& input : inputs) {
        ModelInput pairs = input;
        pairs.mask = causal_pairs(input);
        const Trace found = decoder->forward({input}, Dialect::hf), expected = encoder->forward({pairs}, Dialect::hf);
        for (const Stage& stage : expected.stages()) {
            INFO(stage.name);
            CHECK(deviation(stage, found.at(stage.name)) == 0);
        }
        CHECK(deviation(encoder->forward({input}, Dialect::hf).at("mlm.logits"), found.at("mlm.logits")) > 0.01);
    }
}

}  // namespace locus::test::test_oracle_families
