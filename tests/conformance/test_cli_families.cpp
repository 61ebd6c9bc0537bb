// trace, fill and rope with RoFormer, Transformer-XL and XLNet, as users meet them.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/io/safetensors.h"
#include "tests/oracle_cases.h"
#include "tests/run_program.h"
#include "tests/temporary_folder.h"

namespace locus::test::test_cli_families {

using nlohmann::json;

namespace {

json parsed(const Outcome& outcome) {
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    REQUIRE(outcome.err.empty());
    return json::parse(outcome.out);
}

/// Our words, ids and probabilities against those that other people's code gave, to half of its
/// fourth decimal, and what float32 adds.
void check_words(const json& ours, const json& recorded) {
    REQUIRE(ours.size() == recorded["words"].size());
    for (std::size_t n = 0; n < ours.size(); ++n) {
        CHECK(ours[n]["piece"] == recorded["words"][n]);
        CHECK(ours[n]["id"] == recorded["ids"][n]);
        CHECK(std::abs(ours[n]["probability"].get<double>() - recorded["probs"][n].get<double>()) <= 5.5e-5);
    }
}

void check_refusal(const std::string& program, const std::vector<std::string>& arguments, int status,
                   const std::string& said) {
    const Outcome outcome = run(program, arguments);
    INFO(outcome.err);
    CHECK(outcome.status == status);
    CHECK(outcome.out.empty());
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.err.find(said) != std::string::npos);
}

}  // namespace

TEST_CASE("check: XLNet's encoder is right only where the stream that the logits are made of was reported", "[cli]") {
    const std::filesystem::path folder = kOracle / "hf_xlnet_bi";
    const Trace reference = read_trace(folder / "trace.safetensors");
    const TemporaryFolder scratch;
    const auto said = [&](bool with_query_stream) {
        Trace port{StageFilter{}, Scheme::two_stream};
        for (Stage stage : reference.stages()) {
            const bool is_output = stage.name.ends_with(".output") && stage.name.starts_with("layer.");
            if (!is_output && stage.name != "lm.logits") continue;
            if (stage.name.find(".g.") != std::string::npos && !with_query_stream) continue;
            if (stage.name == "lm.logits") std::get<Tensor<double>>(stage.values)[0] += 1;
            port.add(std::move(stage));
        }
        const std::string file = (scratch.path() / "port.safetensors").string();
        write_trace(file, port);
        return run("locus-check",
                   {(folder / "trace.safetensors").string(), file, "--model", (folder / "model").string()})
            .out;
    };
    CHECK(said(true).find("the encoder is right") != std::string::npos);
    CHECK(said(false).find("the encoder is right") == std::string::npos);
}

TEST_CASE("fill: RoFormer's words are those of the recorded code", "[cli][fill][oracle]") {
    const json all = read_json(kOracle / "tiny_roformer_trained" / "case.json")["top5"];
    REQUIRE_FALSE(all.empty());
    for (const json& recorded : all) {
        const json found =
            parsed(run("locus-fill", {"--model", "tiny-roformer", "--json", recorded["sentence"].get<std::string>()}));
        bool met = false;
        for (const json& mask : found["masks"])
            if (mask["position"] == recorded["position"]) {
                check_words(mask["top"], recorded);
                met = true;
            }
        CHECK(met);
    }
}

TEST_CASE("fill: XLNet predicts words in the stated order as the recorded code does", "[cli][fill][oracle]") {
    const json all = read_json(kOracle / "tiny_xlnet_trained" / "case.json")["top5"];
    REQUIRE(all.size() == 8);
    for (const json& recorded : all) {
        const std::string order =
            recorded["order"][0].get<std::string>() + "," + recorded["order"][1].get<std::string>();
        const json found = parsed(run("locus-fill", {"--model", "tiny-xlnet", "--json", "--order", order,
                                                     recorded["sentence"].get<std::string>()}));
        REQUIRE(found["masks"].size() == 2);
        check_words(found["masks"][recorded["step"].get<std::size_t>()]["top"], recorded);
    }
}

TEST_CASE("fill: what XLNet says for [MASK] is its first step without that word", "[cli][fill][oracle]") {
    const json all = read_json(kOracle / "tiny_xlnet_trained" / "case.json")["top5"];
    const json found =
        parsed(run("locus-fill", {"--model", "tiny-xlnet", "--json", "the capital of [MASK] is [MASK]."}));
    REQUIRE(found["masks"].size() == 2);
    check_words(found["masks"][0]["top"], all[0]);  // france, before paris is known
    check_words(found["masks"][1]["top"], all[2]);  // paris, before france is known
}

TEST_CASE("fill: Transformer-XL says the next word, with and without its memory", "[cli][fill][oracle]") {
    const json recorded = read_json(kOracle / "tiny_txl_trained" / "case.json");
    for (const json& place : recorded["top5"]) {
        std::string with, without;
        const auto segment = place["segment"].get<std::size_t>(), position = place["position"].get<std::size_t>();
        for (std::size_t s = 0; s <= segment; ++s)
            for (std::size_t t = 0; t < recorded["tokens"][s].size() && (s < segment || t <= position); ++t) {
                const std::string word = recorded["tokens"][s][t].get<std::string>();
                if (word != "<eos>") with += (with.empty() ? "" : " ") + word;
            }
        const json found = parsed(run("locus-fill", {"--model", "tiny-txl", "--segment", "24", "--json", with}));
        check_words(found["next"]["top"], place["with_memory"]);
    }
}

TEST_CASE("trace: segments from a text are segments from a file", "[cli][trace]") {
    const TemporaryFolder folder;
    const std::string out = (folder / "trace.safetensors").string();
    const fs::path inputs = kOracle / "txl_basic" / "inputs.safetensors";
    const Outcome outcome = run("locus-trace", {"--model", (kOracle / "txl_basic" / "model").string(), "--input",
                                                inputs.string(), "--precision", "f64", "--out", out});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    check_all(read_trace(kOracle / "txl_basic" / "trace_exact.safetensors"), read_trace(out), 1e-12);
    // Cut from a list of tokens: the same names, and the second segment sees the first.
    const json found = parsed(run("locus-trace", {"--model", "tiny-txl", "--tokens", "1,23,16,17,46", "--segment", "3",
                                                  "--stages", "segment.1.layer.0.probs", "--json"}));
    CHECK(found["dialect"] == "reference");
    CHECK(found["stages"][0]["shape"] == json({1, 4, 2, 5}));
    CHECK(found["stages"][0]["formula"] == "softmax_j(scores)");
}

TEST_CASE("trace: --list-stages prints every stage in the order of a model, with what families call it",
          "[cli][trace]") {
    const Outcome table = run("locus-trace", {"--list-stages"});
    CHECK(table.status == 0);
    for (const char* line : {"layer.0.c2p ", "B H Tq Tk", "q_i . k_r[delta(i,j)]", "  transfo-xl", "emd.query.0",
                             "2k rows of the relative table"})
        CHECK_THAT(table.out, Catch::Contains(line));
    const json all = parsed(run("locus-trace", {"--list-stages", "--json"}));
    std::vector<std::string> names;
    for (const json& one : all) {
        names.push_back(one["name"]);
        CHECK(describe_stage(names.back())->formula == one["formula"]);
        CHECK(table.out.find("\n" + names.back() + " ") != std::string::npos);
    }
    // emd.query.0 stands before the layers of its pass, of which the table has a row once.
    std::erase(names, "emd.query.0");
    CHECK(std::is_sorted(names.begin(), names.end(), stage_comes_before));
    CHECK(names.size() > 70);
    CHECK(run("locus-trace", {"--text", "a"}).err ==
          "locus trace: --model is required; locus trace --help lists the options\n");
}

TEST_CASE("trace: names a family does not use are one line on stderr", "[cli][trace]") {
    const Outcome outcome = run(
        "locus-trace", {"--model", (kOracle / "hf_roformer" / "model").string(), "--input",
                        (kOracle / "hf_xlnet_order_3241" / "inputs.safetensors").string(), "--stages", "rotary.sin"});
    CHECK(outcome.status == 0);
    CHECK(outcome.sentences() == 1);
    CHECK(outcome.err.find("not used by this family: perm_mask, target_mapping") != std::string::npos);
}

TEST_CASE("rope: angles and decay as JSON and CSV", "[cli][rope]") {
    const json found = parsed(run("locus-rope", {"--d", "64", "--scaling", "yarn,4,2048", "--json"}));
    CHECK(found["theta"].size() == 32);
    CHECK(std::abs(found["theta"][16].get<double>() - 0.00538462) <= 1e-8);
    CHECK(std::abs(found["attention_factor"].get<double>() - 1.138629) <= 1e-6);
    const json plain = parsed(run("locus-rope", {"--d", "64", "--json"}));
    CHECK(plain["decay"].size() == 513);
    CHECK(std::abs(plain["decay"][100]["bound"].get<double>() - 7.465277) <= 1e-6);
    CHECK(plain["decay"][0]["ones"] == 1.0);
    const Outcome csv = run("locus-rope", {"--d", "4", "--distances", "2", "--csv"});
    CHECK(csv.status == 0);
    CHECK(csv.out.starts_with("series,at,value\ntheta,0,1\ntheta,1,0.01"));
    CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 1 + 2 + 2 + 2 + 2);
}

TEST_CASE("families: what a program cannot do is one sentence", "[cli][bad]") {
    check_refusal("locus-rope", {"--d", "7"}, 2, "--d is 7, expected an even number");
    check_refusal("locus-rope", {"--scaling", "cubic"}, 2, "rope scaling is \"cubic\"");
    check_refusal("locus-fill", {"--model", "tiny-xlnet", "hello"}, 2, "no [MASK]");
    check_refusal("locus-fill", {"--model", "tiny-xlnet", "a new store.", "--order", "mall"}, 2, "\"mall\"");
    check_refusal("locus-fill", {"--model", "tiny-xlnet", "a new store.", "--order", "new,new"}, 2, "twice");
    check_refusal("locus-fill", {"--model", "tiny-roformer", "a [MASK].", "--segment", "3"}, 2, "found roformer");
    check_refusal("locus-fill", {"--model", "tiny-txl", "tom went", "--order", "tom"}, 2, "found transfo-xl");
    check_refusal("locus-fill", {"--model", "tiny-roformer", "a [MASK].", "--no-emd"}, 2, "--no-emd goes with deberta");
    check_refusal("locus-trace", {"--model", "tiny-v3", "--text", "a store", "--segment", "2"}, 2, "found deberta");
    check_refusal("locus-trace", {"--model", "tiny-txl", "--tokens", "1,2", "--stages", "layer.0.c2c"}, 2,
                  "\"layer.0.c2c\" matches no stage");
    check_refusal("locus-trace", {"--model", "tiny-txl", "--tokens", "1,2", "--dialect", "mine"}, 2,
                  "dialect is \"mine\", expected reference, official, hf or paper");
}

}  // namespace locus::test::test_cli_families
