// The right formulas of RoFormer, stage by stage.  Su et al. 2021; transformers modeling_roformer.py.
#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/formulas/formulas.h"
#include "core/positions/rotary.h"

namespace locus::conformance {

namespace {

constexpr const char* kWordTable = "embeddings.word_embeddings.weight";
constexpr const char* kTypeTable = "embeddings.token_type_embeddings.weight";
constexpr const char* kAngleTable = "encoder.embed_positions.weight";
constexpr const char* kHead = "cls.predictions.";

const WeightReader<double>& weights(const Replay& at) { return at.model().weights; }

std::string prefix_of(const Replay& at) { return "encoder.layer." + std::to_string(at.layer()) + "."; }

Dense<double> self(const Replay& at, const char* part) {
    const Index width = at.roformer().hidden_size;
    return weights(at).dense(prefix_of(at) + "attention.self." + part, width, width);
}

/// The type's row is added, then the norm, then (factorised) a projection.
Tensor<double> embeddings_output(const Replay& at) {
    const RoformerConfig& config = at.roformer();
    const ModelInput& input = at.input();
    Matrix<double> rows = at("/embeddings.word").rows();
    if (config.type_vocab_size > 0) {
        const Matrix<double> types = weights(at).matrix(kTypeTable, {config.type_vocab_size, config.embedding_size});
        for (Index n = 0; n < rows.rows(); ++n)
            rows.row(n) += types.row(input.token_types.empty() ? 0 : input.token_types[n]);
    }
    rows = layer_norm<double>(rows, weights(at).norm("embeddings.LayerNorm", config.embedding_size),
                              config.layer_norm_eps);
    if (config.embedding_size != config.hidden_size)
        rows = dense<double>(rows, weights(at).dense("embeddings_project", config.hidden_size, config.embedding_size));
    return shaped(at("/embeddings.word"), rows);
}

/// Angles of the file, where it holds them (in float), else computed.
RotaryTable<double> angles(const Replay& at) {
    const Index length = at.input().length();
    if (!weights(at).has(kAngleTable))
        return rotary_table<double>(inverse_frequencies(at.roformer().head_width()), 0, length);
    return rotary_table_of<double>(weights(at).block(kAngleTable, 0, length), SinusoidLayout::concatenated);
}

Tensor<double> scores_of(const Replay& at) {
    const double root = std::sqrt(static_cast<double>(at("q_rot").extent(3)));
    return mapped(products(at("q_rot"), at("k_rot")), [&](double score) { return score / root; });
}

Tensor<double> context_of(const Replay& at) { return joined_heads(at("probs"), at(turns_values(at) ? "v_rot" : "v")); }

BlockWeights block() {
    return {[](const Replay& at) {
                const Index d = at.roformer().hidden_size;
                return weights(at).dense(prefix_of(at) + "attention.output.dense", d, d);
            },
            [](const Replay& at) {
                return weights(at).norm(prefix_of(at) + "attention.output.LayerNorm", at.roformer().hidden_size);
            },
            [](const Replay& at) {
                return weights(at).dense(prefix_of(at) + "intermediate.dense", at.roformer().intermediate_size,
                                         at.roformer().hidden_size);
            },
            [](const Replay& at) {
                return weights(at).dense(prefix_of(at) + "output.dense", at.roformer().hidden_size,
                                         at.roformer().intermediate_size);
            },
            [](const Replay& at) {
                return weights(at).norm(prefix_of(at) + "output.LayerNorm", at.roformer().hidden_size);
            },
            [](const Replay& at) { return at.roformer().hidden_act; },
            [](const Replay& at) { return at.roformer().layer_norm_eps; },
            [](const Replay&) { return false; }};
}

Tensor<double> transform_of(const Replay& at) {
    const RoformerConfig& config = at.roformer();
    const Tensor<double>& x = at("/layer." + std::to_string(config.num_hidden_layers - 1) + ".output");
    const std::string head = std::string(kHead) + "transform.";
    const Matrix<double> inner =
        dense<double>(x.rows(), weights(at).dense(head + "dense", config.embedding_size, config.hidden_size));
    return shaped(
        x, layer_norm<double>(activate<double>(inner, config.hidden_act),
                              weights(at).norm(head + "LayerNorm", config.embedding_size), config.layer_norm_eps));
}

Tensor<double> mlm_logits(const Replay& at) {
    const Index words = at.roformer().vocab_size;
    const Tensor<double>& transform = at("/mlm.transform");
    return logits_of(transform, transform.rows(), weights(at).block(kWordTable, 0, words),
                     weights(at).vector(std::string(kHead) + "bias", words));
}

Formula projection(const char* stem, const char* part) {
    return {stem, {"x"}, [part](const Replay& at) {
                return project_heads<double>(at("x"), self(at, part), at.roformer().num_attention_heads);
            }};
}

}  // namespace

std::vector<Formula> roformer_formulas() {
    std::vector<Formula> all = {
        {"/embeddings.word", {}, [](const Replay& at) { return rows_of_tokens(at, kWordTable); }},
        {"/embeddings.output", {"/embeddings.word"}, embeddings_output},
        {"/rotary.sin", {}, [](const Replay& at) { return as_rows(angles(at).sin); }},
        {"/rotary.cos", {}, [](const Replay& at) { return as_rows(angles(at).cos); }},
        projection("q", "query"),
        projection("k", "key"),
        projection("v", "value"),
        {"scores", {"q_rot", "k_rot"}, scores_of},
        {"probs", {"scores"}, [](const Replay& at) { return masked_probabilities(at); }},
        {"context", {"probs", "v", "v_rot"}, context_of},
    };
    for (Formula& formula : rotations_of_all([](const auto&x, const auto&sin, const auto&cos) {
             return turned(x, sin, cos, RotaryLayout::interleaved);
         }))
        all.push_back(std::move(formula));
    for (Formula& formula : block_formulas(block())) all.push_back(std::move(formula));
    for (Formula& formula : roformer_gradient_formulas()) all.push_back(std::move(formula));
    all.push_back({"/mlm.transform", {}, transform_of});
    all.push_back({"/mlm.logits", {"/mlm.transform"}, mlm_logits});
    return all;
}

}  // namespace locus::conformance
