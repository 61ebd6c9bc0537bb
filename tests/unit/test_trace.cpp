#include <algorithm>
#include <catch2/catch.hpp>

#include "core/stages.h"
#include "core/trace.h"
#include "tests/files.h"

namespace locus::test::test_trace {

TEST_CASE("trace: globs choose stages", "[trace]") {
    const StageFilter filter("layer.0.c2?,mlm.*");
    CHECK(filter.keeps("layer.0.c2p"));
    CHECK(filter.keeps("mlm.logits"));
    CHECK_FALSE(filter.keeps("layer.0.p2c"));
    CHECK_FALSE(filter.keeps("layer.0.c2"));
    CHECK_FALSE(filter.keeps("layer.10.c2p"));
    CHECK(StageFilter("*.output").keeps("emd.1.output"));
    CHECK_FALSE(StageFilter("*.output").keeps("layer.0.output_before_conv"));
    CHECK(StageFilter("*").keeps("anything"));
    CHECK_FALSE(StageFilter::none().keeps("anything"));
    CHECK_THROWS_AS(StageFilter("layer.0.q,,mlm.*"), Error);
}

TEST_CASE("trace: classes of characters in globs", "[trace]") {
    const StageFilter some("layer.[02-4].c2?");
    for (const char* name : {"layer.0.c2p", "layer.2.c2c", "layer.3.c2p", "layer.4.c2p"}) CHECK(some.keeps(name));
    for (const char* name : {"layer.1.c2p", "layer.5.c2p", "layer.-.c2p", "layer.02.c2p", "layer.0.p2c", "layer..c2p"})
        CHECK_FALSE(some.keeps(name));
    CHECK(StageFilter("layer.[!01].q").keeps("layer.2.q"));
    CHECK_FALSE(StageFilter("layer.[!01].q").keeps("layer.1.q"));
    CHECK(StageFilter("layer.1[01].q").keeps("layer.11.q"));
    CHECK(StageFilter("*.[qk]").keeps("layer.10.k"));
    CHECK(StageFilter("*[02].q").keeps("layer.22.q"));
    // A class may hold a bracket and a dash; what is never closed is no class.
    CHECK(StageFilter("a[]]").keeps("a]"));
    CHECK(StageFilter("a[!]]").keeps("ab"));
    CHECK(StageFilter("a[b-]").keeps("a-"));
    CHECK(StageFilter("a[").keeps("a["));
    CHECK(StageFilter("a[!").keeps("a[!"));
    CHECK_FALSE(StageFilter("a[b").keeps("ab"));
    CHECK_FALSE(StageFilter("a[b]").keeps("a"));
}

TEST_CASE("trace: patterns that match nothing are told", "[trace]") {
    const StageFilter filter("layr.*,layer.0.q");
    const std::vector<std::string> names = {"layer.0.q", "layer.0.k"};
    CHECK(filter.unmatched(names) == std::vector<std::string>{"layr.*"});
    const auto refused = [&](const char* globs) {
        return refusal([&] { StageFilter(globs).check_against(names); }, Fault::usage);
    };
    CHECK_THAT(refused("layr.*"), Catch::Contains("expected names like layer.0.q or layer.0.k;"));
    CHECK_THAT(refused("layers.0.k"), Catch::Contains("the nearest is layer.0.k;"));
    CHECK_THAT(refused("layer.0.K"), Catch::Contains("the nearest is layer.0.k;"));
    CHECK_THAT(refused("layer.0.q, "), Catch::Contains("an empty pattern"));
    CHECK_NOTHROW(StageFilter("layer.0.q, layer.0.k ").check_against(names));  // as people write a list
}

TEST_CASE("trace: stages keep their order, their names are unique and known", "[trace]") {
    Trace trace;
    trace.add("layer.0.q", Tensor<float>({1, 1, 2, 2}));
    trace.add("layer.0.c2c", Tensor<float>({1, 1, 2, 2}));
    CHECK(trace.names() == std::vector<std::string>{"layer.0.q", "layer.0.c2c"});
    CHECK(trace.at("layer.0.c2c").axes == std::vector<std::string>{"B", "H", "Tq", "Tk"});
    CHECK_THROWS_AS(trace.add("layer.0.q", Tensor<float>({1})), Error);
    CHECK_THROWS_AS(trace.add("layer.0.quary", Tensor<float>({1})), Error);
    CHECK_THROWS_AS(trace.at("layer.1.q"), Error);
}

TEST_CASE("trace: what the filter does not want is not stored", "[trace]") {
    Trace trace{StageFilter("layer.0.q")};
    trace.add("layer.0.q", Tensor<double>({1}));
    trace.add("layer.0.k", Tensor<double>({1}));
    CHECK(trace.names() == std::vector<std::string>{"layer.0.q"});
    CHECK(std::string(trace.at("layer.0.q").dtype()) == "F64");
    CHECK_THROWS_AS(trace.at("layer.0.q").as<float>(), Error);
}

TEST_CASE("trace: a pass is complete once every announced stage that is wanted is there", "[trace]") {
    Trace trace{StageFilter("layer.0.*,layer.1.q")};
    CHECK_FALSE(trace.complete());  // nothing announced: the pass runs to its end
    CHECK_THROWS_WITH(trace.expect({"layer.0.q", "layer.0.k"}), Catch::Contains("\"layer.1.q\" matches no stage"));
    trace.expect({"layer.0.q", "layer.0.k", "layer.0.v", "layer.1.q", "layer.1.k", "layer.10.q"});
    CHECK(trace.awaits("layer.0."));
    CHECK(trace.awaits("layer.1"));
    CHECK_FALSE(trace.awaits("layer.10"));
    for (const char* name : {"layer.0.q", "layer.0.k", "layer.1.k", "layer.1.q", "layer.10.q"}) {
        trace.add(name, Tensor<double>({1}));
        CHECK_FALSE(trace.complete());
    }
    CHECK_FALSE(trace.awaits("layer.1."));
    trace.add("layer.0.v", Tensor<double>({1}));
    CHECK(trace.complete());
    CHECK_FALSE(trace.awaits(""));
    Trace nothing(StageFilter::none());
    nothing.expect({"layer.0.q"});
    CHECK(nothing.complete());
}

TEST_CASE("stages: every name of the contract is known", "[stages]") {
    for (const char* name : {"embeddings.word",
                             "embeddings.output",
                             "relative.index",
                             "relative.table",
                             "layer.0.q",
                             "layer.11.k_r",
                             "layer.0.scores_mixed",
                             "layer.0.output_before_conv",
                             "layer.0.conv_act",
                             "emd.query.0",
                             "emd.1.c2p",
                             "mlm.transform",
                             "mlm.logits_at_positions",
                             "mlm.loss",
                             "rotary.sin",
                             "layer.3.q_rot",
                             "positions.r",
                             "layer.2.bd_raw",
                             "layer.2.g.probs",
                             "memory.1",
                             "segment.1.layer.0.ac",
                             "lm.logits",
                             "rtd.norm",
                             "grad.layer.0.q",
                             "grad.segment.1.layer.0.bias.u",
                             "grad.layer.0.rel_attn.q",
                             "grad.deberta.embeddings.word_embeddings.weight",
                             "layer.0.keep",
                             "sift.delta"}) {
        INFO(name);
        CHECK(describe_stage(name));
    }
    for (const char* name : {"", "layer", "layer.0", "layer.x.q", "layer.0.quary", "emd.query", "logits", "mlm.",
                             "layer.-1.q.r", "grad.", "grad.layer.0.quary", "grad.mlm.logit", "grad.grad.layer.0.q"}) {
        INFO(name);
        CHECK_FALSE(describe_stage(name));
    }
}

TEST_CASE("stages: model order", "[stages]") {
    std::vector<std::string> names = {"mlm.logits",  "emd.1.q",          "layer.10.q",  "layer.2.output",
                                      "unknown.b",   "layer.2.q",        "unknown.a",   "emd.0.q",
                                      "emd.query.0", "relative.index",   "layer.2.c2c", "emd.0.output",
                                      "layer.2.p2c", "embeddings.output"};
    std::sort(names.begin(), names.end(), stage_comes_before);
    CHECK(names == std::vector<std::string>{"embeddings.output", "relative.index", "layer.2.q", "layer.2.c2c",
                                            "layer.2.p2c", "layer.2.output", "layer.10.q", "emd.query.0", "emd.0.q",
                                            "emd.0.output", "emd.1.q", "mlm.logits", "unknown.a", "unknown.b"});
}

TEST_CASE("stages: gradients come after the pass, from its end to its beginning", "[stages]") {
    std::vector<std::string> names = {"grad.layer.0.q",      "grad.deberta.embeddings.word_embeddings.weight",
                                      "layer.1.output",      "grad.layer.0.probs",
                                      "grad.layer.1.k_r",    "grad.lm_predictions.lm_head.bias",
                                      "grad.layer.0.scores", "mlm.loss",
                                      "grad.layer.1.v"};
    std::sort(names.begin(), names.end(), stage_comes_before);
    CHECK(names == std::vector<std::string>{"layer.1.output", "mlm.loss", "grad.layer.1.k_r", "grad.layer.1.v",
                                            "grad.layer.0.probs", "grad.layer.0.scores", "grad.layer.0.q",
                                            "grad.lm_predictions.lm_head.bias",
                                            "grad.deberta.embeddings.word_embeddings.weight"});
}

TEST_CASE("stages: a gradient has the axes of what it belongs to, and its own equation", "[stages]") {
    CHECK(describe_stage("grad.layer.0.k_r")->axes == std::vector<std::string>{"H", "2k", "d"});
    CHECK(describe_stage("grad.layer.0.k_r")->formula == "sum_b G_c^T q");
    CHECK(describe_stage("grad.layer.0.q", Scheme::rotary)->formula.starts_with("R_-m"));
    CHECK(describe_stage("grad.layer.3.ffn_act")->formula == "d_ffn W_2");
    CHECK(describe_stage("grad.emd.0.output")->formula.starts_with("of the layer after: norm_backward(d_attention)"));
    CHECK(describe_stage("grad.layer.0.conv")->formula == "d loss / d layer.0.conv");
    CHECK(describe_stage("grad.layer.0.probs")->meaning.find("after the mask") != std::string::npos);
}

TEST_CASE("trace: a stage's formula is that of its family", "[trace]") {
    CHECK(describe_stage("layer.1.scores")->formula == "(c2c + c2p + p2c) / sqrt(n d)");
    CHECK(describe_stage("layer.1.p2c")->formula == "k_j . q_r[delta(i,j)]");
    CHECK(describe_stage("layer.1.p2c", Scheme::disentangled_ji)->formula == "k_j . q_r[delta(j,i)]");
    CHECK(describe_stage("layer.1.p2c", Scheme::disentangled_ji)->source == describe_stage("layer.1.p2c")->source);
    CHECK(describe_stage("lm.loss", Scheme::transformer_xl)->axes == std::vector<std::string>{"B", "T"});
    CHECK(describe_stage("lm.loss", Scheme::two_stream)->axes == std::vector<std::string>{"N"});
    CHECK(describe_stage("layer.1.scores", Scheme::rotary)->formula == "q_rot_i . k_rot_j / sqrt(d)");
    CHECK(describe_stage("segment.2.layer.1.scores", Scheme::transformer_xl)->formula == "(ac + bd) / sqrt(d)");
    CHECK(describe_stage("layer.1.g.scores", Scheme::two_stream)->formula == "(ac + bd + ef) / sqrt(d)");
    CHECK(describe_stage("layer.1.q", Scheme::rotary)->source.find("roformer") != std::string::npos);
    // Memory lies in front of the keys; heads may be wider together than the model.
    CHECK(describe_stage("layer.1.k", Scheme::transformer_xl)->axes == std::vector<std::string>{"B", "H", "Tk", "d"});
    CHECK(describe_stage("layer.1.v", Scheme::two_stream)->axes == std::vector<std::string>{"B", "H", "Tk", "d"});
    CHECK(describe_stage("layer.1.k")->axes == std::vector<std::string>{"B", "H", "T", "d"});
    CHECK(describe_stage("layer.1.context")->axes == std::vector<std::string>{"B", "T", "H*d"});
    Trace trace({}, Scheme::rotary);
    trace.add("layer.0.scores", Tensor<float>({1, 1, 1, 1}));
    CHECK(trace.at("layer.0.scores").formula == "q_rot_i . k_rot_j / sqrt(d)");
}

TEST_CASE("tensor: a shape of more numbers than can be counted is refused", "[tensor][bad]") {
    const Index many = Index(1) << 33;
    CHECK(element_count({many, 3}) == 3 * many);
    CHECK(element_count({many, many, 0}) == 0);
    CHECK_THAT(refusal(
                   [&] {
                       element_count({many, many});
                   },
                   Fault::usage),
               Catch::Contains("has more numbers than can be counted"));
    CHECK_THAT(refusal([&] { element_count({2, -1}); }, Fault::usage), Catch::Contains("has a negative extent"));
}

}  // namespace locus::test::test_trace
