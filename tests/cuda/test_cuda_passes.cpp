// Nothing of a pass is left on the CPU: with operations that return tags, every value of every stage is a tag of the
// operation that the stage is named after, and every operation is given tags, parameters and zeros only.
#include <map>

#include "tests/cuda/model_cases.h"
#include "tests/cuda/tagged_operations.h"

namespace locus::test::test_cuda_passes {

namespace {

using Makers = std::set<std::string>;

/// "" stands for what is looked up, not computed.
const std::map<std::string, Makers>& makers_of_stages() {
    static const std::map<std::string, Makers> makers = {
        {"embeddings.word", {"dense", ""}},  // Transformer-XL: narrow tables come projected
        {"embeddings.output", {"layer_norm", "multiply_rows", "dense", "multiply", ""}},
        {"relative.table", {"layer_norm", ""}},
        {"positions.r", {""}},
        {"positions.r_backward", {""}},
        {"rotary.sin", {""}},
        {"rotary.cos", {""}},
        {"q", {"dense"}},
        {"k", {"dense"}},
        {"v", {"dense"}},
        {"q_r", {"dense"}},
        {"k_r", {"dense"}},
        {"r_k", {"dense"}},
        {"r_k_backward", {"dense"}},
        {"q_rot", {"rotate"}},
        {"k_rot", {"rotate"}},
        {"v_rot", {"rotate"}},
        {"c2c", {"content_to_content"}},
        {"c2p", {"content_to_position"}},
        {"p2c", {"position_to_content"}},
        {"ac", {"content_term"}},
        {"bd_raw", {"position_term"}},
        {"bd", {"shift_by_index"}},
        {"ef", {"segment_term"}},
        {"scores", {"divide"}},
        {"scores_mixed", {"mix_heads"}},
        {"probs", {"masked_softmax"}},
        {"probs_mixed", {"mix_heads"}},
        {"context", {"context"}},
        {"attention", {"layer_norm", "add"}},
        {"ffn_act", {"activate"}},
        {"ffn", {"dense"}},
        {"output_before_conv", {"layer_norm"}},
        {"conv", {"convolve"}},
        {"conv_act", {"activate"}},
        {"output", {"layer_norm", "add", "multiply_rows"}},
        {"query", {"add"}},  // emd.query.0
        {"transform", {"layer_norm"}},
        {"transform_at_positions", {"layer_norm"}},
        {"classifier.pooled", {"activate"}},
        {"classifier.logits", {"dense"}},
        {"classifier.token_logits", {"dense"}},
        {"logits", {"word_logits", "log_softmax"}},
        {"logits_at_positions", {"word_logits"}},
        {"clusters", {"log_softmax"}},
        {"loss", {"cross_entropy"}},
        {"memory", {"layer_norm", "add", "multiply", ""}},
    };
    return makers;
}

/// "segment.1.layer.0.g.probs" -> "probs", "emd.query.0" -> "query", "memory.2" -> "memory"; whole names first.
const Makers& makers_of(const std::string& stage) {
    const std::map<std::string, Makers>& all = makers_of_stages();
    std::string name = stage;
    if (name.starts_with("segment.")) name = name.substr(name.find('.', 8) + 1);
    if (all.contains(name)) return all.at(name);
    if (std::isdigit(static_cast<unsigned char>(name.back()))) name = name.substr(0, name.rfind('.'));
    return all.at(name.substr(name.rfind('.') + 1));
}

/// Zeros stand where a token, a pair or a query is hidden, and in no other stage.
bool may_be_hidden(const std::string& stage) {
    for (const char* stem : {".bd", ".bd_raw", ".ac", ".ef", ".scores", ".probs", ".q"})
        if (stage.ends_with(stem)) return true;
    return false;
}

void know_parameters(const TaggedOperations& tagged, const ModelCase& one) {
    const Checkpoint checkpoint = open_checkpoint(one.model);
    for (const std::string& name : checkpoint.weights->names()) {
        const Shape shape = *checkpoint.weights->shape(name);
        const Matrix<double> values = checkpoint.weights->rows_f64(name, 0, shape.empty() ? 1 : shape[0]);
        tagged.know(values.data(), values.size());
    }
    // Tables made in double before the pass: angles and sinusoids.
    for (const Dialect dialect : {Dialect::reference, Dialect::hf}) {  // hf begins with a memory
        const Trace real = open_model_on(one, cpu_operations<double>())->forward(one.segments(), dialect);
        for (const Stage& stage : real.stages())
            if (stage.name.find("positions.r") != std::string::npos || stage.name.starts_with("rotary."))
                tagged.know(stage.as<double>().data(), stage.size());
    }
}

void check_stage(const TaggedOperations& tagged, const Stage& stage) {
    INFO(stage.name);
    const Makers& makers = makers_of(stage.name);
    Makers found;
    const char* last = nullptr;
    for (Index n = 0; n < stage.size(); ++n) {
        const double value = stage.at(n);
        const char* maker = tagged.maker(value);
        if (maker && maker == last) continue;
        last = maker;
        if (maker)
            found.insert(maker);
        else if (value != 0 || !may_be_hidden(stage.name))
            found.insert(tagged.knows(value) ? "" : "the pass itself");
    }
    for (const std::string& maker : found) {
        INFO("made by: " << maker);
        CHECK(makers.contains(maker));
    }
}

}  // namespace

TEST_CASE("cuda emulation: every value of every stage comes out of an operation", "[emulation]") {
    std::set<std::string> called;
    const std::vector<ModelCase> cases = model_cases();
    for (const ModelCase& one : cases) {
        const TaggedOperations tagged;
        know_parameters(tagged, one);
        for (const Dialect dialect : kDialects) {
            INFO(one.name << ", " << to_string(dialect));
            const Trace trace = open_model_on<double>(one, tagged)->forward(one.segments(), dialect);
            for (const Stage& stage : trace.stages())
                if (std::string(stage.dtype()) != "I64") check_stage(tagged, stage);
            // The last stage alone: the same operations, although no other stage is kept.
            open_model_on<double>(one, tagged)
                ->forward(one.segments(), dialect, StageFilter(trace.stages().back().name));
        }
        for (const std::string& name : tagged.strangers()) {
            INFO(one.name << ": " << name << " was given numbers that no operation made");
            CHECK(false);
        }
        called.merge(tagged.called());
    }
    if (cases.empty()) return;
    CHECK(called == std::set<std::string>{"activate",
                                          "add",
                                          "add_rows",
                                          "content_term",
                                          "content_to_content",
                                          "content_to_position",
                                          "context",
                                          "convolve",
                                          "cross_entropy",
                                          "dense",
                                          "divide",
                                          "layer_norm",
                                          "log_softmax",
                                          "masked_softmax",
                                          "mix_heads",
                                          "multiply",
                                          "multiply_rows",
                                          "position_term",
                                          "position_to_content",
                                          "rotate",
                                          "segment_term",
                                          "shift_by_index",
                                          "word_logits"});
}

}  // namespace locus::test::test_cuda_passes
