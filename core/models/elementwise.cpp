#include "core/models/elementwise.h"

namespace locus {

namespace {

void check_values(Index keys, Index values) {
    LOCUS_CHECK(keys == values, "context: probabilities of " + std::to_string(keys) + " keys but " +
                                    std::to_string(values) + " values, expected as many");
}

}  // namespace

template <class Scalar>
void add(const ConstView<Scalar>& x, View<Scalar> sum) {
    LOCUS_CHECK(x.rows() == sum.rows() && x.cols() == sum.cols(),
                "add: " + to_string(Shape{x.rows(), x.cols()}) + " to " + to_string(Shape{sum.rows(), sum.cols()}) +
                    ", expected one shape");
    sum += x;
}

template <class Scalar>
void add_rows(const ConstView<Scalar>& table, const std::vector<std::int64_t>& ids, View<Scalar> sum) {
    LOCUS_CHECK(static_cast<Index>(ids.size()) == sum.rows() && table.cols() == sum.cols(),
                "add_rows: " + std::to_string(ids.size()) + " rows of " + std::to_string(table.cols()) +
                    " channels to " + to_string(Shape{sum.rows(), sum.cols()}) + ", expected as many");
    for (Index n = 0; n < sum.rows(); ++n) {
        const std::int64_t id = ids[static_cast<std::size_t>(n)];
        LOCUS_CHECK(id >= 0 && id < table.rows(),
                    "add_rows: row " + std::to_string(id) + ", expected 0 to " + std::to_string(table.rows() - 1));
        sum.row(n) += table.row(id);
    }
}

template <class Scalar>
void multiply(Scalar factor, View<Scalar> x) {
    x *= factor;
}

template <class Scalar>
void divide(Scalar divisor, View<Scalar> x) {
    x /= divisor;
}

template <class Scalar>
void multiply_rows(const RowVector<Scalar>& factors, View<Scalar> x) {
    LOCUS_CHECK(factors.size() == x.rows(), "multiply_rows: " + std::to_string(factors.size()) + " factors for " +
                                                std::to_string(x.rows()) + " rows, expected one each");
    for (Index n = 0; n < x.rows(); ++n) x.row(n) *= factors[n];
}

template <class Scalar>
Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) {
    const Index heads = scores.extent(1);
    LOCUS_CHECK(weight.rows() == heads && weight.cols() == heads,
                "mix_heads: weights " + to_string(Shape{weight.rows(), weight.cols()}) + ", expected " +
                    to_string(Shape{heads, heads}) + ", one per pair of heads");
    Tensor<Scalar> mixed(scores.shape());
    for (Index b = 0; b < scores.extent(0); ++b)
        for (Index g = 0; g < heads; ++g) {
            auto mixed_g = mixed.matrix(b * heads + g);
            mixed_g.setZero();
            for (Index h = 0; h < heads; ++h) mixed_g += weight(g, h) * scores.matrix(b * heads + h);
        }
    return mixed;
}

template <class Scalar>
Matrix<Scalar> context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v) {
    check_values(probs.cols(), v.rows());
    return probs * v;
}

template <class Scalar>
void context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v, View<Scalar> result) {
    check_values(probs.cols(), v.rows());
    LOCUS_CHECK(result.rows() == probs.rows() && result.cols() == v.cols(),
                "context: a place of " + to_string(Shape{result.rows(), result.cols()}) + ", expected " +
                    to_string(Shape{probs.rows(), v.cols()}));
    result = probs * v;
}

template void add<float>(const ConstView<float>&, View<float>);
template void add_rows<float>(const ConstView<float>&, const std::vector<std::int64_t>&, View<float>);
template void multiply<float>(float, View<float>);
template void divide<float>(float, View<float>);
template void multiply_rows<float>(const RowVector<float>&, View<float>);
template Tensor<float> mix_heads<float>(const Tensor<float>&, const Matrix<float>&);
template Matrix<float> context<float>(const ConstView<float>&, const ConstView<float>&);
template void context<float>(const ConstView<float>&, const ConstView<float>&, View<float>);
template void add<double>(const ConstView<double>&, View<double>);
template void add_rows<double>(const ConstView<double>&, const std::vector<std::int64_t>&, View<double>);
template void multiply<double>(double, View<double>);
template void divide<double>(double, View<double>);
template void multiply_rows<double>(const RowVector<double>&, View<double>);
template Tensor<double> mix_heads<double>(const Tensor<double>&, const Matrix<double>&);
template Matrix<double> context<double>(const ConstView<double>&, const ConstView<double>&);
template void context<double>(const ConstView<double>&, const ConstView<double>&, View<double>);

}  // namespace locus
