#include "viewer/data/deberta_steps.h"

#include <utility>

namespace locus {

template <class Scalar>
DebertaSteps<Scalar>::DebertaSteps(const Deberta<Scalar>& model, ModelInput input, const DebertaOptions& options,
                                   StageFilter wanted)
    : model_(model),
      input_((check_input(input, model.config().vocab_size, model.config().type_vocab_size), std::move(input))),
      options_(options),
      trace_(std::move(wanted)),
      decodes_(model.has_decoder() && options.decoder != MaskDecoder::none),
      pass_{model.weights(), input_, options_, trace_, pair_masks(input_), std::nullopt} {
    trace_.expect(model.stage_names(input_, options_));
    if (decodes_ && (trace_.awaits("emd.") || trace_.awaits("mlm.")))
        model.absolute_rows(input_.length());  // refuses a text that is too long before any work
    if (model.config().relative_attention) pass_.buckets = model.relative_buckets(input_.length(), options_);
}

template <class Scalar>
bool DebertaSteps<Scalar>::step() {
    switch (part_) {
        case Part::embeddings:
            hidden_ = embeddings_ = deberta_embeddings(pass_);
            deberta_positions(pass_);
            part_ = after_layer();
            break;
        case Part::weights:
            read_weights();
            break;
        case Part::layer:
            run_layer();
            part_ = after_layer();
            break;
        case Part::classifier:
            model_.classifier()->classify(model_.weights().reader(), hidden_, "", trace_,
                                          model_.weights().operations());
            part_ = trace_.complete() ? Part::end : after_encoder();
            break;
        case Part::decoder:
            hidden_ = deberta_decoder(pass_, decoder_input_);
            part_ = model_.has_head() && !trace_.complete() ? Part::head : Part::end;
            break;
        case Part::head:
            deberta_head(pass_, hidden_);
            part_ = Part::end;
            break;
        case Part::end:
            return false;
    }
    return true;
}

template <class Scalar>
typename DebertaSteps<Scalar>::Part DebertaSteps<Scalar>::after_layer() {
    const Index layers = model_.config().num_hidden_layers;
    if (trace_.complete()) return Part::end;
    if (layer_ < layers) {
        if (!decodes_ || layer_ < layers - 1) return Part::weights;
        decoder_input_ = hidden_;
        if (trace_.awaits("layer." + std::to_string(layer_) + ".") || trace_.awaits("classifier."))
            return Part::weights;
    }
    if (model_.classifier() && trace_.awaits("classifier.")) return Part::classifier;
    return after_encoder();
}

template <class Scalar>
typename DebertaSteps<Scalar>::Part DebertaSteps<Scalar>::after_encoder() const {
    if (decodes_) return Part::decoder;
    return model_.has_head() ? Part::head : Part::end;
}

// Position rows take longer than all the rest of a layer where the text is short: 2k of them, each through D x D.
template <class Scalar>
void DebertaSteps<Scalar>::read_weights() {
    const DebertaWeights<Scalar>& weights = pass_.weights;
    const Terms terms = pass_.config().terms;
    constexpr int kContent = 3;
    if (projected_ < kContent) weights.projection(layer_, projected_);
    if (projected_ == kContent && terms.p2c) weights.q_r(layer_);
    if (projected_ == kContent + 1 && terms.c2p) weights.k_r(layer_);
    if (++projected_ < kContent + 2) return;
    projected_ = 0;
    part_ = Part::layer;
}

template <class Scalar>
void DebertaSteps<Scalar>::run_layer() {
    const std::string prefix = "layer." + std::to_string(layer_);
    hidden_ = deberta_layer(pass_, prefix, layer_, hidden_, hidden_);
    if (trace_.complete()) return;
    if (layer_ == 0 && pass_.config().conv_kernel_size > 0) {
        trace_.add(prefix + ".output_before_conv", hidden_);
        hidden_ = deberta_convolution(pass_, embeddings_, hidden_);
    }
    trace_.add(prefix + ".output", hidden_);
    ++layer_;
}

template class DebertaSteps<float>;
template class DebertaSteps<double>;

}  // namespace locus
