#include "core/conformance/formulas/formulas.h"

#include <algorithm>

#include "core/attention/softmax.h"
#include "core/models/word_logits.h"
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

Tensor<double> logits_of(const Replay& at, const std::string& stem, const Tensor<double>& like, const Matrix<double>& x,
                         const WordTable& table) {
    constexpr Index kFirst = 256;  // words of the first block, which is enough to rule out nearly every hypothesis
    if (table.bias.size() > 0) check_shape("logits", "bias", table.bias, 1, table.words);
    Matrix<double> logits(x.rows(), table.words);
    for (Index first = 0, count = kFirst; first < table.words; first += count, count = kWordsAtOnce) {
        count = std::min(count, table.words - first);
        const auto rows = [&](Index from, Index wanted) {
            return at.model().weights.block(table.name, first + from, wanted);
        };
        const RowVector<double> bias =
            table.bias.size() > 0 ? RowVector<double>(table.bias.segment(first, count)) : RowVector<double>();
        const Matrix<double> part = word_logits<double>(x, rows, count, bias);
        at.show(stem, first, part);
        logits.middleCols(first, count) = part;
    }
    return shaped(like, logits);
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
