#include "core/conformance/formulas/deberta_parts.h"

#include "core/models/deberta.h"
#include "core/models/language_head.h"

namespace locus::conformance {

namespace {

bool is_roformer(const Replay& at) { return at.model().family == Family::roformer; }

}  // namespace

Matrix<double> embedding_sum(const Replay& at, bool with_positions) {
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    const ModelInput& input = at.input();
    Matrix<double> rows = at("/embeddings.word").rows();
    if (rows.rows() != input.batch() * input.length() || rows.cols() != config.embedding_size)
        throw NotEnough{"embeddings.word, a row for each token"};
    if (config.type_vocab_size > 0) {
        const Matrix<double>& types =
            weights.matrix("embeddings.token_type_embeddings.weight", {config.type_vocab_size, config.embedding_size});
        for (Index n = 0; n < rows.rows(); ++n)
            rows.row(n) += types.row(input.token_types.empty() ? 0 : input.token_types[n]);
    }
    if (with_positions) {
        if (!weights.has_absolute_table()) throw NotEnough{"an absolute table"};
        const Matrix<double> positions = weights.absolute_rows(input.length());
        for (Index b = 0; b < input.batch(); ++b) rows.middleRows(b * input.length(), input.length()) += positions;
    }
    if (config.embedding_size != config.hidden_size) rows = dense<double>(rows, weights.dense("embeddings.embed_proj"));
    return rows;
}

void hide_tokens(const Replay& at, Tensor<double>& values) {
    const Matrix<double> visible = visible_tokens<double>(at.input());
    if (visible.size() > 0 && visible.size() != values.rows().rows()) throw NotEnough{"a mask of this shape"};
    for (Index n = 0; n < visible.size(); ++n) values.rows().row(n) *= visible.data()[n];
}

bool convolves(const Replay& at) { return at.scope() == "layer.0." && at.deberta().config().conv_kernel_size > 0; }

void need_convolution(const Replay& at) {
    if (!convolves(at)) throw NotEnough{"a convolution"};
}

Tensor<double> convolved(const Replay& at, const Tensor<double>& x) {
    need_convolution(at);
    Tensor<double> y(x.shape());
    for (Index b = 0; b < x.extent(0); ++b) y.matrix(b) = convolve<double>(x.matrix(b), at.deberta().convolution());
    return y;
}

Tensor<double> merged(const Replay& at, const Tensor<double>& base, const Tensor<double>& addend) {
    need_convolution(at);
    return shaped(base, layer_norm<double>(sum_of(base, addend).rows(), at.deberta().norm("encoder.conv.LayerNorm"),
                                           at.deberta().config().layer_norm_eps));
}

const Tensor<double>& head_input(const Replay& at) {
    if (!is_roformer(at)) return at("/head_input");
    return at("/layer." + std::to_string(at.roformer().num_hidden_layers - 1) + ".output");
}

HeadParts head_parts(const Replay& at) {
    if (is_roformer(at)) {
        const RoformerConfig& config = at.roformer();
        const auto& weights = at.model().weights;
        const std::string head = "cls.predictions.";
        if (!weights.has(head + "bias")) throw NotEnough{"a masked-word head"};
        return {weights.dense(head + "transform.dense", config.embedding_size, config.hidden_size),
                weights.norm(head + "transform.LayerNorm", config.embedding_size),
                weights.vector(head + "bias", config.vocab_size), config.hidden_act, config.layer_norm_eps};
    }
    const auto& weights = at.deberta();
    if (weights.head_dense().empty()) throw NotEnough{"a masked-word head"};
    return {weights.dense(weights.head_dense()), weights.norm(weights.head_norm()), weights.head_bias(),
            weights.config().hidden_act, weights.config().layer_norm_eps};
}

Tensor<double> word_scores(const Replay& at, const Tensor<double>& x, const RowVector<double>& bias) {
    const Index words = is_roformer(at) ? at.roformer().vocab_size : at.deberta().config().vocab_size;
    const auto table = [&](Index first, Index count) {
        return at.model().weights.block("embeddings.word_embeddings.weight", first, count);
    };
    return shaped(x, word_logits<double>(x.rows(), table, words, bias));
}

Tensor<double> at_positions(const Replay& at, const Tensor<double>& values) {
    const ModelInput& input = at.input();
    const IndexTensor& wanted = input.mask_positions;
    if (wanted.empty()) throw NotEnough{"the positions of masked tokens"};
    Matrix<double> rows(wanted.extent(0), values.extent(2));
    for (Index n = 0; n < rows.rows(); ++n) {
        const Index b = wanted[2 * n], t = wanted[2 * n + 1];
        if (b < 0 || b >= values.extent(0) || t < 0 || t >= values.extent(1)) throw NotEnough{"a token there"};
        rows.row(n) = values.matrix(b).row(t);
    }
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

Tensor<double> losses(const Replay& at, const Tensor<double>& logits, bool unlabelled_too) {
    const IndexTensor& labels = at.input().labels;
    if (labels.empty() || labels.size() != logits.rows().rows()) throw NotEnough{"labels"};
    std::vector<double> each;
    for (Index n = 0; n < labels.size(); ++n)
        if (unlabelled_too || labels[n] > 0) each.push_back(cross_entropy<double>(logits.rows().row(n), labels[n]));
    const auto count = static_cast<Index>(each.size());
    return {{count}, std::move(each)};
}

}  // namespace locus::conformance
