#pragma once
// Attention with a number added per offset: T5 and ALiBi, whatever filled the line.
#include <cmath>

#include "core/attention/biased.h"
#include "cuda/reference/disentangled_kernels.h"
#include "cuda/reference/softmax_kernels.h"

namespace locus::cuda {

/// line: one head of the bias line, offset -(queries - 1) first.  divisor 1: the content is not scaled (x / 1 is x).
template <class Scalar>
struct BiasedScoresCell {
    const Scalar *content, *line;
    int queries, keys;
    Scalar divisor;
    Scalar *bias, *scores;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, keys);
        bias[n] = line[bias_place(cell.i, cell.j, queries)];
        scores[n] = content[n] / divisor + bias[n];
    }
};

namespace twin {

template <class Place, class Scalar>
BiasedTerms<Scalar> biased_attention(const Place& place, const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                     const Matrix<Scalar>& v, const OffsetBias<Scalar>& line, Index head,
                                     ContentScale scale, const Mask& mask) {
    check_rows("biased_attention", q.rows(), line.queries);
    check_rows("biased_attention", k.rows(), line.keys);
    LOCUS_CHECK(head >= 0 && head < line.heads(), "cuda::biased_attention: head " + std::to_string(head) +
                                                      ", expected 0 to " + std::to_string(line.heads() - 1));
    BiasedTerms<Scalar> terms;
    terms.content = content_to_content(place, q, k);
    const auto content = upload(place, terms.content);
    const auto there_line = place.upload(line.values.row(head).data(), static_cast<std::size_t>(line.values.cols()));
    auto bias = room<Scalar>(place, q.rows(), k.rows()), scores = room<Scalar>(place, q.rows(), k.rows());
    const Scalar divisor = scale == ContentScale::inverse_root ? std::sqrt(Scalar(q.cols())) : Scalar(1);
    place.each(q.rows() * k.rows(), BiasedScoresCell<Scalar>{content.data(), there_line.data(), narrow(q.rows()),
                                                             narrow(k.rows()), divisor, bias.data(), scores.data()});
    terms.bias = download(place, bias, q.rows(), k.rows());
    terms.scores = download(place, scores, q.rows(), k.rows());
    terms.probs = masked_softmax(place, terms.scores, mask, MaskedRow::zero);
    terms.context = context(place, terms.probs, v);
    return terms;
}

}  // namespace twin

}  // namespace locus::cuda
