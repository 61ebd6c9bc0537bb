#include "cuda/encoder/encoder.h"

#include <optional>

#include "cuda/captured_graph.h"
#include "cuda/device.h"
#include "cuda/encoder/encoder_pass.h"
#include "cuda/encoder/stream_backend.h"

namespace locus::cuda {

namespace {

const DebertaConfig& checked_model(const DebertaConfig& config) {
    check_encoder_model(config);
    return config;
}

}  // namespace

template <class Scalar>
struct FastEncoder<Scalar>::Parts {
    Parts(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights, ProductsBy by)
        : backend(by), pass(backend, DebertaWeights<float>(config, std::move(weights))) {}

    StreamBackend backend;
    EncoderPass<Scalar, StreamBackend> pass;
    std::optional<CapturedGraph> recorded;
};

template <class Scalar>
FastEncoder<Scalar>::FastEncoder(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights,
                                 ProductsBy by)
    : parts_(std::make_unique<Parts>(checked_model(config), std::move(weights), by)) {}
template <class Scalar>
FastEncoder<Scalar>::~FastEncoder() = default;

template <class Scalar>
Tensor<float> FastEncoder<Scalar>::last_output(const ModelInput& input, const DebertaOptions& options,
                                               SampleRows rows) {
    prepare(input, options, rows);
    parts_->pass.run();
    return output();
}

template <class Scalar>
void FastEncoder<Scalar>::prepare(const ModelInput& input, const DebertaOptions& options, SampleRows rows) {
    parts_->recorded.reset();  // other rows may lie elsewhere
    parts_->pass.prepare(input, options, rows);
}

template <class Scalar>
double FastEncoder<Scalar>::run() {
    return times_of(
               1, [&] { parts_->pass.run(); }, parts_->backend.stream().get())
        .front();
}

template <class Scalar>
double FastEncoder<Scalar>::replay() {
    const cudaStream_t stream = parts_->backend.stream().get();
    if (!parts_->recorded) {
        parts_->pass.run();  // what a first launch loads or sets up cannot be recorded
        parts_->backend.stream().wait();
        parts_->recorded.emplace(stream, [&] { parts_->pass.run(); });
    }
    return times_of(
               1, [&] { parts_->recorded->launch(); }, stream)
        .front();
}

template <class Scalar>
Tensor<float> FastEncoder<Scalar>::output() const {
    const auto& pass = parts_->pass;
    parts_->backend.stream().wait();
    std::vector<Scalar> found(static_cast<std::size_t>(pass.batch().rows()) *
                              static_cast<std::size_t>(pass.sizes().hidden_row));
    if (!found.empty())
        LOCUS_CUDA_CHECK(
            cudaMemcpy(found.data(), pass.hidden().data(), found.size() * sizeof(Scalar), cudaMemcpyDeviceToHost));
    return spread_rows(found, pass.batch(), pass.sizes());
}

template <class Scalar>
std::string FastEncoder<Scalar>::products() const {
    return parts_->backend.products().name();
}

template class FastEncoder<float>;
template class FastEncoder<Half>;
template class FastEncoder<Bfloat16>;

}  // namespace locus::cuda
