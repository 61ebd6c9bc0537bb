#include "core/attention/alignment.h"

#include "core/products.h"

namespace locus {

namespace {

void check_width(const char* what, Index found, Index expected) {
    LOCUS_CHECK(found == expected, "alignment_scores: " + std::string(what) + " is " + std::to_string(found) +
                                       " wide, expected " + std::to_string(expected));
}

}  // namespace

template <class Scalar>
RowVector<Scalar> alignment_scores(const AdditiveAlignment<Scalar>& weights, const RowVector<Scalar>& state,
                                   const ConstView<Scalar>& encoder) {
    check_width("the decoder state", state.cols(), weights.state.cols());
    check_width("the encoder state", encoder.cols(), weights.encoder.cols());
    check_width("W_h", weights.encoder.rows(), weights.state.rows());
    check_width("the energy vector", weights.energy.cols(), weights.state.rows());
    Matrix<Scalar> hidden = products_of_rows<Scalar>(encoder, weights.encoder);
    hidden.rowwise() += RowVector<Scalar>(products_of_rows<Scalar>(state, weights.state));
    return products_of_rows<Scalar>(weights.energy, hidden.array().tanh().matrix());
}

template <class Scalar>
RowVector<Scalar> alignment_scores(const MultiplicativeAlignment<Scalar>& weights, const RowVector<Scalar>& state,
                                   const ConstView<Scalar>& encoder) {
    check_width("the decoder state", state.cols(), weights.weight.rows());
    check_width("the encoder state", encoder.cols(), weights.weight.cols());
    return products_of_rows<Scalar>(state, products_of_rows<Scalar>(encoder, weights.weight));
}

template RowVector<float> alignment_scores<float>(const AdditiveAlignment<float>&, const RowVector<float>&,
                                                  const ConstView<float>&);
template RowVector<double> alignment_scores<double>(const AdditiveAlignment<double>&, const RowVector<double>&,
                                                    const ConstView<double>&);
template RowVector<float> alignment_scores<float>(const MultiplicativeAlignment<float>&, const RowVector<float>&,
                                                  const ConstView<float>&);
template RowVector<double> alignment_scores<double>(const MultiplicativeAlignment<double>&, const RowVector<double>&,
                                                    const ConstView<double>&);

}  // namespace locus
