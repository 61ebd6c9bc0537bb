// A real port: Hugging Face's DeBERTa-v2 under the torch shim agrees with Locus, stage by stage; with the tanh form of
// GELU patched in, the first wrong stage is the activation.
#include <iostream>

#include "core/conformance/diagnosis/diagnosis.h"
#include "core/io/model_request.h"
#include "tests/conformance/shim_case.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_real_port {

using namespace locus::conformance;

namespace {

/// Why the port cannot run here; empty if it can.
std::string why_not() {
    if (!installed("python3")) return "there is no python3 on PATH";
    for (const std::string module : {"torch", "transformers"})
        if (shell("python3 -c 'import " + module + "'").status != 0) return "python3 cannot import " + module;
    return "";
}

std::string run_port() { return "python3 -B " + quoted((kShims / "python/real_port.py").string()) + " "; }

/// What the port wrote, and what Locus computes from the same folder.
struct RealPort {
    TemporaryFolder folder;
    std::vector<ModelInput> segments;
    Trace reference;

    RealPort() {
        const Outcome outcome = shell(run_port() + quoted(folder.path().string()));
        INFO(outcome.err);
        REQUIRE(outcome.status == 0);
        segments = read_segments(folder / "inputs.safetensors", folder / "float64.safetensors");
        REQUIRE(segments.front().mask.size() > 0);
        const auto model = open_model_of<double>(open_checkpoint(folder / "model"));
        reference = model->forward(segments, Dialect::hf);
    }
    Trace dump(const std::string& name, std::map<std::string, std::string>* stored = nullptr) const {
        return read_trace(folder / (name + ".safetensors"), stored);
    }
};

/// Stages that the port never holds by themselves: c2c is divided before the product.
bool only_content_to_content(const std::vector<std::string>& missing) {
    return std::all_of(missing.begin(), missing.end(), [](const std::string& name) { return name.ends_with(".c2c"); });
}

}  // namespace

TEST_CASE("real port: the torch shim finds the recorded stages in every family it knows", "[kit][shims][oracle]") {
    if (const std::string reason = why_not(); !reason.empty())
        return void(std::cout << "skipped: the torch shim, " << reason << std::endl);
    // All stages but c2c, which no DeBERTa-v2 ever holds, and the table where it has no norm and is no stage of a
    // module.
    const std::map<std::string, std::vector<std::string>> silent_on = {
        {"hf_deberta_v2_conv", {"layer.0.c2c", "layer.1.c2c"}},
        {"hf_deberta_v2_unshared", {"relative.table", "layer.0.c2c", "layer.1.c2c"}},
        {"hf_roformer", {}},
        {"hf_roformer_factorised", {}},
        {"hf_roformer_rotate_value", {}},
        {"hf_xlnet_order_3241", {}},
        {"hf_xlnet_bi_data", {}},
        {"hf_deberta_v2_text_classes", {}},
        {"hf_roformer_text_classes", {}},
        {"hf_xlnet_text_classes", {}}};
    const TemporaryFolder folder;
    std::string command = run_port() + quoted(folder.path().string());
    for (const auto& [name, stages] : silent_on) command += " " + quoted((kOracle / name).string());
    const Outcome outcome = shell(command);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    for (const auto& [name, stages] : silent_on) {
        const Comparison comparison =
            compare(read_trace(kOracle / name / "trace.safetensors"), read_trace(folder / (name + ".safetensors")));
        INFO(name << ": " << (comparison.first() ? comparison.first()->name + ", " + comparison.first()->reason : ""));
        CHECK(comparison.pass());
        // Of fine-tuned models the inside of the layers is not recorded.
        CHECK(comparison.unexpected.empty() != name.ends_with("_classes"));
        CHECK(comparison.missing == stages);
    }
}

TEST_CASE("real port: the torch shim says which models it knows", "[kit][shims]") {
    if (const std::string reason = why_not(); !reason.empty())
        return void(std::cout << "skipped: an unknown model, " << reason << std::endl);
    const TemporaryFolder folder;
    write_file(folder / "bert.py", R"py(
import sys, transformers
sys.path.insert(0, sys.argv[1])
import locus_kit, locus_torch
config = transformers.BertConfig(vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=4)
try:
    with locus_torch.capture(transformers.BertModel(config)): print("watched")
except locus_kit.KitError as error: print(error)
)py");
    const Outcome outcome =
        shell("python3 -B " + quoted((folder / "bert.py").string()) + " " + quoted((kShims / "python").string()));
    INFO(outcome.err);
    CHECK(outcome.out == "models of type bert have no stages here, expected one of deberta-v2, roformer, xlnet\n");
}

TEST_CASE("real port: Hugging Face's DeBERTa-v2 passes, and its tanh GELU is found", "[kit][shims]") {
    if (const std::string reason = why_not(); !reason.empty())
        return void(std::cout << "skipped: the real port, " << reason << std::endl);
    const RealPort port;
    for (const auto& [name, dtype] :
         {std::pair{"float64", "F64"}, {"float32", "F32"}, {"float16", "F16"}, {"bfloat16", "BF16"}}) {
        std::map<std::string, std::string> stored;
        const Trace dump = port.dump(name, &stored);
        CHECK(stored.at("layer.0.q") == dtype);
        const Comparison comparison = compare(port.reference, dump, std::nullopt, stored);
        INFO(name << ": " << (comparison.first() ? comparison.first()->name + ", " + comparison.first()->reason : ""));
        CHECK(comparison.pass());
        CHECK(comparison.unexpected.empty());
        CHECK(only_content_to_content(comparison.missing));
        CHECK(comparison.stages.size() == 32);
        for (const StageVerdict& stage : comparison.stages) CHECK(stage.size > 0);
    }

    const auto model = ModelFolder::open((port.folder / "model").string());
    for (const std::string name : {"tanh_float32", "tanh_float64"}) {
        INFO(name);
        const Trace tanh = port.dump(name);
        const Comparison comparison = compare(port.reference, tanh);
        REQUIRE(comparison.first());
        CHECK(comparison.first()->name == "layer.0.ffn_act");
        const Diagnosis diagnosis =
            diagnose({port.reference, tanh, model, port.segments}, comparison, *comparison.first());
        REQUIRE(diagnosis.named);
        CHECK(diagnosis.named->mistake == 39);
    }
}

}  // namespace locus::test::test_real_port
