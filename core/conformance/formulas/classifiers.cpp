#include "core/conformance/formulas/classifiers.h"

#include "core/models/layers.h"

namespace locus::conformance {

namespace {

Dense<double> layer_named(const Replay& at, const std::string& name, Index width) {
    const WeightReader<double>& weights = at.model().weights;
    const std::optional<Shape> shape = weights.shape(name + ".weight");
    if (!shape || shape->size() != 2 || (*shape)[1] != width) throw NotEnough{name};
    return weights.dense(name, shape->front(), width);
}

Tensor<double> logits_of_text(const Replay& at) {
    const Matrix<double> pooled = at("/classifier.pooled").rows();
    return shaped(at("/classifier.pooled"),
                  dense<double>(pooled, layer_named(at, classifier_parts(at).output, pooled.cols())));
}

Tensor<double> logits_of_tokens(const Replay& at) {
    const Tensor<double>& x = classified_states(at);
    return shaped(x, dense<double>(x.rows(), layer_named(at, token_layer(at), x.extent(2))));
}

}  // namespace

ClassifierParts classifier_parts(const Replay& at) {
    const auto by_name = [](const std::string& name) -> std::optional<Activation> {
        Activation activation = Activation::gelu;
        if (name.empty()) return std::nullopt;
        if (!parse_activation(name, activation)) throw NotEnough{"an activation that is known"};
        return activation;
    };
    switch (at.family()) {
        case Family::deberta:
            return {"pooler.dense", "classifier", false, false, by_name(at.deberta().config().pooler_hidden_act)};
        case Family::roformer:
            return {"classifier.dense", "classifier.out_proj", false, false, at.roformer().hidden_act};
        case Family::xlnet: {
            const XlnetConfig& config = at.xlnet();
            return {config.summary_use_proj ? "sequence_summary.summary" : "", "logits_proj",
                    config.summary_type == "last", config.summary_type == "mean", by_name(config.summary_activation)};
        }
        case Family::transformer_xl:
            break;
    }
    throw NotEnough{"a classifier"};
}

const Tensor<double>& classified_states(const Replay& at) {
    Index layers = 0;
    std::string stream;
    if (at.family() == Family::xlnet) {
        layers = at.xlnet().n_layer;
        if (!at.input().target_mapping.empty()) stream = "g.";
    } else {
        layers =
            at.family() == Family::roformer ? at.roformer().num_hidden_layers : at.deberta().config().num_hidden_layers;
    }
    return at("/layer." + std::to_string(layers - 1) + "." + stream + "output");
}

Matrix<double> first_rows(const Tensor<double>& x) {
    Matrix<double> rows(x.extent(0), x.extent(2));
    for (Index b = 0; b < rows.rows(); ++b) rows.row(b) = x.matrix(b).row(0);
    return rows;
}

Matrix<double> last_rows(const Tensor<double>& x) {
    Matrix<double> rows(x.extent(0), x.extent(2));
    for (Index b = 0; b < rows.rows(); ++b) rows.row(b) = x.matrix(b).row(x.extent(1) - 1);
    return rows;
}

Matrix<double> mean_rows(const Tensor<double>& x) {
    Matrix<double> rows(x.extent(0), x.extent(2));
    for (Index b = 0; b < rows.rows(); ++b) rows.row(b) = x.matrix(b).colwise().mean();
    return rows;
}

Matrix<double> right_rows(const Replay& at) {
    const ClassifierParts parts = classifier_parts(at);
    const Tensor<double>& x = classified_states(at);
    return parts.mean ? mean_rows(x) : parts.last ? last_rows(x) : first_rows(x);
}

Matrix<double> pooled_inner(const Replay& at, const Matrix<double>& rows) {
    const ClassifierParts parts = classifier_parts(at);
    return parts.dense.empty() ? rows : dense<double>(rows, layer_named(at, parts.dense, rows.cols()));
}

Tensor<double> pooled_of(const Replay& at, const Matrix<double>& rows) {
    Matrix<double> pooled = pooled_inner(at, rows);
    if (const auto activation = classifier_parts(at).activation) pooled = activate<double>(pooled, *activation);
    return as_tensor<double>({pooled.rows(), pooled.cols()}, pooled);
}

std::string token_layer(const Replay& at) {
    return at.model().weights.has("classifier.weight") ? "classifier" : "qa_outputs";
}

Formula pooler_with(std::function<Matrix<double>(const Matrix<double>& inner)> function) {
    return {"/classifier.pooled", {}, [function = std::move(function)](const Replay& at) {
                if (classifier_parts(at).activation != Activation::gelu) return at.right("/classifier.pooled");
                const Matrix<double> pooled = function(pooled_inner(at, right_rows(at)));
                return as_tensor<double>({pooled.rows(), pooled.cols()}, pooled);
            }};
}

std::vector<Formula> classifier_formulas() {
    return {{"/classifier.pooled", {}, [](const Replay& at) { return pooled_of(at, right_rows(at)); }},
            {"/classifier.logits", {"/classifier.pooled"}, logits_of_text},
            {"/classifier.token_logits", {}, logits_of_tokens}};
}

}  // namespace locus::conformance
