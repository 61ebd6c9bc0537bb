#pragma once
// A version of the ladder on a backend: its inputs there, and the launch.
#include "cuda/fused/checked_input.h"
#include "cuda/ladder/kernel_versions.h"
#include "cuda/ladder/versions.h"

namespace locus::cuda::ladder {

/// Throws Error(usage) for what the first versions do not compute, and for shapes that do not fit.
inline void check_input(const FusedInput& input, const RelativeBuckets& buckets) {
    LOCUS_CHECK(input.lengths.empty() && input.visible_keys.size() == 0 && input.dropout == 0 && input.k_r.size() > 0 &&
                    input.q_r.size() > 0,
                "the ladder computes padded samples with both terms, all keys visible and no dropout");
    check_options(input, buckets);
    checked(input, buckets);
}

/// An input on the backend, for as long as the versions run.
template <class Backend>
class Problems {
public:
    Problems(const Backend& backend, const FusedInput& input, const RelativeBuckets& buckets)
        : q_(upload(backend, input.q)),
          k_(upload(backend, input.k)),
          v_(upload(backend, input.v)),
          k_r_(upload(backend, input.k_r)),
          q_r_(upload(backend, input.q_r)),
          rows_(upload_as_int(backend, buckets.rows())) {
        at_.q = q_.data();
        at_.k = k_.data();
        at_.v = v_.data();
        at_.k_r = k_r_.data();
        at_.q_r = q_r_.data();
        at_.rows_by_offset = rows_.data();
        at_.heads = narrow(input.q.extent(1));
        at_.batch_heads = narrow(input.q.extent(0)) * at_.heads;
        at_.queries = narrow(input.q.extent(2));
        at_.keys = narrow(input.k.extent(2));
        at_.width = narrow(input.q.extent(3));
        at_.rows = narrow(2 * buckets.span());
        at_.scale = input.scale;
    }
    const Problem& at() const { return at_; }

private:
    static auto upload(const Backend& backend, const Tensor<float>& tensor) {
        return backend.upload(tensor.data(), static_cast<std::size_t>(tensor.size()));
    }

    decltype(std::declval<const Backend&>().upload(static_cast<const float*>(nullptr), 0)) q_, k_, v_, k_r_, q_r_;
    decltype(std::declval<const Backend&>().upload(static_cast<const int*>(nullptr), 0)) rows_;
    Problem at_{};
};

/// use(version): the version's object, whose run(context) computes everything.
template <class Backend, class Use>
void with_version(KernelVersion version, const Backend& backend, const Problem& at, Use use) {
    switch (version) {
        case KernelVersion::naive:
            return use(Naive<Backend>(backend, at));
        case KernelVersion::gather:
            return use(Gather<Backend>(backend, at));
        case KernelVersion::slices:
            return use(Slices<Backend>(backend, at));
        case KernelVersion::flash_table:
            return use(FlashTable<Backend>(backend, at));
        case KernelVersion::cublas_gather:
            throw Error(Fault::usage, "the ladder's version with products from cuBLAS is given what multiplies");
        case KernelVersion::fused:
            throw Error(Fault::usage, "the ladder's last version is the fused kernel itself");
    }
}

/// The context on the backend, brought back.   run(at, context): computes everything.
template <class Backend, class Run>
Tensor<float> launch_with(const Backend& backend, const FusedInput& input, const RelativeBuckets& buckets, Run run) {
    check_input(input, buckets);
    const Problems<Backend> problem(backend, input, buckets);
    Tensor<float> result(input.q.shape());
    auto context = backend.template allocate<float>(static_cast<std::size_t>(result.size()));
    run(problem.at(), context.data());
    backend.download(context, result.data());
    return result;
}

template <class Backend>
Tensor<float> launch(KernelVersion version, const Backend& backend, const FusedInput& input,
                     const RelativeBuckets& buckets) {
    return launch_with(backend, input, buckets, [&](const Problem& at, float* context) {
        with_version(version, backend, at, [&](auto&& steps) { steps.run(context); });
    });
}

}  // namespace locus::cuda::ladder
