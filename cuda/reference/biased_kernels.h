#pragma once
// Attention with a number added per offset: T5 and ALiBi, wherever it comes from.
#include <cmath>

#include "core/attention/biased.h"
#include "cuda/reference/disentangled_kernels.h"
#include "cuda/reference/softmax_kernels.h"

namespace locus::cuda {

/// by_offset: the bias of one head by offset, offset -(queries - 1) first.  divisor 1: the content is not scaled (x / 1
/// is x).
template <class Scalar>
struct BiasedScoresKernel {
    const Scalar *content, *by_offset;
    int queries, keys;
    Scalar divisor;
    Scalar *bias, *scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        bias[n] = by_offset[bias_index(cell.i, cell.j, queries)];
        scores[n] = content[n] / divisor + bias[n];
    }
};

namespace reference {

template <class Backend, class Scalar>
BiasedTerms<Scalar> biased_attention(const Backend& backend, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                     const Matrix<Scalar>& v, const OffsetBias<Scalar>& bias, Index head,
                                     ContentScale scale, const Mask& mask) {
    check_rows("biased_attention", q.rows(), bias.queries);
    check_rows("biased_attention", k.rows(), bias.keys);
    LOCUS_CHECK(head >= 0 && head < bias.heads(), "cuda::biased_attention: head " + std::to_string(head) +
                                                      ", expected 0 to " + std::to_string(bias.heads() - 1));
    BiasedTerms<Scalar> terms;
    terms.content = content_to_content(backend, q, k);
    const auto content = upload(backend, terms.content);
    const auto by_offset = backend.upload(bias.values.row(head).data(), static_cast<std::size_t>(bias.values.cols()));
    auto cell_bias = allocate<Scalar>(backend, q.rows(), k.rows()),
         scores = allocate<Scalar>(backend, q.rows(), k.rows());
    const Scalar divisor = scale == ContentScale::inverse_root ? std::sqrt(Scalar(q.cols())) : Scalar(1);
    backend.parallel_for(q.rows() * k.rows(),
                         BiasedScoresKernel<Scalar>{content.data(), by_offset.data(), narrow(q.rows()),
                                                    narrow(k.rows()), divisor, cell_bias.data(), scores.data()});
    terms.bias = download(backend, cell_bias, q.rows(), k.rows());
    terms.scores = download(backend, scores, q.rows(), k.rows());
    terms.probs = masked_softmax(backend, terms.scores, mask, MaskedRow::zero);
    terms.context = context(backend, terms.probs, v);
    return terms;
}

}  // namespace reference

}  // namespace locus::cuda
