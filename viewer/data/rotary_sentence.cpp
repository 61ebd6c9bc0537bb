#include "viewer/data/rotary_sentence.h"

#include "core/attention/linear.h"
#include "core/attention/rotary.h"

namespace locus {

RotarySentence::RotarySentence(std::shared_ptr<const ModelSession> opened, const ModelChoice& choice)
    : opened_(std::move(opened)) {
    const ModelInput input = opened_->input_of(choice);
    words_ = opened_->words_of(choice, input);
    trace_ = opened_->model().forward({input}, Dialect::official,
                                      StageFilter("rotary.sin,rotary.cos,layer.*.q,layer.*.k,layer.*.v"));
    angles_ = {trace_.at("rotary.sin").as<float>().rows(), trace_.at("rotary.cos").as<float>().rows()};
    if (input.mask.empty()) return;
    visible_.resize(length(), length());
    for (Index i = 0; i < length(); ++i)
        for (Index j = 0; j < length(); ++j)
            visible_(i, j) = input.mask[input.mask.rank() == 3 ? i * length() + j : j] != 0;
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
    std::vector<bool> visible;
    for (Index j = 0; j < visible_.cols(); ++j) visible.push_back(visible_(0, j) != 0);
    return linear_attention_weights<float>(rows("q", layer, head), rows("k", layer, head), angles_,
                                           RotaryLayout::interleaved, LinearForm::paper, false, visible);
}

}  // namespace locus
