#include "cuda/deberta_blocks.h"

#include "cuda/deberta_blocks_pass.h"
#include "cuda/event.h"
#include "cuda/stream_place.h"

namespace locus::cuda {

namespace {

/// The launches of a pass, recorded once.
class Graph {
public:
    template <class Launches>
    Graph(cudaStream_t stream, Launches launches) : stream_(stream) {
        LOCUS_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        cudaGraph_t graph = nullptr;
        try {
            launches();
        } catch (...) {
            cudaStreamEndCapture(stream, &graph);
            if (graph) cudaGraphDestroy(graph);
            throw;
        }
        LOCUS_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
        const cudaError_t made = cudaGraphInstantiate(&ready_, graph, 0);
        cudaGraphDestroy(graph);
        check_call(made, "cudaGraphInstantiate");
    }
    ~Graph() { cudaGraphExecDestroy(ready_); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    void launch() const { LOCUS_CUDA_CHECK(cudaGraphLaunch(ready_, stream_)); }

private:
    cudaStream_t stream_;
    cudaGraphExec_t ready_ = nullptr;
};

const DebertaConfig& checked_model(const DebertaConfig& config) {
    check_blocks_model(config);
    return config;
}

}  // namespace

template <class Scalar>
struct DebertaBlocks<Scalar>::Parts {
    Parts(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights, ProductsBy by)
        : place(by), pass(place, DebertaWeights<float>(config, std::move(weights))) {}

    StreamPlace place;
    DebertaBlocksPass<Scalar, StreamPlace> pass;
};

template <class Scalar>
DebertaBlocks<Scalar>::DebertaBlocks(const DebertaConfig& config, std::shared_ptr<const WeightSource> weights,
                                     ProductsBy by)
    : parts_(std::make_unique<Parts>(checked_model(config), std::move(weights), by)) {}
template <class Scalar>
DebertaBlocks<Scalar>::~DebertaBlocks() = default;

template <class Scalar>
Tensor<float> DebertaBlocks<Scalar>::last_output(const ModelInput& input, const DebertaOptions& options,
                                                 SampleRows rows) {
    auto& pass = parts_->pass;
    pass.prepare(input, options, rows);
    pass.run();
    parts_->place.stream().wait();
    std::vector<Scalar> found(static_cast<std::size_t>(pass.batch().rows()) *
                              static_cast<std::size_t>(pass.sizes().hidden_row));
    LOCUS_CUDA_CHECK(
        cudaMemcpy(found.data(), pass.hidden().data(), found.size() * sizeof(Scalar), cudaMemcpyDeviceToHost));
    return spread_rows(found, pass.batch(), pass.sizes());
}

template <class Scalar>
TimedKernel DebertaBlocks<Scalar>::time(const ModelInput& input, const DebertaOptions& options, SampleRows rows,
                                        bool graph, int rounds) {
    auto& pass = parts_->pass;
    const cudaStream_t stream = parts_->place.stream().get();
    pass.prepare(input, options, rows);
    for (int round = 0; round < 3; ++round) pass.run();
    parts_->place.stream().wait();
    std::vector<double> times;
    if (graph) {
        const Graph recorded(stream, [&] { pass.run(); });
        recorded.launch();
        times = times_of(
            rounds, [&] { recorded.launch(); }, stream);
    } else {
        times = times_of(
            rounds, [&] { pass.run(); }, stream);
    }
    TimedKernel timed;
    timed.milliseconds = times[times.size() / 2];
    timed.fastest = times.front();
    timed.slowest = times.back();
    timed.choice = products() + (graph ? ", one graph" : ", kernel by kernel");
    return timed;
}

template <class Scalar>
std::string DebertaBlocks<Scalar>::products() const {
    return parts_->place.products().name();
}

template class DebertaBlocks<float>;
template class DebertaBlocks<Half>;
template class DebertaBlocks<Bfloat16>;

}  // namespace locus::cuda
