// Two mistakes that only together explain a stage: when they are named, and when not.
#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/conformance/diagnosis/replay.h"
#include "tests/conformance/toy/several_mistakes.h"

namespace locus::test::test_pairs {

using namespace locus::conformance;
using namespace locus::conformance::toy;

TEST_CASE("pairs: two in one stage are found as a pair, and neither is named alone", "[kit][several]") {
    const SeveralMistakes port =
        GENERATE(values<SeveralMistakes>({{Family::deberta, "ms_deberta_v3_emd", {{26, 0}, {86, 0}}},
                                          {Family::deberta, "ms_deberta_v3_emd", {{26, 0}, {82, 1}}},
                                          {Family::roformer, "hf_roformer", {{27, 0}, {82, 1}}}}));
    const Range& range = several_range(port.family, port.where);
    const AllMistakes all = all_of(range, range.sharp, port_with_all<double>(range, port.ways));
    INFO(port.where << "\n" << said(all));
    REQUIRE(all.stages.front().pair.size() == 2);
    CHECK_FALSE(all.stages.front().diagnosis.named);
    CHECK(numbers_of(all) == std::set<int>{port.ways[0].first, port.ways[1].first});
    CHECK(all.repaired == Repaired::yes);
    for (const Explanation& each : all.stages.front().pair) CHECK(each.fits());
}

TEST_CASE("pairs: two in stages that nobody reports are found as a pair in the first stage after them",
          "[kit][several]") {
    struct SmallDump {
        SeveralMistakes port;
        std::string globs;
    };
    const SmallDump dump = GENERATE(
        values<SmallDump>({{{Family::deberta, "ms_deberta_v3_emd", {{26, 0}, {32, 0}}}, "*.probs"},  // scale and mask
                           {{Family::deberta, "ms_deberta_v3_emd", {{26, 0}, {36, 0}}}, "layer.0.probs"},
                           {{Family::deberta, "ms_deberta_v3_emd", {{86, 0}, {32, 0}}}, "*.c2c,*.c2p,*.p2c,*.probs"},
                           {{Family::deberta, "ms_deberta_v3_emd", {{1, 0}, {95, 0}}}, "layer.0.probs"},
                           {{Family::deberta, "hf_deberta_v1", {{28, 1}, {95, 0}}}, "*.probs"},
                           {{Family::deberta, "ms_deberta_v3_emd", {{25, 0}, {32, 0}}}, "*.context"},
                           {{Family::roformer, "hf_roformer", {{27, 0}, {95, 0}}}, "*.probs"},
                           {{Family::roformer, "hf_roformer", {{56, 0}, {27, 0}}}, "layer.0.probs"},
                           {{Family::xlnet, "hf_xlnet_bi", {{26, 1}, {73, 0}}}, "*.probs"}}));
    const Range& range = several_range(dump.port.family, dump.port.where);
    const auto check = [&](const Trace& reference, const Trace& port) {
        const AllMistakes all = all_of(range, reference, reported(port, dump.globs));
        INFO(dump.port.where << ", " << dump.globs << "\n" << said(all));
        CHECK(all.stages.front().pair.size() == 2);
        CHECK_FALSE(all.stages.front().diagnosis.named);
        CHECK(numbers_of(all) == std::set<int>{dump.port.ways[0].first, dump.port.ways[1].first});
    };
    check(range.sharp, port_with_all<double>(range, dump.port.ways));
    check(range.recorded, port_with_all<float>(range, dump.port.ways));
}

TEST_CASE("pairs: where two met in one stage, one of them alone in another has its name", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    // The weight of q read by columns, and q, k and v cut into heads without a transpose.
    const AllMistakes all = all_of(range, range.sharp, port_with_all<double>(range, {{82, 0}, {121, 0}}));
    INFO(said(all));
    const auto first = [&](const std::string& stage) -> const WrongStage& {
        REQUIRE(wrong_at(all, stage));
        return *wrong_at(all, stage);
    };
    CHECK(first("layer.0.q").pair.size() == 2);
    CHECK(first("layer.1.q").first_at == "layer.0.q");
    CHECK(first("emd.1.q").first_at == "layer.0.q");
    REQUIRE(first("layer.0.k").diagnosis.named);
    CHECK(first("layer.0.k").diagnosis.named->mistake == 121);
    CHECK(first("layer.0.k").first_at.empty());
    CHECK(first("layer.0.v").first_at == "layer.0.k");
    CHECK(all.repaired == Repaired::yes);
}

TEST_CASE("pairs: a mistake in a layer is named beside another stage that nothing explains", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    Trace port;
    const Trace cut = port_with_all<double>(range, {{121, 0}});
    for (const char* name : {"embeddings.output", "relative.table", "layer.0.q_r", "layer.0.k_r"})
        port.add(cut.at(name));
    Stage q = cut.at("layer.0.q");
    Tensor<double>& values = std::get<Tensor<double>>(q.values);
    for (Index n = 0; n < values.size(); ++n) values[n] += std::sin(static_cast<double>(n));
    port.add(q);
    port.add(cut.at("layer.0.k"));
    // The term that follows from that q is no proof against a mistake that speaks of queries, too.
    Stage c2p = cut.at("layer.0.c2p");
    c2p.values = Replay(Evidence{range.sharp, port, range.model, range.segments}, "layer.0.").computed("c2p");
    port.add(c2p);
    const AllMistakes all = all_of(range, range.sharp, port);
    INFO(said(all));
    REQUIRE(wrong_at(all, "layer.0.k"));
    REQUIRE(wrong_at(all, "layer.0.k")->diagnosis.named);
    CHECK(wrong_at(all, "layer.0.k")->diagnosis.named->mistake == 121);
}

TEST_CASE("pairs: a number that all scores share is one mistake or none, never a pair", "[kit][several]") {
    for (const auto& [family, where, divisor] : {std::tuple{Family::deberta, "ms_deberta_v3_emd", "sqrt(n d)"},
                                                 std::tuple{Family::roformer, "hf_roformer", "sqrt(d)"},
                                                 std::tuple{Family::transformer_xl, "txl_basic", "sqrt(d)"}}) {
        const Range& range = several_range(family, where);
        const std::string name = (range.segments.size() > 1 ? "segment.0." : "") + std::string("layer.0.scores");
        for (const double factor : {1 / std::sqrt(3.0), 1 / std::sqrt(2.0), 0.37, 1.9}) {
            Trace port;
            for (const Stage& stage : range.sharp.stages()) {
                Stage own = stage;
                if (stage.name == name) {
                    auto& values = std::get<Tensor<double>>(own.values);
                    for (Index n = 0; n < values.size(); ++n) values[n] *= factor;
                }
                port.add(own);
            }
            const AllMistakes all = all_of(range, range.sharp, port);
            INFO(where << " " << factor << "\n" << said(all));
            REQUIRE(wrong_at(all, name));
            CHECK(wrong_at(all, name)->pair.empty());
            CHECK_THAT(wrong_at(all, name)->diagnosis.pattern,
                       Catch::Contains(" times what it should be: divided by ") &&
                           Catch::Contains(std::string(" instead of ") + divisor));
        }
    }
}

TEST_CASE("pairs: what changes nothing by itself is no half of a pair", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const Trace port = reported(port_with_all<float>(range, {{43, 1}}), "*.output");
    const Evidence evidence{range.recorded, port, range.model, range.segments};
    const Comparison comparison = compare(range.recorded, port);
    REQUIRE(comparison.first());
    CHECK(comparison.first()->name == "layer.0.output");
    const Judge judge(evidence, comparison, *comparison.first());
    const auto way = [](int number, const std::string& how) -> const Variant& {
        for (const Variant& each : mistake_of(number).variants)
            if (each.how == how) return each;
        throw std::runtime_error("no way is called " + how);
    };
    // An eps of 1e-12 for 1e-7 in one norm: nothing that float shows.  Put over a half of 43 it brings the right
    // formula back there.
    CHECK_FALSE(judge.changes(way(40, "eps 1e-12, at least in the norm after the feed-forward part")));
    CHECK(judge.changes(way(40, "eps 1e-3, at least in the norm after the feed-forward part")));
    CHECK(judge.changes(way(43, "after the sublayer, before the residual joins")));
    const AllMistakes all = all_of(range, range.recorded, port);
    INFO(said(all));
    CHECK(numbers_of(all) == std::set<int>{43});
    CHECK(all.stages.front().pair.empty());
}

TEST_CASE("pairs: two mistakes of which one may be another are named with that beside it", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    // Where no query sees what comes after it, p2c of the paper reads the rows of a distance that was negated.
    const AllMistakes all =
        all_of(range, range.sharp, reported(port_with_all<double>(range, {{1, 0}, {95, 0}}), "layer.0.probs"));
    INFO(said(all));
    REQUIRE(all.stages.front().pair.size() == 2);
    CHECK(all.stages.front().pair[0].mistake == 1);
    CHECK(all.stages.front().pair[0].how == "the same numbers here: mistake 12");
    CHECK(all.stages.front().pair[1].mistake == 95);
    CHECK(all.stages.front().pair[1].how == "a causal mask in an encoder");
}

TEST_CASE("pairs: what no two mistakes explain in one layer is not tried again in every other", "[kit][several]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const Variant other = {"ffn is another",
                           {{"ffn", {"ffn_act"}, [](const Replay& at) { return shaken(at.right("ffn")); }}}};
    const Trace made = mistaken_pass({range.model, range.segments, Dialect::reference, range.sharp}, other).trace;
    const Trace outputs = reported(made, "*.output");
    const AllMistakes all = all_of(range, range.sharp, outputs);
    INFO(said(all));
    CHECK(all.repaired == Repaired::no);
    CHECK(all.stages.size() == 5);
    CHECK(all.pairs_tried > 0);
    CHECK(all.pairs_tried == all_of(range, range.sharp, ended_at(outputs, "layer.0.output")).pairs_tried);
}

}  // namespace locus::test::test_pairs
