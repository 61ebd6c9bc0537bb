// The twins in a build without CUDA: each says so.
#include "cuda/reference/biased.h"
#include "cuda/reference/disentangled.h"
#include "cuda/reference/elementwise.h"
#include "cuda/reference/layers.h"
#include "cuda/reference/learned_absolute.h"
#include "cuda/reference/linear.h"
#include "cuda/reference/operations.h"
#include "cuda/reference/relative.h"
#include "cuda/reference/rotary.h"
#include "cuda/reference/two_stream.h"
#include "cuda/reference/word_logits.h"

namespace locus::cuda {

namespace {

[[noreturn]] void refuse() {
    throw Error(Fault::unsupported,
                "CUDA: this program was built without it; the CPU computes the same with --device cpu");
}

}  // namespace

template <class Scalar>
Matrix<Scalar> content_to_content(const Matrix<Scalar>&, const Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> content_to_position(const Matrix<Scalar>&, const Matrix<Scalar>&, const RelativeBuckets&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> position_to_content(const Matrix<Scalar>&, const Matrix<Scalar>&, const RelativeBuckets&, P2cIndex) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> position_to_position(const Matrix<Scalar>&, const Matrix<Scalar>&, const RelativeBuckets&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> masked_softmax(const Matrix<Scalar>&, const Mask&, MaskedRow) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> context(const Matrix<Scalar>&, const Matrix<Scalar>&) {
    refuse();
}

template Matrix<float> content_to_content<float>(const Matrix<float>&, const Matrix<float>&);
template Matrix<float> content_to_position<float>(const Matrix<float>&, const Matrix<float>&, const RelativeBuckets&);
template Matrix<float> position_to_content<float>(const Matrix<float>&, const Matrix<float>&, const RelativeBuckets&,
                                                  P2cIndex);
template Matrix<float> position_to_position<float>(const Matrix<float>&, const Matrix<float>&, const RelativeBuckets&);
template Matrix<float> masked_softmax<float>(const Matrix<float>&, const Mask&, MaskedRow);
template Matrix<float> context<float>(const Matrix<float>&, const Matrix<float>&);
template Matrix<double> content_to_content<double>(const Matrix<double>&, const Matrix<double>&);
template Matrix<double> content_to_position<double>(const Matrix<double>&, const Matrix<double>&,
                                                    const RelativeBuckets&);
template Matrix<double> position_to_content<double>(const Matrix<double>&, const Matrix<double>&,
                                                    const RelativeBuckets&, P2cIndex);
template Matrix<double> position_to_position<double>(const Matrix<double>&, const Matrix<double>&,
                                                     const RelativeBuckets&);
template Matrix<double> masked_softmax<double>(const Matrix<double>&, const Mask&, MaskedRow);
template Matrix<double> context<double>(const Matrix<double>&, const Matrix<double>&);

template <class Scalar>
BiasedTerms<Scalar> biased_attention(const Matrix<Scalar>&, const Matrix<Scalar>&, const Matrix<Scalar>&,
                                     const OffsetBias<Scalar>&, Index, ContentScale, const Mask&) {
    refuse();
}

template BiasedTerms<float> biased_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                                    const OffsetBias<float>&, Index, ContentScale, const Mask&);
template BiasedTerms<double> biased_attention<double>(const Matrix<double>&, const Matrix<double>&,
                                                      const Matrix<double>&, const OffsetBias<double>&, Index,
                                                      ContentScale, const Mask&);

template <class Scalar>
Matrix<Scalar> rotate(const Matrix<Scalar>&, const RotaryTable<Scalar>&, RotaryLayout) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> rotate_back(const Matrix<Scalar>&, const RotaryTable<Scalar>&, RotaryLayout) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> rotary_scores(const Matrix<Scalar>&, const Matrix<Scalar>&, const RotaryTable<Scalar>&,
                             const RotaryTable<Scalar>&, RotaryLayout) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> rotary_attention(const Matrix<Scalar>&, const Matrix<Scalar>&, const Matrix<Scalar>&,
                                const RotaryTable<Scalar>&, RotaryLayout, const Mask&) {
    refuse();
}

template Matrix<float> rotate<float>(const Matrix<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<float> rotate_back<float>(const Matrix<float>&, const RotaryTable<float>&, RotaryLayout);
template Matrix<float> rotary_scores<float>(const Matrix<float>&, const Matrix<float>&, const RotaryTable<float>&,
                                            const RotaryTable<float>&, RotaryLayout);
template Matrix<float> rotary_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                               const RotaryTable<float>&, RotaryLayout, const Mask&);
template Matrix<double> rotate<double>(const Matrix<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<double> rotate_back<double>(const Matrix<double>&, const RotaryTable<double>&, RotaryLayout);
template Matrix<double> rotary_scores<double>(const Matrix<double>&, const Matrix<double>&, const RotaryTable<double>&,
                                              const RotaryTable<double>&, RotaryLayout);
template Matrix<double> rotary_attention<double>(const Matrix<double>&, const Matrix<double>&, const Matrix<double>&,
                                                 const RotaryTable<double>&, RotaryLayout, const Mask&);

template <class Scalar>
Matrix<Scalar> positive_features(const Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> linear_attention_weights(const Matrix<Scalar>&, const Matrix<Scalar>&, const RotaryTable<Scalar>&,
                                        RotaryLayout, LinearForm, bool, const std::vector<bool>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> linear_attention(const Matrix<Scalar>&, const Matrix<Scalar>&, const Matrix<Scalar>&,
                                const RotaryTable<Scalar>&, RotaryLayout, LinearForm, const std::vector<bool>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> causal_linear_attention(const Matrix<Scalar>&, const Matrix<Scalar>&, const Matrix<Scalar>&,
                                       const RotaryTable<Scalar>&, RotaryLayout, LinearForm, const std::vector<bool>&) {
    refuse();
}

template Matrix<float> positive_features<float>(const Matrix<float>&);
template Matrix<float> linear_attention_weights<float>(const Matrix<float>&, const Matrix<float>&,
                                                       const RotaryTable<float>&, RotaryLayout, LinearForm, bool,
                                                       const std::vector<bool>&);
template Matrix<float> linear_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                               const RotaryTable<float>&, RotaryLayout, LinearForm,
                                               const std::vector<bool>&);
template Matrix<float> causal_linear_attention<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                                      const RotaryTable<float>&, RotaryLayout, LinearForm,
                                                      const std::vector<bool>&);
template Matrix<double> positive_features<double>(const Matrix<double>&);
template Matrix<double> linear_attention_weights<double>(const Matrix<double>&, const Matrix<double>&,
                                                         const RotaryTable<double>&, RotaryLayout, LinearForm, bool,
                                                         const std::vector<bool>&);
template Matrix<double> linear_attention<double>(const Matrix<double>&, const Matrix<double>&, const Matrix<double>&,
                                                 const RotaryTable<double>&, RotaryLayout, LinearForm,
                                                 const std::vector<bool>&);
template Matrix<double> causal_linear_attention<double>(const Matrix<double>&, const Matrix<double>&,
                                                        const Matrix<double>&, const RotaryTable<double>&, RotaryLayout,
                                                        LinearForm, const std::vector<bool>&);

template <class Scalar>
Matrix<Scalar> content_term(const Matrix<Scalar>&, const RowVector<Scalar>&, const Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> position_term(const Matrix<Scalar>&, const RowVector<Scalar>&, const Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> shift_by_index(const Matrix<Scalar>&, Index, Index, Index, const std::vector<Index>&) {
    refuse();
}
template <class Scalar>
RelativeTerms<Scalar> relative_terms(const Matrix<Scalar>&, const Matrix<Scalar>&, const Matrix<Scalar>&,
                                     const RowVector<Scalar>&, const RowVector<Scalar>&, Index) {
    refuse();
}

template Matrix<float> content_term<float>(const Matrix<float>&, const RowVector<float>&, const Matrix<float>&);
template Matrix<float> position_term<float>(const Matrix<float>&, const RowVector<float>&, const Matrix<float>&);
template Matrix<float> shift_by_index<float>(const Matrix<float>&, Index, Index, Index, const std::vector<Index>&);
template RelativeTerms<float> relative_terms<float>(const Matrix<float>&, const Matrix<float>&, const Matrix<float>&,
                                                    const RowVector<float>&, const RowVector<float>&, Index);
template Matrix<double> content_term<double>(const Matrix<double>&, const RowVector<double>&, const Matrix<double>&);
template Matrix<double> position_term<double>(const Matrix<double>&, const RowVector<double>&, const Matrix<double>&);
template Matrix<double> shift_by_index<double>(const Matrix<double>&, Index, Index, Index, const std::vector<Index>&);
template RelativeTerms<double> relative_terms<double>(const Matrix<double>&, const Matrix<double>&,
                                                      const Matrix<double>&, const RowVector<double>&,
                                                      const RowVector<double>&, Index);

template <class Scalar>
Matrix<Scalar> segment_term(const Matrix<Scalar>&, const RowVector<Scalar>&, const Matrix<Scalar>&,
                            const std::vector<std::int64_t>&, const std::vector<std::int64_t>&) {
    refuse();
}

template Matrix<float> segment_term<float>(const Matrix<float>&, const RowVector<float>&, const Matrix<float>&,
                                           const std::vector<std::int64_t>&, const std::vector<std::int64_t>&);
template Matrix<double> segment_term<double>(const Matrix<double>&, const RowVector<double>&, const Matrix<double>&,
                                             const std::vector<std::int64_t>&, const std::vector<std::int64_t>&);

template <class Scalar>
Matrix<Scalar> dense(const Matrix<Scalar>&, const Dense<Scalar>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> layer_norm(const Matrix<Scalar>&, const Norm<Scalar>&, double) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> activate(const Matrix<Scalar>&, Activation) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> convolve(const Matrix<Scalar>&, const Convolution<Scalar>&) {
    refuse();
}

template Matrix<float> dense<float>(const Matrix<float>&, const Dense<float>&);
template Matrix<float> layer_norm<float>(const Matrix<float>&, const Norm<float>&, double);
template Matrix<float> activate<float>(const Matrix<float>&, Activation);
template Matrix<float> convolve<float>(const Matrix<float>&, const Convolution<float>&);
template Matrix<double> dense<double>(const Matrix<double>&, const Dense<double>&);
template Matrix<double> layer_norm<double>(const Matrix<double>&, const Norm<double>&, double);
template Matrix<double> activate<double>(const Matrix<double>&, Activation);
template Matrix<double> convolve<double>(const Matrix<double>&, const Convolution<double>&);

template <class Scalar>
void add(const Matrix<Scalar>&, Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
void add_rows(const Matrix<Scalar>&, const std::vector<std::int64_t>&, Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
void multiply(Scalar, Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
void divide(Scalar, Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
void multiply_rows(const RowVector<Scalar>&, Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
Tensor<Scalar> mix_heads(const Tensor<Scalar>&, const Matrix<Scalar>&) {
    refuse();
}

template void add<float>(const Matrix<float>&, Matrix<float>&);
template void add_rows<float>(const Matrix<float>&, const std::vector<std::int64_t>&, Matrix<float>&);
template void multiply<float>(float, Matrix<float>&);
template void divide<float>(float, Matrix<float>&);
template void multiply_rows<float>(const RowVector<float>&, Matrix<float>&);
template Tensor<float> mix_heads<float>(const Tensor<float>&, const Matrix<float>&);
template void add<double>(const Matrix<double>&, Matrix<double>&);
template void add_rows<double>(const Matrix<double>&, const std::vector<std::int64_t>&, Matrix<double>&);
template void multiply<double>(double, Matrix<double>&);
template void divide<double>(double, Matrix<double>&);
template void multiply_rows<double>(const RowVector<double>&, Matrix<double>&);
template Tensor<double> mix_heads<double>(const Tensor<double>&, const Matrix<double>&);

template <class Scalar>
Matrix<Scalar> word_logits(const Matrix<Scalar>&, const WordBlock<Scalar>&, Index, const RowVector<Scalar>&) {
    refuse();
}
template <class Scalar>
Scalar cross_entropy(const RowVector<Scalar>&, std::int64_t) {
    refuse();
}

template Matrix<float> word_logits<float>(const Matrix<float>&, const WordBlock<float>&, Index,
                                          const RowVector<float>&);
template float cross_entropy<float>(const RowVector<float>&, std::int64_t);
template Matrix<double> word_logits<double>(const Matrix<double>&, const WordBlock<double>&, Index,
                                            const RowVector<double>&);
template double cross_entropy<double>(const RowVector<double>&, std::int64_t);

template <class Scalar>
Matrix<Scalar> learned_rows(const Matrix<Scalar>&, const std::vector<std::int64_t>&) {
    refuse();
}

template Matrix<float> learned_rows<float>(const Matrix<float>&, const std::vector<std::int64_t>&);
template Matrix<double> learned_rows<double>(const Matrix<double>&, const std::vector<std::int64_t>&);

template <class Scalar>
const Operations<Scalar>& device_operations() {
    refuse();
}

template const Operations<float>& device_operations<float>();
template const Operations<double>& device_operations<double>();

}  // namespace locus::cuda
