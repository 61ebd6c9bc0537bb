#include "core/attention/relative.h"

#include <algorithm>
#include <numeric>

#include "core/attention/products.h"

namespace locus {

namespace {

template <class Scalar>
Matrix<Scalar> plus(const ConstView<Scalar>& q, const RowVector<Scalar>& bias, const char* name) {
    LOCUS_CHECK(bias.size() == q.cols(), std::string("relative attention: ") + name + " has " +
                                             std::to_string(bias.size()) + " channels, expected " +
                                             std::to_string(q.cols()) + " like q");
    return q.rowwise() + bias;
}

/// The same numbers, row-major, under another shape; as many as fit.
template <class Scalar>
Matrix<Scalar> read_as(const Matrix<Scalar>& values, Index rows, Index cols) {
    return Eigen::Map<const Matrix<Scalar>>(values.data(), rows, cols);
}

}  // namespace

template <class Scalar>
Matrix<Scalar> content_term(const ConstView<Scalar>& q, const RowVector<Scalar>& u, const ConstView<Scalar>& k) {
    return products_of_rows<Scalar>(plus<Scalar>(q, u, "u"), k);
}

template <class Scalar>
Matrix<Scalar> position_term(const ConstView<Scalar>& q, const RowVector<Scalar>& v, const ConstView<Scalar>& r_k) {
    return products_of_rows<Scalar>(plus<Scalar>(q, v, "v"), r_k);
}

template <class Scalar>
RelativeTerms<Scalar> relative_terms(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                     const ConstView<Scalar>& r_k, const RowVector<Scalar>& u,
                                     const RowVector<Scalar>& v, Index first) {
    const Matrix<Scalar> u_rows = u.replicate(q.rows(), 1), v_rows = v.replicate(q.rows(), 1);
    return {products_of_rows<Scalar>(q, k), shift_by_index<Scalar>(products_of_rows<Scalar>(q, r_k), k.rows(), first),
            products_of_rows<Scalar>(u_rows, k),
            shift_by_index<Scalar>(products_of_rows<Scalar>(v_rows, r_k), k.rows(), first)};
}

template <class Scalar>
RelativeTerms<Scalar> absolute_terms(const ConstView<Scalar>& content, const ConstView<Scalar>& positions,
                                     const ConstView<Scalar>& w_q, const ConstView<Scalar>& w_k) {
    const Matrix<Scalar> content_q = content * w_q.transpose(), content_k = content * w_k.transpose();
    const Matrix<Scalar> position_q = positions * w_q.transpose(), position_k = positions * w_k.transpose();
    return {products_of_rows<Scalar>(content_q, content_k), products_of_rows<Scalar>(content_q, position_k),
            products_of_rows<Scalar>(position_q, content_k), products_of_rows<Scalar>(position_q, position_k)};
}

template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first, Index memory,
                              const std::vector<Index>& positions) {
    LOCUS_CHECK(static_cast<Index>(positions.size()) == bd_raw.rows(), "relative attention: one position per query");
    Matrix<Scalar> bd = Matrix<Scalar>::Zero(bd_raw.rows(), keys);
    for (Index p = 0; p < bd_raw.rows(); ++p) {
        const Index i = positions[static_cast<std::size_t>(p)];
        if (i < 0) continue;
        // Columns rise with j one by one, so a row is one contiguous piece.
        const Index offset = distance_column(first, memory, i, 0);
        const Index begin = std::max<Index>(0, -offset), end = std::min(keys, bd_raw.cols() - offset);
        if (begin < end) bd.row(p).segment(begin, end - begin) = bd_raw.row(p).segment(begin + offset, end - begin);
    }
    return bd;
}

template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first) {
    const Index queries = bd_raw.rows();
    LOCUS_CHECK(keys >= queries, "relative attention: " + std::to_string(keys) + " keys for " +
                                     std::to_string(queries) + " queries, expected at least as many");
    std::vector<Index> positions(static_cast<std::size_t>(queries));
    std::iota(positions.begin(), positions.end(), Index(0));
    return shift_by_index<Scalar>(bd_raw, keys, first, keys - queries, positions);
}

template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames(const ConstView<Scalar>& bd_raw) {
    const Index queries = bd_raw.rows(), keys = bd_raw.cols();
    LOCUS_CHECK(keys >= queries && queries > 0,
                "shift: scores of " + to_string(Shape{queries, keys}) + ", expected at least as many keys as queries");
    std::vector<ShiftFrame<Scalar>> frames = {{"(q_i + v) . r_k, columns in falling distance", bd_raw}};
    Matrix<Scalar> padded = Matrix<Scalar>::Zero(queries, keys + 1);
    padded.rightCols(keys) = bd_raw;
    frames.push_back({"pad: a column of zeros on the left", padded});
    const Matrix<Scalar> folded = read_as(padded, keys + 1, queries);
    frames.push_back({"reshape: the same numbers read as " + to_string(Shape{keys + 1, queries}), folded});
    const Matrix<Scalar> dropped = folded.bottomRows(keys);
    frames.push_back({"drop: the first row goes", dropped});
    frames.push_back(
        {"reshape: read as " + to_string(Shape{queries, keys}) + " again", read_as(dropped, queries, keys)});
    return frames;
}

template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames_xlnet(const ConstView<Scalar>& bd_raw, Index keys) {
    const Index queries = bd_raw.rows(), rows = bd_raw.cols();
    LOCUS_CHECK(rows > keys && keys >= queries && queries > 0,
                "shift: scores of " + to_string(Shape{queries, rows}) + " for " + std::to_string(keys) +
                    " keys, expected more columns than keys and at least as many keys as queries");
    std::vector<ShiftFrame<Scalar>> frames = {{"(q_i + v) . r_k, columns in falling distance", bd_raw}};
    const Matrix<Scalar> folded = read_as<Scalar>(bd_raw, rows, queries);
    frames.push_back({"reshape: the same numbers read as " + to_string(Shape{rows, queries}), folded});
    const Matrix<Scalar> dropped = folded.bottomRows(rows - 1);
    frames.push_back({"drop: the first row goes", dropped});
    const Matrix<Scalar> unfolded = read_as(dropped, queries, rows - 1);
    frames.push_back({"reshape: read as " + to_string(Shape{queries, rows - 1}), unfolded});
    frames.push_back({"slice: the first " + std::to_string(keys) + " columns", unfolded.leftCols(keys)});
    return frames;
}

Mask transformer_xl_mask(Index queries, Index memory, bool same_length, Index memory_length) {
    const Index keys = memory + queries;
    // Keys that the memory has no room for; only those push old keys out of sight.
    const Index beyond = keys - memory_length;
    const Index shift = beyond > 0 ? queries - beyond : queries;
    Mask visible(queries, keys);
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) visible(i, j) = j <= i + memory && !(same_length && j <= i - shift);
    return visible;
}

template Matrix<float> content_term<float>(const ConstView<float>&, const RowVector<float>&, const ConstView<float>&);
template Matrix<double> content_term<double>(const ConstView<double>&, const RowVector<double>&,
                                             const ConstView<double>&);
template Matrix<float> position_term<float>(const ConstView<float>&, const RowVector<float>&, const ConstView<float>&);
template Matrix<double> position_term<double>(const ConstView<double>&, const RowVector<double>&,
                                              const ConstView<double>&);
template RelativeTerms<float> relative_terms<float>(const ConstView<float>&, const ConstView<float>&,
                                                    const ConstView<float>&, const RowVector<float>&,
                                                    const RowVector<float>&, Index);
template RelativeTerms<double> relative_terms<double>(const ConstView<double>&, const ConstView<double>&,
                                                      const ConstView<double>&, const RowVector<double>&,
                                                      const RowVector<double>&, Index);
template RelativeTerms<float> absolute_terms<float>(const ConstView<float>&, const ConstView<float>&,
                                                    const ConstView<float>&, const ConstView<float>&);
template RelativeTerms<double> absolute_terms<double>(const ConstView<double>&, const ConstView<double>&,
                                                      const ConstView<double>&, const ConstView<double>&);
template Matrix<float> shift_by_index<float>(const ConstView<float>&, Index, Index);
template Matrix<float> shift_by_index<float>(const ConstView<float>&, Index, Index, Index, const std::vector<Index>&);
template Matrix<double> shift_by_index<double>(const ConstView<double>&, Index, Index);
template Matrix<double> shift_by_index<double>(const ConstView<double>&, Index, Index, Index,
                                               const std::vector<Index>&);
template std::vector<ShiftFrame<float>> shift_frames<float>(const ConstView<float>&);
template std::vector<ShiftFrame<double>> shift_frames<double>(const ConstView<double>&);
template std::vector<ShiftFrame<float>> shift_frames_xlnet<float>(const ConstView<float>&, Index);
template std::vector<ShiftFrame<double>> shift_frames_xlnet<double>(const ConstView<double>&, Index);

}  // namespace locus
