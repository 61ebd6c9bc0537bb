#pragma once
// Time as the device counts it; only .cu files include this.
#include <algorithm>
#include <vector>

#include "cuda/device.h"

namespace locus::cuda {

class Event {
public:
    Event() { LOCUS_CUDA_CHECK(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record(cudaStream_t stream = nullptr) { LOCUS_CUDA_CHECK(cudaEventRecord(event_, stream)); }
    /// Milliseconds; waits until the device has come here.
    float since(const Event& start) {
        float milliseconds = 0;
        LOCUS_CUDA_CHECK(cudaEventSynchronize(event_));
        LOCUS_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
        return milliseconds;
    }

private:
    cudaEvent_t event_ = nullptr;
};

/// Milliseconds of every round on the stream, in rising order.
template <class Work>
std::vector<double> times_of(int rounds, Work work, cudaStream_t stream = nullptr) {
    std::vector<double> times;
    Event start, end;
    for (int round = 0; round < rounds; ++round) {
        start.record(stream);
        work();
        end.record(stream);
        times.push_back(end.since(start));
    }
    std::sort(times.begin(), times.end());
    return times;
}

template <class Work>
double median_milliseconds(int rounds, Work work) {
    const std::vector<double> times = times_of(rounds, work);
    return times[times.size() / 2];
}

}  // namespace locus::cuda
