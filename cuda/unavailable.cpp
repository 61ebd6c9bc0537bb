// The same functions in a build without CUDA: each says so.  The twins of the terms are in unavailable_twins.cpp.
#include "cuda/encoder/cublas.h"
#include "cuda/encoder/encoder.h"
#include "cuda/fused/fused.h"
#include "cuda/fused/fused_timing.h"
#include "cuda/fused/timed_problem.h"
#include "cuda/ladder/kernel_versions.h"
#include "cuda/reference/products.h"
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

TimedKernel time_fused_forward(const TimedShape&, FusedPrecision, int, ForwardPath) { refuse(); }
TimedKernel time_fused_backward(const TimedShape&, FusedPrecision, int) { refuse(); }
double device_bandwidth() { refuse(); }
Tensor<float> climb(KernelVersion, const FusedInput&, const RelativeBuckets&) { refuse(); }
double time_rung(KernelVersion, const FusedInput&, const RelativeBuckets&, int) { refuse(); }
FusedOutput fused_attention(const FusedInput&, const RelativeBuckets&, FusedPrecision, ForwardPath) { refuse(); }
FusedGradients fused_attention_backward(const FusedInput&, const FusedOutput&, const Tensor<float>&,
                                        const RelativeBuckets&, FusedPrecision) {
    refuse();
}

struct TimedProblem::OnDevice {};
TimedProblem::TimedProblem(const FusedInput&, const RelativeBuckets&, FusedPrecision, const Tensor<float>&) {
    refuse();
}
TimedProblem::~TimedProblem() = default;
double TimedProblem::forward() { refuse(); }
double TimedProblem::backward() { refuse(); }
Tensor<float> TimedProblem::context() const { refuse(); }
FusedGradients TimedProblem::gradients() const { refuse(); }
std::string TimedProblem::forward_choice() const { refuse(); }
std::string TimedProblem::backward_choice() const { refuse(); }

const char* name_of(ProductsBy by) { return by == ProductsBy::cublas ? "cublas" : "own"; }
Matrix<float> product(const Matrix<float>&, const Matrix<float>&, const RowVector<float>&, const Activation*,
                      FusedPrecision, ProductsBy) {
    refuse();
}
Products::Products(ProductsBy) { refuse(); }
Products::~Products() = default;
std::string Products::name() const { refuse(); }
template <class Scalar>
void Products::multiply(const ProductArguments<Scalar>&, void*) const {
    refuse();
}
template <class Scalar>
std::string product_choice(const ProductArguments<Scalar>&) {
    refuse();
}
template void Products::multiply<float>(const ProductArguments<float>&, void*) const;
template void Products::multiply<Half>(const ProductArguments<Half>&, void*) const;
template void Products::multiply<Bfloat16>(const ProductArguments<Bfloat16>&, void*) const;
template std::string product_choice<float>(const ProductArguments<float>&);
template std::string product_choice<Half>(const ProductArguments<Half>&);
template std::string product_choice<Bfloat16>(const ProductArguments<Bfloat16>&);

struct Cublas::Library {};
const std::vector<std::string>& Cublas::libraries() {
    static const std::vector<std::string> names;
    return names;
}
Cublas::Cublas(const std::vector<std::string>&) { refuse(); }
Cublas::~Cublas() = default;
std::string Cublas::name() const { refuse(); }
template <class Scalar>
void Cublas::multiply(const SheetProducts<Scalar>&, void*) {
    refuse();
}
template void Cublas::multiply<float>(const SheetProducts<float>&, void*);
template void Cublas::multiply<Half>(const SheetProducts<Half>&, void*);
template void Cublas::multiply<Bfloat16>(const SheetProducts<Bfloat16>&, void*);

template <class Scalar>
struct FastEncoder<Scalar>::Parts {};
template <class Scalar>
FastEncoder<Scalar>::FastEncoder(const DebertaConfig&, std::shared_ptr<const WeightSource>, ProductsBy) {
    refuse();
}
template <class Scalar>
FastEncoder<Scalar>::~FastEncoder() = default;
template <class Scalar>
Tensor<float> FastEncoder<Scalar>::last_output(const ModelInput&, const DebertaOptions&, SampleRows) {
    refuse();
}
template <class Scalar>
void FastEncoder<Scalar>::prepare(const ModelInput&, const DebertaOptions&, SampleRows) {
    refuse();
}
template <class Scalar>
double FastEncoder<Scalar>::run() {
    refuse();
}
template <class Scalar>
double FastEncoder<Scalar>::replay() {
    refuse();
}
template <class Scalar>
Tensor<float> FastEncoder<Scalar>::output() const {
    refuse();
}
template <class Scalar>
std::string FastEncoder<Scalar>::products() const {
    refuse();
}
template class FastEncoder<float>;
template class FastEncoder<Half>;
template class FastEncoder<Bfloat16>;

}  // namespace locus::cuda
