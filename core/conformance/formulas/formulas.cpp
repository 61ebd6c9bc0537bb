#include "core/conformance/formulas/formulas.h"

#include "core/attention/softmax.h"
#include "core/models/layers.h"
#include "core/products.h"

namespace locus::conformance {

Tensor<double> masked_probabilities(const Replay& at, const std::string& stem) {
    const Tensor<double>& scores = at(stem);
    const MaskedRow masked_row = at.masked_row();
    return each_head(scores, scores.extent(2), scores.extent(3), [&](Index n, Index, Index b) {
        return masked_softmax<double>(scores.matrix(n), at.mask(b), masked_row);
    });
}

Tensor<double> joined_context(const Replay& at, const std::string& stem) {
    const auto keep = at.expected("keep");
    return joined_heads(keep ? product_of(at(stem), *keep) : at(stem), at("v"));
}

Tensor<double> joined_heads(const Tensor<double>& probs, const Tensor<double>& v) {
    return join_heads(each_head(probs, probs.extent(2), v.extent(3),
                                [&](Index n, Index, Index) { return times<double>(probs.matrix(n), v.matrix(n)); }));
}

Tensor<double> rows_of_tokens(const Replay& at, const std::string& table) {
    const ModelInput& input = at.input();
    const Matrix<double> rows = at.model().weights.rows(table, input.tokens.values());
    return as_tensor<double>({input.batch(), input.length(), rows.cols()}, rows);
}

Tensor<double> logits_of(const Tensor<double>& like, const Matrix<double>& x, const Matrix<double>& table,
                         const RowVector<double>& bias) {
    return shaped(like, dense<double>(x, {table, bias}));
}

const std::vector<Formula>& formulas_of(Family family) {
    static const std::vector<Formula> deberta = deberta_formulas(), roformer = roformer_formulas(),
                                      transformer_xl = transformer_xl_formulas(), xlnet = xlnet_formulas();
    switch (family) {
        case Family::deberta:
            return deberta;
        case Family::roformer:
            return roformer;
        case Family::transformer_xl:
            return transformer_xl;
        case Family::xlnet:
            break;
    }
    return xlnet;
}

}  // namespace locus::conformance
