// A real port: Hugging Face's DeBERTa-v2 under the torch shim agrees with Locus, stage by stage; with the tanh form of
// GELU patched in, the first wrong stage is the activation.
#include <iostream>

#include "core/cli/request.h"
#include "tests/conformance/diagnosis.h"
#include "tests/conformance/shim_case.h"
#include "tests/oracle_cases.h"

using namespace locus;
using namespace locus::conformance;
using namespace locus::test;

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
        const auto model = cli::open_model_of<double>(open_checkpoint(folder / "model"));
        reference = model->forward(segments, Dialect::hf);
    }
    Trace dump(const std::string& name) const { return read_trace(folder / (name + ".safetensors")); }
};

/// Stages that the port never holds by themselves: c2c is divided before the product.
bool only_content_to_content(const std::vector<std::string>& missing) {
    return std::all_of(missing.begin(), missing.end(), [](const std::string& name) { return name.ends_with(".c2c"); });
}

}  // namespace

TEST_CASE("real port: the torch shim finds the recorded stages in every family it knows", "[kit][shims][oracle]") {
    if (const std::string reason = why_not(); !reason.empty())
        return void(std::cout << "skipped: the torch shim, " << reason << std::endl);
    const std::map<std::string, std::size_t> stages_of = {{"hf_deberta_v2_conv", 36},  {"hf_deberta_v2_unshared", 33},
                                                          {"hf_roformer", 28},         {"hf_roformer_factorised", 28},
                                                          {"hf_xlnet_order_3241", 26}, {"hf_xlnet_bi_data", 28}};
    const TemporaryFolder folder;
    std::string command = run_port() + quoted(folder.path().string());
    for (const auto& [name, stages] : stages_of) command += " " + quoted((kOracle / name).string());
    const Outcome outcome = shell(command);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    for (const auto& [name, stages] : stages_of) {
        const Comparison comparison =
            compare(read_trace(kOracle / name / "trace.safetensors"), read_trace(folder / (name + ".safetensors")));
        INFO(name << ": " << (comparison.first() ? comparison.first()->reason : ""));
        CHECK(comparison.pass());
        CHECK(comparison.unexpected.empty());
        CHECK(comparison.stages.size() == stages);
    }
}

TEST_CASE("real port: Hugging Face's DeBERTa-v2 passes, and its tanh GELU is found", "[kit][shims]") {
    if (const std::string reason = why_not(); !reason.empty())
        return void(std::cout << "skipped: the real port, " << reason << std::endl);
    const RealPort port;
    for (const std::string name : {"float32", "float64"}) {
        const Comparison comparison = compare(port.reference, port.dump(name));
        INFO(name << ": " << (comparison.first() ? comparison.first()->name + ", " + comparison.first()->reason : ""));
        CHECK(comparison.pass());
        CHECK(comparison.unexpected.empty());
        CHECK(only_content_to_content(comparison.missing));
        CHECK(comparison.stages.size() == 32);
        for (const StageVerdict& stage : comparison.stages) CHECK(stage.size > 0);
    }

    const auto& known = catalogue();
    const bool listed =
        std::any_of(known.begin(), known.end(), [](const Mistake& mistake) { return mistake.number == 39; });
    const auto model = ModelFolder::open((port.folder / "model").string());
    for (const std::string name : {"tanh_float32", "tanh_float64"}) {
        INFO(name);
        const Trace tanh = port.dump(name);
        const Comparison comparison = compare(port.reference, tanh);
        REQUIRE(comparison.first());
        CHECK(comparison.first()->name == "layer.0.ffn_act");
        const Diagnosis diagnosis =
            diagnose({port.reference, tanh, model, port.segments}, comparison, *comparison.first());
        // The two forms differ by 1e-4 of the largest value: in float32 the margin that a name needs may be missed,
        // and no name is right then, but never another one.
        if (listed && name == "tanh_float64") REQUIRE(diagnosis.named);
        if (diagnosis.named) CHECK(diagnosis.named->mistake == 39);
    }
}
