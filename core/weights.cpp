#include "core/weights.h"

namespace locus {

template <>
Matrix<float> read_rows<float>(const WeightSource& weights, const std::string& name, Index first_row, Index rows) {
    return weights.rows_f32(name, first_row, rows);
}

template <>
Matrix<double> read_rows<double>(const WeightSource& weights, const std::string& name, Index first_row, Index rows) {
    return weights.rows_f64(name, first_row, rows);
}

template <class Scalar>
Matrix<Scalar> read_matrix(const WeightSource& weights, const std::string& name, const Shape& expected) {
    const auto found = weights.shape(name);
    if (!found || *found != expected)
        throw Error(Fault::unreadable, weights.location() + ": tensor " + name +
                                           (found ? " has shape " + to_string(*found) : " is missing") + ", expected " +
                                           to_string(expected));
    const Index rows = expected.empty() ? 1 : expected.front();
    Matrix<Scalar> values = read_rows<Scalar>(weights, name, 0, rows);
    if (expected.size() == 1) values.resize(1, rows);
    return values;
}

template Matrix<float> read_matrix<float>(const WeightSource&, const std::string&, const Shape&);
template Matrix<double> read_matrix<double>(const WeightSource&, const std::string&, const Shape&);

}  // namespace locus
