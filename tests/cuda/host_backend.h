#pragma once
// The host as a backend (cuda/reference/backend.h): the same kernels and the same steps as on the device, without one.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "cuda/reference/backend.h"

namespace locus::test {

/// Values between two guards of 0xFF bytes, as on the device.
template <class Value>
class HostBuffer {
public:
    using Scalar = Value;
    explicit HostBuffer(std::size_t count) : count_(count), all_(count + 2 * kGuard) {
        std::memset(all_.data(), 0xFF, all_.size() * sizeof(Value));
    }
    HostBuffer(const Value* host, std::size_t count) : HostBuffer(count) { std::copy_n(host, count, data()); }
    Value* data() { return all_.data() + kGuard; }
    const Value* data() const { return all_.data() + kGuard; }
    void copy_to(Value* host) const {
        std::copy_n(data(), count_, host);
        for (const Value* guard : {all_.data(), data() + count_})
            for (std::size_t byte = 0; byte < kGuard * sizeof(Value); ++byte)
                if (reinterpret_cast<const unsigned char*>(guard)[byte] != 0xFF)
                    throw std::logic_error("a kernel wrote beyond its result");
    }

private:
    static constexpr std::size_t kGuard = 64;
    std::size_t count_;
    std::vector<Value> all_;
};

/// Elements run last to first: a kernel that reads what another element writes is found.
class HostBackend {
public:
    template <class Value>
    HostBuffer<Value> upload(const Value* host, std::size_t count) const {
        return {host, count};
    }
    template <class Value>
    HostBuffer<Value> allocate(std::size_t count) const {
        return HostBuffer<Value>(count);
    }
    template <class Kernel>
    void parallel_for(long long count, const Kernel& kernel) const {
        for (long long n = count - 1; n >= 0; --n) kernel(n);
    }
    template <class Value>
    void download(const HostBuffer<Value>& buffer, Value* host) const {
        buffer.copy_to(host);
    }
};

}  // namespace locus::test
