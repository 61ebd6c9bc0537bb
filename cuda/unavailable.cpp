// The same functions in a build without CUDA: each says so.
#include "cuda/disentangled.h"
#include "cuda/fused.h"
#include "cuda/fused_timing.h"
#include "cuda/runtime.h"

namespace locus::cuda {

namespace {

[[noreturn]] void refuse() {
    throw Error(Fault::unsupported,
                "CUDA: this program was built without it; the CPU computes the same with --device cpu");
}

}  // namespace

bool available() { return false; }
std::string why_unavailable() { return "no CUDA device (built without CUDA)"; }
std::string device_name() { return ""; }

template <class Scalar>
Matrix<Scalar> content_to_content(const Matrix<Scalar>&, const Matrix<Scalar>&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> content_to_position(const Matrix<Scalar>&, const Matrix<Scalar>&, const BucketLine&) {
    refuse();
}
template <class Scalar>
Matrix<Scalar> position_to_content(const Matrix<Scalar>&, const Matrix<Scalar>&, const BucketLine&, P2cIndex) {
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
template Matrix<float> content_to_position<float>(const Matrix<float>&, const Matrix<float>&, const BucketLine&);
template Matrix<float> position_to_content<float>(const Matrix<float>&, const Matrix<float>&, const BucketLine&,
                                                  P2cIndex);
template Matrix<float> masked_softmax<float>(const Matrix<float>&, const Mask&, MaskedRow);
template Matrix<float> context<float>(const Matrix<float>&, const Matrix<float>&);
template Matrix<double> content_to_content<double>(const Matrix<double>&, const Matrix<double>&);
template Matrix<double> content_to_position<double>(const Matrix<double>&, const Matrix<double>&, const BucketLine&);
template Matrix<double> position_to_content<double>(const Matrix<double>&, const Matrix<double>&, const BucketLine&,
                                                    P2cIndex);
template Matrix<double> masked_softmax<double>(const Matrix<double>&, const Mask&, MaskedRow);
template Matrix<double> context<double>(const Matrix<double>&, const Matrix<double>&);

TimedKernel time_fused_forward(const TimedShape&, FusedPrecision, int) { refuse(); }
TimedKernel time_fused_backward(const TimedShape&, FusedPrecision, int) { refuse(); }
double device_bandwidth() { refuse(); }
FusedOutput fused_attention(const FusedInput&, const BucketLine&, FusedPrecision) { refuse(); }
FusedGradients fused_attention_backward(const FusedInput&, const FusedOutput&, const Tensor<float>&, const BucketLine&,
                                        FusedPrecision) {
    refuse();
}

}  // namespace locus::cuda
