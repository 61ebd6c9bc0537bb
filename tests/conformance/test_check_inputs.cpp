// What locus check says through the program: several mistakes in JSON and text, and inputs that nobody passed.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/io/recorded_inputs.h"
#include "core/io/safetensors.h"
#include "tests/changed_model.h"
#include "tests/conformance/kit_fixture.h"
#include "tests/conformance/toy/injected_mistakes.h"
#include "tests/conformance/toy/recorded_ranges.h"
#include "tests/run_program.h"

namespace locus::test::test_check_inputs {

using namespace locus::conformance;
using namespace locus::conformance::toy;

namespace {

bool same_numbers(const IndexTensor& a, const IndexTensor& b) {
    return a.shape() == b.shape() && a.values() == b.values();
}

}  // namespace

TEST_CASE("check: several mistakes are a list in JSON and lines in text", "[kit][several][cli]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const TemporaryFolder folder;
    write_trace(folder / "right.safetensors", range.sharp);
    write_trace(folder / "port.safetensors", port_with_all<double>(range, {{1, 0}, {39, 0}}),
                {{"inputs", inputs_as_json(range.segments)}});
    const std::vector<std::string> arguments = {(folder / "right.safetensors").string(),
                                                (folder / "port.safetensors").string(), "--model", range.model_folder};
    const Outcome text = run("locus-check", arguments);
    CHECK(text.status == 1);
    CHECK(text.out.find("after it, judged by what the candidate itself reports:") != std::string::npos);
    CHECK(text.out.find("layer.0.ffn_act: mistake 39") != std::string::npos);
    CHECK(text.out.find("right once these are repaired: yes") != std::string::npos);
    CHECK(text.out.find("tokens and masks: inputs in the metadata of the candidate") != std::string::npos);
    std::vector<std::string> more = arguments;
    more.push_back("--json");
    const auto json = nlohmann::json::parse(run("locus-check", more).out);
    CHECK(json["diagnosis"]["mistake"] == 1);
    REQUIRE(json["diagnoses"].size() >= 2);
    CHECK(json["diagnoses"][0]["mistake"] == 1);
    CHECK(json["diagnoses"][0]["stage"] == json["first"]["stage"]);
    CHECK(json["diagnoses"][0]["residual"] == json["diagnosis"]["residual"]);
    CHECK(json["diagnoses"][1]["stage"] == "layer.0.ffn_act");
    CHECK(json["diagnoses"][1]["mistake"] == 39);
    CHECK(json["diagnoses"][1]["evidence"] == "deberta.cpp 6fefa35");
    CHECK(json["right_once_repaired"] == "yes");
}

TEST_CASE("check: inputs beside the reference are used, and those of another pass are not", "[kit][inputs][cli]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const TemporaryFolder folder;
    write_trace(folder / "right.safetensors", range.sharp);
    write_trace(folder / "port.safetensors", port_with_all<double>(range, {{32, 0}}));
    const auto answer = [&] {
        return nlohmann::json::parse(
            run("locus-check", {(folder / "right.safetensors").string(), (folder / "port.safetensors").string(),
                                "--model", range.model_folder, "--json"})
                .out);
    };
    CHECK(answer()["diagnosis"].is_null());  // a mask of keys alone cannot be told without the mask
    CHECK(answer()["inputs"].is_null());
    CHECK(answer()["would_learn"].get<std::string>().find("--input FILE") != std::string::npos);

    fs::copy_file(kOracle / "ms_deberta_v3_emd/inputs.safetensors", folder / "inputs.safetensors");
    CHECK(answer()["diagnosis"]["mistake"] == 32);
    CHECK(answer()["inputs"] == "inputs.safetensors beside the reference");

    fs::copy_file(kOracle / "ms_deberta_clamp/inputs.safetensors", folder / "inputs.safetensors",
                  fs::copy_options::overwrite_existing);
    CHECK(answer()["diagnosis"].is_null());
    CHECK(answer()["inputs"].is_null());
    const Outcome text = run("locus-check", {(folder / "right.safetensors").string(),
                                             (folder / "port.safetensors").string(), "--model", range.model_folder});
    CHECK(text.out.find("inputs.safetensors beside the reference is not used: ") != std::string::npos);

    write_trace(folder / "right.safetensors", range.sharp, {{"inputs", inputs_as_json(range.segments)}});
    CHECK(answer()["diagnosis"]["mistake"] == 32);
    CHECK(answer()["inputs"] == "inputs in the metadata of the reference");

    std::ofstream(folder / "inputs.safetensors") << "no tensors";
    write_trace(folder / "right.safetensors", range.sharp, {{"inputs", "{\"tokens\": 7}"}});
    CHECK(answer()["diagnosis"].is_null());
}

TEST_CASE("check: a reference of another dialect is no contradiction to its inputs", "[kit][inputs][cli]") {
    const Range& range = several_range(Family::deberta, "ms_deberta_v3_emd");
    const fs::path inputs = kOracle / "ms_deberta_v3_emd/inputs.safetensors";
    // Text longer than max_relative_positions, and terms that are counted although none is added.
    for (const nlohmann::json& fields :
         {nlohmann::json{{"max_relative_positions", 6}}, nlohmann::json{{"relative_attention", false}}}) {
        INFO(fields.dump());
        const TemporaryFolder folder;
        copy_changed(range.model_folder, folder / "model", fields);
        const RightPass right =
            RightPass::of(ModelFolder::open((folder / "model").string()), range.segments, Dialect::hf);
        const RightPass other = RightPass::of(right.model, range.segments, Dialect::reference);
        CHECK(largest_difference(widened(right.trace.at("layer.0.probs")), widened(other.trace.at("layer.0.probs"))) >
              0.01);
        const auto written = [&](const std::string& name, const Trace& trace, const std::string& dialect) {
            const Trace stages =
                toy::only(trace, "embeddings.output,layer.*.probs,layer.*.ffn_act,layer.*.output,mlm.*");
            write_trace(folder / name, stages,
                        dialect.empty() ? std::map<std::string, std::string>{}
                                        : std::map<std::string, std::string>{{"dialect", dialect}});
            return (folder / name).string();
        };
        const std::string port = written("port", mistaken_pass(right, mistake_of(39).variants.front()).trace, "");
        for (const char* dialect : {"", "hf", "reference"}) {
            const std::string reference = written("right", right.trace, dialect);
            const auto status_and_mistake = [&](const std::string& candidate) {
                const Outcome answer = run("locus-check", {reference, candidate, "--model", (folder / "model").string(),
                                                           "--input", inputs.string(), "--json"});
                INFO(answer.err);
                REQUIRE(answer.status <= 1);
                const auto json = nlohmann::json::parse(answer.out);
                return std::pair(answer.status,
                                 json["diagnosis"].is_null() ? 0 : json["diagnosis"]["mistake"].get<int>());
            };
            CHECK(status_and_mistake(reference) == std::pair(0, 0));
            CHECK(status_and_mistake(port) == std::pair(1, 39));
        }
    }
}

TEST_CASE("check: stages of any name are compared, whatever number stands in it", "[kit][cli]") {
    const TemporaryFolder folder;
    const auto write = [&](const std::string& file, const std::string& name, float value) {
        const std::vector<float> values = {value, 1, 2, 3, 4, 5, 6, 7};
        std::vector<TensorToWrite> stages;
        for (const std::string& each : {std::string("embeddings.output"), name, std::string("layer.0.output")})
            stages.push_back({each, {1, 2, 4}, values.data()});
        write_safetensors(folder / file, stages);
    };
    for (const std::string name :
         {"layer.99999999999.output", "layer.2147483647.output", "layer.-1.output", "layer.", "layer.0.g.", "memory.",
          "memory.99999999999", "emd.99999999999.q", "emd.query.99999999999", "segment.99999999999.layer.0.k",
          "segment.x.layer.0.k", "segment.", "segment.1.memory.99999999999", "grad.", "grad.layer.99999999999.q"}) {
        write("right.safetensors", name, 1);
        write("wrong.safetensors", name, 2);
        for (const std::string model : {"", "tiny-v3", "tiny-roformer", "tiny-txl", "tiny-xlnet"}) {
            std::vector<std::string> arguments = {(folder / "right.safetensors").string(),
                                                  (folder / "wrong.safetensors").string()};
            if (!model.empty())
                arguments.insert(arguments.end(),
                                 {"--model", std::string(LOCUS_SOURCE_DIR) + "/assets/models/" + model});
            const Outcome outcome = run("locus-check", arguments);
            INFO(name << " with " << model << ": " << outcome.err);
            CHECK(outcome.status == 1);
            CHECK(outcome.out.find("layer.0.output") != std::string::npos);
        }
    }
}

TEST_CASE("recorded inputs: what a pass was given comes back, and anything else is refused in one sentence",
          "[kit][inputs]") {
    for (const auto& [family, where] :
         {std::pair{Family::deberta, "ms_deberta_v3_emd"}, {Family::xlnet, "hf_xlnet_order_3241"}}) {
        const Range& range = several_range(family, where);
        const std::vector<ModelInput> back = inputs_from_json(inputs_as_json(range.segments), "here");
        REQUIRE(back.size() == range.segments.size());
        for (std::size_t s = 0; s < back.size(); ++s) {
            CHECK(same_numbers(back[s].tokens, range.segments[s].tokens));
            CHECK(same_numbers(back[s].mask, range.segments[s].mask));
            CHECK(same_numbers(back[s].perm_mask, range.segments[s].perm_mask));
            CHECK(same_numbers(back[s].target_mapping, range.segments[s].target_mapping));
        }
    }
    CHECK(same_numbers(inputs_from_json("[[1,6,2],[1,5,2]]", "here").front().tokens,
                       IndexTensor({2, 3}, {1, 6, 2, 1, 5, 2})));
    for (const char* text : {"", "7", "[]", "[7]", "{\"tokens\":[[1,2],[3]]}", "{\"tokens\":[1,2]}", "{}",
                             "[{\"tokens\":[[1,2.5]]}]", "{\"tokens\":[[1,[2]]]}", "{\"tokens\":[[[[[1]]]]]}"}) {
        INFO(text);
        CHECK(refusal([&] { inputs_from_json(text, "here"); }, Fault::unreadable).find("here") == 0);
    }
}

}  // namespace locus::test::test_check_inputs
