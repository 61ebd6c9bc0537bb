#include "viewer/data/rotary_sentence.h"

#include "core/attention/rotary.h"
#include "core/models/roformer.h"
#include "core/positions/rotary.h"

namespace locus {

namespace {

/// True if the angles are those that base 10 000 gives, up to the rounding of a float32 angle of some thousand radians.
bool are_usual(const RotaryTable<float>& angles) {
    constexpr float kRounding = 1e-3f;
    const RotaryTable<float> usual = rotary_table<float>(inverse_frequencies(angles.width()), 0, angles.length());
    return ((angles.sin - usual.sin).array().abs() <= kRounding).all() &&
           ((angles.cos - usual.cos).array().abs() <= kRounding).all();
}

}  // namespace

RotarySentence::RotarySentence(std::shared_ptr<const ModelSession> opened, const ModelChoice& choice)
    : opened_(std::move(opened)) {
    const ModelInput input = opened_->input_of(choice);
    words_ = opened_->words_of(choice, input);
    trace_ = opened_->model().forward({input}, Dialect::official,
                                      StageFilter("rotary.sin,rotary.cos,layer.*.q,layer.*.k,layer.*.v"));
    angles_ = {trace_.at("rotary.sin").as<float>().rows(), trace_.at("rotary.cos").as<float>().rows()};
    has_own_table_ = !are_usual(angles_);
    warnings_ = opened_->model().warnings();
    const Checkpoint& files = opened_->checkpoint();
    causal_ = parse_roformer_config(files.config_json, files.config_file.string()).causal;
    visible_ = key_masks(input, length(), causal_).front();
}

Matrix<float> RotarySentence::rows(const char* stem, Index layer, Index head) const {
    return trace_.at("layer." + std::to_string(layer) + "." + stem).as<float>().matrix(head);
}

RowVector<double> RotarySentence::row(const char* stem, Index layer, Index head, Index token) const {
    return rows(stem, layer, head).row(token).cast<double>();
}

Matrix<float> RotarySentence::scores(Index layer, Index head) const {
    return rotary_scores<float>(rows("q", layer, head), rows("k", layer, head), angles_, angles_,
                                RotaryLayout::interleaved);
}

Matrix<float> RotarySentence::attention(Index layer, Index head) const {
    return masked_softmax<float>(scores(layer, head), visible_);
}

Matrix<float> RotarySentence::linear_weights(Index layer, Index head) const {
    return linear_attention_weights<float>(rows("q", layer, head), rows("k", layer, head), angles_,
                                           RotaryLayout::interleaved, LinearForm::paper, causal_, keys());
}

LinearExplanation<float> RotarySentence::explain_linear(Index layer, Index head, Index i, Index j) const {
    return explain_linear_cell<float>(rows("q", layer, head), rows("k", layer, head), angles_,
                                      RotaryLayout::interleaved, LinearForm::paper, causal_, keys(), i, j);
}

std::vector<bool> RotarySentence::keys() const {
    std::vector<bool> keys;
    for (Index j = 0; j < visible_.cols(); ++j) keys.push_back(visible_(visible_.rows() - 1, j) != 0);
    return keys;
}

}  // namespace locus
