// Mistake 114.  Fine-tuned heads: which row stands for a text, the activation after its layer, what the logits are.
#include <cmath>

#include "core/conformance/formulas/classifiers.h"
#include "core/conformance/mistakes/catalogue.h"
#include "core/models/layers.h"

namespace locus::conformance {

namespace classifier_heads {  // mistake 114

/// classifier.pooled of other rows than the configuration asks for.
template <class Rows>
std::vector<Formula> of_rows(Rows rows) {
    return {{"/classifier.pooled", {}, [rows](const Replay& at) { return pooled_of(at, rows(at)); }}};
}

/// True for every token of x [B,T,D] that the mask shows [B*T]; XLNet's input_mask says the opposite.
std::vector<bool> visible_tokens(const Replay& at, const Tensor<double>& x) {
    const ModelInput& input = at.input();
    const bool hides = input.mask.empty();
    const IndexTensor& mask = hides ? input.input_mask : input.mask;
    if (mask.rank() != 2 || mask.size() != x.extent(0) * x.extent(1)) throw NotEnough{"a mask of the tokens"};
    std::vector<bool> visible;
    for (Index n = 0; n < mask.size(); ++n) visible.push_back((mask[n] != 0) != hides);
    return visible;
}

Matrix<double> mean_of_visible(const Replay& at) {
    const Tensor<double>& x = classified_states(at);
    const std::vector<bool> visible = visible_tokens(at, x);
    Matrix<double> rows = Matrix<double>::Zero(x.extent(0), x.extent(2));
    for (Index b = 0; b < rows.rows(); ++b) {
        Index count = 0;
        for (Index t = 0; t < x.extent(1); ++t) {
            if (!visible[static_cast<std::size_t>(b * x.extent(1) + t)]) continue;
            rows.row(b) += x.matrix(b).row(t);
            ++count;
        }
        if (count == 0) throw NotEnough{"a token that is visible"};
        rows.row(b) /= static_cast<double>(count);
    }
    return rows;
}

/// As of a model that reads from left to right: the last token that is no padding.
Matrix<double> last_visible(const Replay& at) {
    const Tensor<double>& x = classified_states(at);
    const std::vector<bool> visible = visible_tokens(at, x);
    Matrix<double> rows(x.extent(0), x.extent(2));
    for (Index b = 0; b < rows.rows(); ++b) {
        Index t = x.extent(1) - 1;
        while (t > 0 && !visible[static_cast<std::size_t>(b * x.extent(1) + t)]) --t;
        rows.row(b) = x.matrix(b).row(t);
    }
    return rows;
}

Matrix<double> second_rows(const Replay& at) {
    const Tensor<double>& x = classified_states(at);
    if (x.extent(1) < 2) throw NotEnough{"a second token"};
    Matrix<double> rows(x.extent(0), x.extent(2));
    for (Index b = 0; b < rows.rows(); ++b) rows.row(b) = x.matrix(b).row(1);
    return rows;
}

Matrix<double> largest_of_all(const Replay& at) {
    const Tensor<double>& x = classified_states(at);
    Matrix<double> rows(x.extent(0), x.extent(2));
    for (Index b = 0; b < rows.rows(); ++b) rows.row(b) = x.matrix(b).colwise().maxCoeff();
    return rows;
}

/// The first token, where the last is asked for, and the other way round.
Matrix<double> of_the_other_end(const Replay& at) {
    const ClassifierParts parts = classifier_parts(at);
    if (parts.mean) throw NotEnough{"a row of one token"};
    return parts.last ? first_rows(classified_states(at)) : last_rows(classified_states(at));
}

/// The dense layer through another activation; none: as it is.  Right where the configuration asks for the same.
std::vector<Formula> activated(std::optional<Activation> activation) {
    return {{"/classifier.pooled", {}, [activation](const Replay& at) {
                 if (classifier_parts(at).activation == activation) throw NotEnough{"another activation"};
                 Matrix<double> pooled = pooled_inner(at, right_rows(at));
                 if (activation) pooled = activate<double>(pooled, *activation);
                 return as_tensor<double>({pooled.rows(), pooled.cols()}, pooled);
             }}};
}

/// The token's row itself: there is no pooler in the port.
Tensor<double> without_pooler(const Replay& at) {
    if (classifier_parts(at).dense.empty()) throw NotEnough{"a dense layer"};
    const Matrix<double> rows = right_rows(at);
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

/// What stands in place of the logits, of texts and of tokens.
template <class Change>
std::vector<Formula> logits_by(Change change) {
    std::vector<Formula> formulas;
    for (const char* stem : {"/classifier.logits", "/classifier.token_logits"})
        formulas.push_back(
            {stem, {"/classifier.pooled"}, [=](const Replay& at) { return change(at, at.right(stem)); }});
    return formulas;
}

Tensor<double> without_bias(const Replay& at, Tensor<double> logits) {
    const std::string layer = logits.rank() == 2 ? classifier_parts(at).output : token_layer(at);
    logits.rows().rowwise() -= at.model().weights.vector(layer + ".bias", logits.extent(logits.rank() - 1));
    return logits;
}

Tensor<double> softmax_of(const Replay&, Tensor<double> logits) {
    for (Index n = 0; n < logits.rows().rows(); ++n) {
        const auto row = logits.rows().row(n);
        const RowVector<double> shares = (row.array() - row.maxCoeff()).exp();
        logits.rows().row(n) = shares / shares.sum();
    }
    return logits;
}

Tensor<double> log_softmax_of(const Replay& at, Tensor<double> logits) {
    return mapped(softmax_of(at, std::move(logits)), [](double share) { return std::log(share); });
}

Tensor<double> sigmoid_of(const Replay&, Tensor<double> logits) {
    return mapped(logits, [](double logit) { return 1 / (1 + std::exp(-logit)); });
}

Mistake mistake() {
    return {
        .number = 114,
        .name = "a fine-tuned head pools another row, through another activation, or gives no logits",
        .symptom = "every layer is right and the classes are wrong; often the best class is the same, less surely",
        .betrays = "classifier.pooled == act(dense(row)) of the first token (XLNet: the last); logits do not sum to 1",
        .evidence =
            "transformers modeling_deberta_v2.py ContextPooler (gelu) beside modeling_bert.py BertPooler (tanh)",
        .lesson = "12",
        .families = {Family::deberta, Family::roformer, Family::xlnet},
        .stems = {"/classifier.pooled", "/classifier.logits", "/classifier.token_logits"},
        .variants = {{"tanh after the pooler, as in BERT", activated(Activation::tanh)},
                     {"gelu after the pooler", activated(Activation::gelu)},
                     {"no activation after the pooler", activated(std::nullopt)},
                     {"no pooler", {{"/classifier.pooled", {}, without_pooler}}},
                     {"the row at the other end of the text", of_rows(of_the_other_end)},
                     {"the mean of all tokens", of_rows([](const Replay& at) {
                          if (classifier_parts(at).mean) throw NotEnough{"a row of one token"};
                          return mean_rows(classified_states(at));
                      })},
                     {"the mean of the visible tokens", of_rows(mean_of_visible)},
                     {"the classifier's bias left out", logits_by(without_bias)},
                     {"probabilities instead of logits", logits_by(softmax_of)},
                     {"logarithms of probabilities instead of logits", logits_by(log_softmax_of)},
                     {"a probability of each class by itself (sigmoid) instead of logits", logits_by(sigmoid_of)},
                     {"the last visible token", of_rows(last_visible)},
                     {"the second token", of_rows(second_rows)},
                     {"the largest value of all tokens", of_rows(largest_of_all)}}};
}

}  // namespace classifier_heads

std::vector<Mistake> classifier_mistakes() { return {classifier_heads::mistake()}; }

}  // namespace locus::conformance
