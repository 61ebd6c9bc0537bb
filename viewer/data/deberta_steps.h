#pragma once
// A forward pass of DeBERTa in steps, for a program of one thread that has something else to do in between: the viewer
// in a browser draws.  The functions of core/models/deberta.h in the order of Deberta::forward, so the same numbers to
// the last bit; test_deberta_steps.cpp holds the two together.
#include <string>

#include "core/models/deberta.h"

namespace locus {

template <class Scalar>
class DebertaSteps {
public:
    /// Does nothing yet but refuse what Deberta::forward refuses.  `model` must outlive this.
    DebertaSteps(const Deberta<Scalar>& model, ModelInput input, const DebertaOptions& options,
                 StageFilter wanted = {});
    DebertaSteps(const DebertaSteps&) = delete;
    DebertaSteps& operator=(const DebertaSteps&) = delete;

    /// One step: the embeddings, what a layer is made of before any text (its projections and position rows, which are
    /// kept), the layer itself, the classes, the decoder or the head.  False, doing nothing, once every wanted stage is
    /// there.
    bool step();
    /// Every wanted stage, once step() has returned false.
    const Trace& trace() const { return trace_; }
    /// Of which layer the next step is, counted from 1; one more than the last for what follows the layers.
    Index layer() const { return (part_ < Part::classifier ? layer_ : model_.config().num_hidden_layers) + 1; }

private:
    enum class Part { embeddings, weights, layer, classifier, decoder, head, end };

    void read_weights();
    void run_layer();
    /// What follows a layer, or the embeddings; and what follows the classes, where there are any.
    Part after_layer();
    Part after_encoder() const;

    const Deberta<Scalar>& model_;
    const ModelInput input_;
    const DebertaOptions options_;
    Trace trace_;
    const bool decodes_;
    ForwardContext<Scalar> pass_;
    Part part_ = Part::embeddings;
    Index layer_ = 0;    // the next one
    int projected_ = 0;  // of its weights, those that are there
    Tensor<Scalar> embeddings_, hidden_, decoder_input_;
};

extern template class DebertaSteps<float>;
extern template class DebertaSteps<double>;

}  // namespace locus
