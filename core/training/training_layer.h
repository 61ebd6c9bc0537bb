#pragma once
// One layer of the encoder in training, and the convolution beside the first, each with its backward pass.
// He et al. 2021; the forward pass is that of core/models/deberta.cpp, with dropout.  For core/training alone.
#include "core/training/training_context.h"

namespace locus {

/// One post-norm layer (microsoft/DeBERTa bert.py BertLayer) with dropout: fills inside, returns its output [N,D].
template <class Scalar>
Matrix<Scalar> layer_forward(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use,
                             const Matrix<Scalar>& relative_table, LayerInside<Scalar>& inside);
/// From d_output [N,D]: adds to d_kv and d_query [N,D], which may be one and the same matrix, to d_relative_table
/// [2k,D] and to the gradients of the layer's parameters.
template <class Scalar>
void layer_backward(const TrainingContext<Scalar>& pass, const LayerUse<Scalar>& use, const LayerInside<Scalar>& inside,
                    const ConstView<Scalar>& d_output, Matrix<Scalar>& d_kv, Matrix<Scalar>& d_query,
                    Matrix<Scalar>& d_relative_table, Parameters<Scalar>& gradients,
                    const StageGradients<Scalar>& stages);

/// The convolution of the embeddings, merged into the output of layer 0 (ConvLayer there).
template <class Scalar>
Matrix<Scalar> convolution_forward(const TrainingContext<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                   const Matrix<Scalar>& layer_output, ConvolutionTape<Scalar>& tape);
/// Returns the gradient of layer_output and adds to that of the embeddings.
template <class Scalar>
Matrix<Scalar> convolution_backward(const TrainingContext<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                    const ConvolutionTape<Scalar>& tape, const ConstView<Scalar>& d_output,
                                    Matrix<Scalar>& d_embeddings, Parameters<Scalar>& gradients);

}  // namespace locus
