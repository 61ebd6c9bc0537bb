// The fast path on every DeBERTa case that other people's code recorded: what stands around the layers, in float32.
#include "core/models/deberta.h"
#include "core/models/fast_encoder.h"
#include "tests/oracle_cases.h"

namespace locus::test::test_fast_path {

namespace {

/// Stages of the trace that do not lie inside a layer.
StageFilter around_layers(const Trace& trace) {
    std::vector<std::string> names;
    for (const std::string& name : trace.names()) {
        const bool inside = name.starts_with("layer.") || name.starts_with("emd.");
        if (inside && !name.ends_with(".output") && name != "emd.query.0") continue;
        names.push_back(name);
    }
    return StageFilter::of(names);
}

struct OpenCase {
    explicit OpenCase(const Case& one)
        : checkpoint(open_checkpoint(one.model)),
          config(parse_deberta_config(checkpoint.config_json, checkpoint.config_file.string())),
          input(read_segments(one.folder / "inputs.safetensors", one.folder / "trace.safetensors").front()) {}
    Checkpoint checkpoint;
    DebertaConfig config;
    ModelInput input;
};

}  // namespace

TEST_CASE("fast path: every recorded DeBERTa case, within the tolerance of the reference", "[oracle][deberta][fast]") {
    const std::vector<Case> cases = cases_of({"hf_deberta_", "ms_deberta_"}, "tiny_v3_trained", "tiny-v3");
    REQUIRE(cases.size() == 21);
    int fast = 0, decoded = 0, convolved = 0;
    for (const Case& one : cases) DYNAMIC_SECTION(one.name()) {
            const OpenCase open(one);
            const Trace recorded = read_trace(one.folder / "trace.safetensors");
            const StageFilter around = around_layers(recorded);
            const DebertaOptions options = DebertaOptions::of(one.dialect());
            const Deberta<float> model(open.config, open.checkpoint.weights, cpu_operations<float>(),
                                       ForwardPath::fast);
            CHECK(model.takes_fast_path(open.input, options, around) == !open.config.talking_head);
            const Trace found = model.forward(open.input, options, around);
            REQUIRE(found.find("layer.0.output"));
            std::vector<std::string> inside;
            for (const std::string& name : recorded.names())
                if (!around.keeps(name)) inside.push_back(name);
            check_all_f32(recorded, found, one.json["tolerance"].get<double>(), inside);
        }
    // What the cases are relied on for.
    for (const Case& one : cases) {
        const OpenCase open(one);
        fast += has_fast_path(open.config);
        decoded += read_trace(one.folder / "trace.safetensors").find("emd.1.output") != nullptr;
        convolved += open.config.conv_kernel_size > 0;
    }
    CHECK(fast == 20);
    CHECK(decoded >= 3);
    CHECK(convolved >= 2);
}

TEST_CASE("fast path: every dialect of every case, by the tolerance that compare derives", "[oracle][deberta][fast]") {
    for (const Case& one : cases_of({"hf_deberta_", "ms_deberta_"}, "tiny_v3_trained", "tiny-v3")) {
        const OpenCase open(one);
        const Deberta<double> exact(open.config, open.checkpoint.weights);
        const Deberta<float> model(open.config, open.checkpoint.weights, cpu_operations<float>(), ForwardPath::fast);
        for (const Dialect dialect : {Dialect::reference, Dialect::official, Dialect::hf, Dialect::paper}) {
            const DebertaOptions options = DebertaOptions::of(dialect);
            const Trace expected = exact.forward(open.input, options);
            const Trace found = model.forward(open.input, options, around_layers(expected));
            const Comparison comparison = compare(expected, found);
            INFO(one.name() << ", " << to_string(dialect) << ": "
                            << (comparison.first() ? comparison.first()->name + " " + comparison.first()->reason : ""));
            CHECK(comparison.pass());
            CHECK(comparison.stages.size() == found.stages().size());
        }
    }
}

}  // namespace locus::test::test_fast_path
