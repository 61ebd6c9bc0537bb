// Every stage of every RoFormer, Transformer-XL and XLNet case that other people's code recorded.
#include "tests/oracle_cases.h"

namespace locus::test::test_oracle_families {

TEST_CASE("oracle: every RoFormer case", "[oracle][roformer]") {
    const std::vector<Case> cases = cases_of({"hf_roformer"}, "tiny_roformer_trained", "tiny-roformer");
    REQUIRE(cases.size() == 6);
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            check_case(one);
        }
}

TEST_CASE("oracle: every Transformer-XL case", "[oracle][transformer_xl]") {
    const std::vector<Case> cases = cases_of({"txl_"}, "tiny_txl_trained", "tiny-txl");
    REQUIRE(cases.size() == 6);
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            check_case(one);
        }
}

TEST_CASE("oracle: every XLNet case", "[oracle][xlnet]") {
    const std::vector<Case> cases = cases_of({"hf_xlnet_"}, "tiny_xlnet_trained", "tiny-xlnet");
    REQUIRE(cases.size() == 9);
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

}  // namespace locus::test::test_oracle_families
