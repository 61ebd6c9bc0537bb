// The toy ports, no slip made, give what other people's code recorded: an independent twin of every family.
#include "tests/conformance/toy/toy_port.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_toy_ports {

using namespace locus::conformance::toy;

namespace {

template <class Scalar>
Trace run_right(const Case& one) {
    ToyOptions options;
    options.hugging_face = one.dialect() == Dialect::hf;
    return run_toy<Scalar>(one.model.string(),
                           read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors"), options);
}

void check_port(const std::vector<Case>& cases) {
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            const Trace recorded = read_trace(one.folder / "trace.safetensors");
            const fs::path exact = one.folder / "trace_exact.safetensors";
            const double tolerance = one.json["tolerance"].get<double>();
            const Trace found = run_right<double>(one);
            check_all(recorded, found, tolerance);
            if (fs::exists(exact)) check_all(read_trace(exact), found, one.json["tolerance_exact"].get<double>());
            check_all_f32(recorded, run_right<float>(one), tolerance);
        }
}

}  // namespace

TEST_CASE("toy ports: DeBERTa equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"hf_deberta_", "ms_deberta_"}, "tiny_v3_trained", "tiny-v3");
    REQUIRE(cases.size() == 18);
    check_port(cases);
}

TEST_CASE("toy ports: RoFormer equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"hf_roformer"}, "tiny_roformer_trained", "tiny-roformer");
    REQUIRE(cases.size() == 5);
    check_port(cases);
}

TEST_CASE("toy ports: Transformer-XL equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"txl_"}, "tiny_txl_trained", "tiny-txl");
    REQUIRE(cases.size() == 5);
    check_port(cases);
}

TEST_CASE("toy ports: XLNet equals every recorded case", "[kit][toy]") {
    const auto cases = cases_of({"hf_xlnet_"}, "tiny_xlnet_trained", "tiny-xlnet");
    REQUIRE(cases.size() == 8);
    check_port(cases);
}

}  // namespace locus::test::test_toy_ports
