// The right formulas of RoFormer, stage by stage.  Su et al. 2021; transformers modeling_roformer.py.
#include "core/conformance/formulas/roformer.h"

#include <nlohmann/json.hpp>

#include "core/conformance/formulas/classifiers.h"
#include "core/conformance/formulas/deberta.h"
#include "core/positions/rotary.h"

namespace locus::conformance {

namespace {

constexpr const char* kWordTable = "embeddings.word_embeddings.weight";
constexpr const char* kTypeTable = "embeddings.token_type_embeddings.weight";
constexpr const char* kAngleTable = "encoder.embed_positions.weight";
constexpr const char* kRoformerHead = "cls.predictions.";

const WeightReader<double>& weights(const Replay& at) { return at.model().weights; }

std::string prefix_of(const Replay& at) { return "encoder.layer." + std::to_string(at.layer()) + "."; }

Dense<double> self(const Replay& at, const char* part) {
    const Index width = at.roformer().hidden_size;
    return weights(at).dense(prefix_of(at) + "attention.self." + part, width, width);
}

Tensor<double> roformer_embeddings_output(const Replay& at) {
    return roformer_embeddings(at, roformer_embedding_sum(at));
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

Tensor<double> context_of(const Replay& at) {
    return joined_heads(at("probs"), at(rotates_values(at) ? "v_rot" : "v"));
}

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
    const std::string head = std::string(kRoformerHead) + "transform.";
    const Matrix<double> inner =
        dense<double>(x.rows(), weights(at).dense(head + "dense", config.embedding_size, config.hidden_size));
    return shaped(
        x, layer_norm<double>(activate<double>(inner, config.hidden_act),
                              weights(at).norm(head + "LayerNorm", config.embedding_size), config.layer_norm_eps));
}

Tensor<double> mlm_logits(const Replay& at) {
    const RowVector<double> bias = weights(at).vector(output_of(at).bias, at.roformer().vocab_size);
    return word_scores(at, "/mlm.logits", at("/mlm.transform"), bias);
}

Formula projection(const char* stem, const char* part) {
    return {stem, {"x"}, [part](const Replay& at) {
                return project_heads<double>(at("x"), self(at, part), at.roformer().num_attention_heads);
            }};
}

Formula layout_formula(bool halves) {
    return {kPairsHalves, {}, [halves](const Replay&) { return Tensor<double>({1}, {halves ? 1.0 : 0.0}); }};
}

}  // namespace

Matrix<double> roformer_embedding_sum(const Replay& at) {
    const RoformerConfig& config = at.roformer();
    const ModelInput& input = at.input();
    Matrix<double> rows = at("/embeddings.word").rows();
    if (rows.rows() != input.batch() * input.length() || rows.cols() != config.embedding_size)
        throw NotEnough{"embeddings.word, a row for each token"};
    if (config.type_vocab_size > 0) {
        const Matrix<double> types = weights(at).matrix(kTypeTable, {config.type_vocab_size, config.embedding_size});
        for (Index n = 0; n < rows.rows(); ++n)
            rows.row(n) += types.row(input.token_types.empty() ? 0 : input.token_types[n]);
    }
    return rows;
}

Tensor<double> roformer_embeddings(const Replay& at, const Matrix<double>& sum) {
    const RoformerConfig& config = at.roformer();
    Matrix<double> rows =
        layer_norm<double>(sum, weights(at).norm("embeddings.LayerNorm", config.embedding_size), config.layer_norm_eps);
    if (config.embedding_size != config.hidden_size)
        rows = dense<double>(rows, weights(at).dense("embeddings_project", config.hidden_size, config.embedding_size));
    return shaped(at("/embeddings.word"), rows);
}

Tensor<double> as_neighbours(const Tensor<double>& x) {
    const Index width = x.extent(x.rank() - 1), half = width / 2;
    Tensor<double> y(x.shape());
    for (Index n = 0; n < x.size(); n += width)
        for (Index t = 0; t < half; ++t) {
            y[n + 2 * t] = x[n + t];
            y[n + 2 * t + 1] = x[n + half + t];
        }
    return y;
}

Tensor<double> as_halves(const Tensor<double>& x) {
    const Index width = x.extent(x.rank() - 1), half = width / 2;
    Tensor<double> y(x.shape());
    for (Index n = 0; n < x.size(); n += width)
        for (Index t = 0; t < half; ++t) {
            y[n + t] = x[n + 2 * t];
            y[n + half + t] = x[n + 2 * t + 1];
        }
    return y;
}

namespace {

/// Keys of a case that has neither a model nor a table of angles.  [B,H,T,d]
const Tensor<double>& keys_alone(const Replay& at) {
    return at.elsewhere("layer.0.").common("keys of layer 0", [&] { return at.elsewhere("layer.0.")("k"); });
}

}  // namespace

Index positions_of(const Replay& at) {
    const auto sin = at.expected("/rotary.sin");
    if (sin && sin->rank() == 2) return sin->extent(0);
    return at.has_model() ? at.input().length() : keys_alone(at).extent(2);
}

Index head_width(const Replay& at) {
    if (at.has_model()) return at.roformer().head_width();
    const auto sin = at.expected("/rotary.sin");
    return sin && sin->rank() == 2 && sin->extent(1) > 0 ? 2 * sin->extent(1) : keys_alone(at).extent(3);
}

Index model_width(const Replay& at) {
    return at.has_model() ? at.roformer().hidden_size : keys_alone(at).extent(1) * keys_alone(at).extent(3);
}

std::vector<Formula> roformer_formulas() {
    std::vector<Formula> all = {
        {"/embeddings.word", {}, [](const Replay& at) { return rows_of_tokens(at, kWordTable); }},
        {"/embeddings.output", {"/embeddings.word"}, roformer_embeddings_output},
        {"/rotary.sin", {}, [](const Replay& at) { return as_rows(angles(at).sin); }},
        {"/rotary.cos", {}, [](const Replay& at) { return as_rows(angles(at).cos); }},
        layout_formula(false),
        projection("q", "query"),
        projection("k", "key"),
        projection("v", "value"),
        {"scores", {"q_rot", "k_rot"}, scores_of},
        {"probs", {"scores"}, [](const Replay& at) { return masked_probabilities(at); }},
        {"context", {"probs", "v", "v_rot"}, context_of},
    };
    for (Formula& formula : rotations_of_all(rotated_neighbours)) all.push_back(std::move(formula));
    for (Formula& formula : block_formulas(block())) all.push_back(std::move(formula));
    for (Formula& formula : roformer_gradient_formulas()) all.push_back(std::move(formula));
    for (Formula& formula : classifier_formulas()) all.push_back(std::move(formula));
    all.push_back({"/mlm.transform", {}, transform_of});
    all.push_back({"/mlm.logits", {"/mlm.transform"}, mlm_logits});
    return all;
}

// The steps of linear attention with rotary positions; Su et al. 2021, eq. 19.

Tensor<double> features_of(const Tensor<double>& x) {
    return mapped(x, [](double value) { return value > 0 ? value + 1 : std::exp(value); });
}

Tensor<double> rotated_by_position(const Tensor<double>& x) {
    const RotaryTable<double> table = rotary_table<double>(inverse_frequencies(x.extent(3)), 0, x.extent(2));
    return each_head(x, x.extent(2), x.extent(3), [&](Index at, Index, Index) {
        return rotate<double>(x.matrix(at), table, RotaryLayout::interleaved);
    });
}

Tensor<double> without_padding(const Replay& at, Tensor<double> keys) {
    return each_head(keys, keys.extent(2), keys.extent(3), [&](Index n, Index, Index b) {
        Matrix<double> rows = keys.matrix(n);
        const Mask visible = at.mask(b);
        if (visible.size() > 0 && visible.cols() != rows.rows()) throw NotEnough{"a mask of as many keys"};
        for (Index j = 0; visible.size() > 0 && j < rows.rows(); ++j)
            if (visible(0, j) == 0) rows.row(j).setZero();
        return rows;
    });
}

Tensor<double> seen_products(const Replay& at, const Tensor<double>& q, const Tensor<double>& k) {
    const bool causal = at("causal")[0] != 0;
    return each_head(q, q.extent(2), k.extent(2), [&](Index n, Index, Index) {
        Matrix<double> sums = products_of_rows<double>(q.matrix(n), k.matrix(n));
        if (causal) sums = sums.triangularView<Eigen::Lower>();
        return sums;
    });
}

Tensor<double> row_sums(const Tensor<double>& products) {
    Tensor<double> sums({products.extent(0), products.extent(1), products.extent(2)});
    const Index keys = products.extent(3);
    for (Index row = 0; row < sums.size(); ++row)
        for (Index j = 0; j < keys; ++j) sums[row] += products[row * keys + j];
    return sums;
}

Tensor<double> bounded(Tensor<double> denominators) {
    return mapped(std::move(denominators),
                  [](double sum) { return sum < kSmallestDenominator ? kSmallestDenominator : sum; });
}

Tensor<double> divided(Tensor<double> products, const Tensor<double>& denominators) {
    const Index keys = products.extent(3);
    if (denominators.size() * keys != products.size()) throw NotEnough{"a denominator per query"};
    for (Index n = 0; n < products.size(); ++n) products[n] /= denominators[n / keys];
    return products;
}

// Right formulas of cases that are a part of no model: linear attention, and a rotation after a cached prefix.

namespace {

/// Angles of all keys; queries are the last of them.
RotaryTable<double> angles_of_keys(const Replay& at) {
    return rotary_table<double>(inverse_frequencies(head_width(at)), 0, positions_of(at));
}

/// Queries and keys rotated without a model.
std::vector<Formula> rotation_formulas(bool halves) {
    std::vector<Formula> all = {
        layout_formula(halves),
        {"/rotary.sin", {}, [](const Replay& at) { return as_rows(angles_of_keys(at).sin); }},
        {"/rotary.cos", {}, [](const Replay& at) { return as_rows(angles_of_keys(at).cos); }},
        {"scores", {"q_rot", "k_rot"}, scores_of},
    };
    for (Formula& formula : rotations(rotated_neighbours)) all.push_back(std::move(formula));
    return all;
}

/// Su et al. 2021, eq. 19: features turn in the numerator alone.
std::vector<Formula> linear_formulas(bool causal) {
    std::vector<Formula> all = rotation_formulas(false);
    const std::vector<Formula> more = {
        {"causal", {}, [causal](const Replay&) { return Tensor<double>({1}, {causal ? 1.0 : 0.0}); }},
        {"phi_q", {"q"}, [](const Replay& at) { return features_of(at("q")); }},
        {"phi_k", {"k"}, [](const Replay& at) { return without_padding(at, features_of(at("k"))); }},
        {"denominator",
         {"phi_q", "phi_k"},
         [](const Replay& at) { return bounded(row_sums(seen_products(at, at("phi_q"), at("phi_k")))); }},
        {"weights",
         {"phi_q_rot", "phi_k_rot", "denominator"},
         [](const Replay& at) {
             return divided(seen_products(at, at("phi_q_rot"), at("phi_k_rot")), at("denominator"));
         }},
        {"context", {"weights", "v"}, [](const Replay& at) { return joined_heads(at("weights"), at("v")); }},
    };
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

const std::vector<Formula>* formulas_of_kind(const nlohmann::ordered_json& config) {
    static const std::vector<Formula> linear = linear_formulas(false), causal = linear_formulas(true),
                                      rotation = rotation_formulas(false), halves = rotation_formulas(true);
    if (!config.is_object()) return nullptr;
    const std::string kind = config.value("kind", "");
    if (kind == "linear_attention") return config.value("causal", false) ? &causal : &linear;
    if (kind == "rotary_cache") return &rotation;
    return config.value("layout", "") == "half-split" ? &halves : nullptr;
}

}  // namespace locus::conformance
