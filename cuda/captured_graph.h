#pragma once
// Kernels that are launched together again and again, without the host's work in between.
#include "cuda/device.h"

namespace locus::cuda {

/// Launches on a stream, recorded once; what the host does between them is not repeated.
class CapturedGraph {
public:
    template <class Launches>
    CapturedGraph(cudaStream_t stream, Launches launches) : stream_(stream) {
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
    ~CapturedGraph() { cudaGraphExecDestroy(ready_); }
    CapturedGraph(const CapturedGraph&) = delete;
    CapturedGraph& operator=(const CapturedGraph&) = delete;
    void launch() const { LOCUS_CUDA_CHECK(cudaGraphLaunch(ready_, stream_)); }

private:
    cudaStream_t stream_;
    cudaGraphExec_t ready_ = nullptr;
};

}  // namespace locus::cuda
