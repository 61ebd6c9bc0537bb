// The conformance kit: export, a whole check, the diagnosis of one stage as large as real models have it, and of a
// whole trace of that size.
#include <filesystem>
#include <string>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/check.h"
#include "core/compare.h"
#include "core/conformance/diagnosis/diagnosis.h"
#include "core/models/layers.h"
#include "core/products.h"
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/make_checkpoint.h"
#include "tests/temporary_folder.h"

namespace locus::bench::kit {

namespace {

namespace fs = std::filesystem;
using namespace conformance;

constexpr Index kTokens = 512, kHeads = 12, kWidth = 64, kSpan = 256, kPadding = 12;

Tensor<double> numbers(const Shape& shape, std::uint64_t seed) {
    Tensor<double> values(shape);
    for (Index n = 0; n < values.size(); ++n) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        values[n] = static_cast<double>(seed >> 33) / 1073741824.0 - 1;
    }
    return values;
}

Tensor<float> narrowed(const Tensor<double>& values) {
    Tensor<float> narrow(values.shape());
    for (Index n = 0; n < values.size(); ++n) narrow[n] = static_cast<float>(values[n]);
    return narrow;
}

IndexTensor whole(const Tensor<double>& values) {
    IndexTensor rows(values.shape());
    for (Index n = 0; n < values.size(); ++n) rows[n] = static_cast<std::int64_t>(values[n]);
    return rows;
}

/// One layer of attention as wide as deberta-v3-base's, with its last tokens hidden.
Trace attention_layer(const ModelInput& input) {
    Tensor<double> q = numbers({1, kHeads, kTokens, kWidth}, 1), k = numbers({1, kHeads, kTokens, kWidth}, 2);
    Tensor<double> v = numbers({1, kHeads, kTokens, kWidth}, 3);
    Tensor<double> k_r = numbers({kHeads, 2 * kSpan, kWidth}, 4), q_r = numbers({kHeads, 2 * kSpan, kWidth}, 5);
    const RelativeBuckets buckets =
        RelativeBuckets::logarithmic(kTokens, kTokens, kSpan, kTokens, OffsetClamp::official);
    Mask mask(kTokens, kTokens);
    for (Index i = 0; i < kTokens; ++i)
        for (Index j = 0; j < kTokens; ++j) mask(i, j) = input.mask[i] != 0 && input.mask[j] != 0;
    const Shape square = {1, kHeads, kTokens, kTokens};
    Tensor<double> c2c(square), c2p(square), p2c(square), scores(square), probs(square), split(q.shape());
    for (Index h = 0; h < kHeads; ++h) {
        c2c.matrix(h) = content_to_content<double>(q.matrix(h), k.matrix(h));
        c2p.matrix(h) = content_to_position<double>(q.matrix(h), k_r.matrix(h), buckets);
        p2c.matrix(h) = position_to_content<double>(k.matrix(h), q_r.matrix(h), buckets);
        scores.matrix(h) = (c2c.matrix(h) + c2p.matrix(h) + p2c.matrix(h)) / score_divisor<double>(3, kWidth);
        probs.matrix(h) = masked_softmax<double>(scores.matrix(h), mask);
        split.matrix(h) = times<double>(probs.matrix(h), v.matrix(h));
    }
    Trace trace;
    trace.add<std::int64_t>("relative.index", buckets.matrix());
    const auto add = [&](const char* stem, Tensor<double> values) {
        trace.add<double>(std::string("layer.0.") + stem, std::move(values));
    };
    add("q", std::move(q)), add("k", std::move(k)), add("v", std::move(v));
    add("q_r", std::move(q_r)), add("k_r", std::move(k_r));
    add("c2c", std::move(c2c)), add("c2p", std::move(c2p)), add("p2c", std::move(p2c));
    add("scores", std::move(scores)), add("probs", std::move(probs)), add("context", join_heads(split));
    return trace;
}

/// What a port in float32 reports that makes one mistake, and knows what it read and the stage itself.
Trace wrong_port(const Evidence& right, const std::string& name, const std::vector<Formula>& wrong_formulas) {
    const auto [scope, stem] = scope_and_stem(name);
    const Tensor<double> wrong = Replay(right, scope, wrong_formulas).computed(stem);
    Trace port;
    for (const std::string& reported : right.reference.names()) {
        const auto stage = right.reference.at(reported);
        const bool index = std::holds_alternative<IndexTensor>(stage->values);
        if (reported == name) {
            if (index)
                port.add<std::int64_t>(name, whole(wrong));
            else
                port.add<float>(name, narrowed(wrong));
            break;
        }
        if (index)
            port.add(*stage);
        else
            port.add<float>(reported, narrowed(stage->as<double>()));
    }
    return port;
}

double seconds_to_name(const Evidence& right, int mistake, const std::string& name) {
    const Trace port = wrong_port(right, name, mistake_of(mistake).variants.front().formulas);
    const Comparison comparison = compare(right.reference, port);
    LOCUS_CHECK(comparison.first() && comparison.first()->name == name, name + " did not go wrong first");
    const double start = now();
    const Diagnosis diagnosis =
        diagnose({right.reference, port, right.model, right.segments}, comparison, *comparison.first());
    const double seconds = now() - start;
    LOCUS_CHECK(diagnosis.named && diagnosis.named->mistake == mistake,
                "mistake " + std::to_string(mistake) + " was not named");
    return seconds;
}

/// A port that has everything right: the references themselves, where a port would put its files.
std::string complete_dump(const fs::path& folder) {
    for (const auto& level : fs::directory_iterator(folder / "kit" / "cases"))
        for (const auto& one : fs::directory_iterator(level)) {
            const fs::path to = folder / "dump" / level.path().filename() / one.path().filename();
            fs::create_directories(to.parent_path());
            fs::copy_file(one.path() / "reference.safetensors", to.string() + ".safetensors");
        }
    return (folder / "dump").string();
}

/// Seconds until each of these is named, stage by stage.
void diagnosis_times(const std::string& model_folder, Measures& measures) {
    ModelInput input;
    input.tokens = IndexTensor({1, kTokens});
    input.mask = IndexTensor({1, kTokens});
    for (Index n = 0; n < kTokens; ++n) input.mask[n] = n < kTokens - kPadding;
    const Trace reference = attention_layer(input);
    const auto model = ModelFolder::open(model_folder);
    for (const auto& [mistake, stage] : {std::pair{16, "relative.index"},
                                         {4, "layer.0.c2p"},
                                         {1, "layer.0.p2c"},
                                         {26, "layer.0.scores"},
                                         {32, "layer.0.probs"},
                                         {25, "layer.0.context"}}) {
        // Nothing is shared between them: each begins as a program that was just started.
        const Evidence right{reference, reference, model, {input}};
        measures.push_back({"mistake " + std::to_string(mistake) + " named at " + stage,
                            seconds_to_name(right, mistake, stage), "s", 1, false});
    }
}

/// A check of every stage of 12 layers at T = 512, a gigabyte, by the program: of a right port, and of one that reads
/// the table of p2c as the paper prints it.
void whole_trace(const std::string& model, const fs::path& folder, Measures& measures) {
    std::string tokens;
    for (Index n = 0; n < kTokens; ++n) tokens += (n ? "," : "") + std::to_string(5 + 7 * n);
    const std::string right = (folder / "right.safetensors").string(), wrong = (folder / "wrong.safetensors").string();
    const auto trace = [&](const char* dialect, const std::string& file) {
        run_child({program_beside("locus-trace").string(), "--model", model, "--tokens", tokens, "--stages",
                   "embeddings.*,relative.*,layer.*", "--dialect", dialect, "--out", file});
    };
    trace("reference", right);
    trace("paper", wrong);
    const std::string program = program_beside("locus-check").string();
    const ChildCost same = run_child({program, right, right, "--model", model});
    const ChildCost other = run_child({program, right, wrong, "--model", model}, "/dev/null", 1);
    measures.push_back({"check of a trace of v3-base's shape, T 512, 12 layers: right", same.seconds, "s", 20, false});
    measures.push_back({"its peak resident memory", same.megabytes, "MB", 2000, false});
    measures.push_back({"the same with mistake 1 in every layer", other.seconds, "s", 20, false});
    measures.push_back({"its peak resident memory", other.megabytes, "MB", 2000, false});
}

}  // namespace

void measure(Measures& measures) {
    const test::TemporaryFolder kept;
    const fs::path& folder = kept.path();
    const std::string kit = (folder / "kit").string(), program = program_beside("locus-kit").string();
    measures.push_back({"export", run_child({program, "export", kit}).seconds, "s", 3, false});
    const ChildCost check = run_child({program, "check", kit, complete_dump(folder)});
    measures.push_back({"check of the whole kit against a complete dump", check.seconds, "s", 2, false});
    measures.push_back({"its peak resident memory", check.megabytes, "MB", 300, false});
    write_v3_base_checkpoint(folder / "model", 1);
    // First what other processes do: their peak counts what this one held when it started them.
    whole_trace((folder / "model").string(), folder, measures);
    diagnosis_times((folder / "model").string(), measures);
}

}  // namespace locus::bench::kit
