#pragma once
// What the cases that Locus made up itself are put together from.
#include "core/conformance/kit/kit_content.h"
#include "core/positions/relative_buckets.h"

namespace locus::conformance {

/// Seeded numbers between -1 and 1, the same on every machine.
class Numbers {
public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    Tensor<double> tensor(const Shape& shape) {
        Tensor<double> values(shape);
        for (Index n = 0; n < values.size(); ++n) {
            state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
            values[n] = static_cast<double>((state_ >> 33) % 2000001) / 1e6 - 1;
        }
        return values;
    }

private:
    std::uint64_t state_;
};

/// "mask" [B,Tq,Tk] or, of keys alone, [B,T]; 1 = visible.
Stage mask_stage(IndexTensor values);
/// layer.0.c2c ... layer.0.context from q, k, v, k_r, q_r and mask of content.inputs.
void compute_own_terms(CaseContent& content, const RelativeBuckets& line);

}  // namespace locus::conformance
