#pragma once
// A rung on a place: what lies there, and the rung that runs on it.
#include "cuda/fused/fused.h"
#include "cuda/ladder/flash_table.h"
#include "cuda/ladder/kernel_versions.h"
#include "cuda/ladder/naive.h"
#include "cuda/ladder/slices.h"

namespace locus::cuda::ladder {

inline void check_input(const FusedInput& input) {
    LOCUS_CHECK(input.lengths.empty() && input.visible_keys.size() == 0 && input.dropout == 0 && input.k_r.size() > 0 &&
                    input.q_r.size() > 0,
                "the ladder computes padded samples with both terms, all keys visible and no dropout");
}

/// An input on the place, for as long as the rungs run.
template <class Place>
class Problems {
public:
    Problems(const Place& place, const FusedInput& input, const RelativeBuckets& line)
        : q_(upload(place, input.q)),
          k_(upload(place, input.k)),
          v_(upload(place, input.v)),
          k_r_(upload(place, input.k_r)),
          q_r_(upload(place, input.q_r)),
          line_(upload_as_int(place, line.rows())) {
        at_.q = q_.data();
        at_.k = k_.data();
        at_.v = v_.data();
        at_.k_r = k_r_.data();
        at_.q_r = q_r_.data();
        at_.line = line_.data();
        at_.heads = narrow(input.q.extent(1));
        at_.sheets = narrow(input.q.extent(0)) * at_.heads;
        at_.queries = narrow(input.q.extent(2));
        at_.keys = narrow(input.k.extent(2));
        at_.width = narrow(input.q.extent(3));
        at_.rows = narrow(2 * line.span());
        at_.scale = input.scale;
    }
    const Problem& at() const { return at_; }

private:
    static auto upload(const Place& place, const Tensor<float>& tensor) {
        return place.upload(tensor.data(), static_cast<std::size_t>(tensor.size()));
    }

    decltype(std::declval<const Place&>().upload(static_cast<const float*>(nullptr), 0)) q_, k_, v_, k_r_, q_r_;
    decltype(std::declval<const Place&>().upload(static_cast<const int*>(nullptr), 0)) line_;
    Problem at_{};
};

/// use(rung): the rung's object, whose run(context) computes everything.
template <class Place, class Use>
void with_rung(KernelVersion rung, const Place& place, const Problem& at, Use use) {
    switch (rung) {
        case KernelVersion::naive:
            return use(Naive<Place>(place, at));
        case KernelVersion::gather:
            return use(Gather<Place>(place, at));
        case KernelVersion::slices:
            return use(Slices<Place>(place, at));
        case KernelVersion::flash_table:
            return use(FlashTable<Place>(place, at));
        case KernelVersion::cublas_gather:
            throw Error(Fault::usage, "the ladder's rung with bought products is given what multiplies");
        case KernelVersion::fused:
            throw Error(Fault::usage, "the ladder's last rung is the fused kernel itself");
    }
}

/// The context on the place, brought back.   run(at, context): computes everything.
template <class Place, class Run>
Tensor<float> climb_with(const Place& place, const FusedInput& input, const RelativeBuckets& line, Run run) {
    check_input(input);
    const Problems<Place> problem(place, input, line);
    Tensor<float> result(input.q.shape());
    auto context = place.template room<float>(static_cast<std::size_t>(result.size()));
    run(problem.at(), context.data());
    place.download(context, result.data());
    return result;
}

template <class Place>
Tensor<float> climb(KernelVersion rung, const Place& place, const FusedInput& input, const RelativeBuckets& line) {
    return climb_with(place, input, line, [&](const Problem& at, float* context) {
        with_rung(rung, place, at, [&](auto&& steps) { steps.run(context); });
    });
}

}  // namespace locus::cuda::ladder
