#include "core/attention/microscope_linear.h"

#include "core/attention/microscope.h"

namespace locus {

namespace {

/// The plain loop over channels.
template <class Scalar>
Scalar dot(const ConstView<Scalar>& a, Index i, const ConstView<Scalar>& b, Index j) {
    Scalar sum = 0;
    for (Index c = 0; c < a.cols(); ++c) sum += a(i, c) * b(j, c);
    return sum;
}

}  // namespace

template <class Scalar>
LinearExplanation<Scalar> explain_linear_cell(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                              const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                              bool causal, const std::vector<bool>& visible, Index i, Index j) {
    LOCUS_CHECK(q.rows() == k.rows() && q.cols() == k.cols(),
                "explain_linear_cell: queries and keys differ in shape, expected the same");
    LOCUS_CHECK(i >= 0 && i < q.rows() && j >= 0 && j < k.rows(),
                "explain_linear_cell: cell (" + std::to_string(i) + ", " + std::to_string(j) + ") lies outside " +
                    std::to_string(q.rows()) + " x " + std::to_string(k.rows()));
    LOCUS_CHECK(visible.empty() || static_cast<Index>(visible.size()) == k.rows(),
                "explain_linear_cell: " + std::to_string(visible.size()) + " marks for " + std::to_string(k.rows()) +
                    " keys, expected one each or none");
    const bool paper = form == LinearForm::paper;
    const Matrix<Scalar> q_positive =
        positive_features<Scalar>(paper ? Matrix<Scalar>(q) : rotate<Scalar>(q, table, layout));
    const Matrix<Scalar> k_positive =
        positive_features<Scalar>(paper ? Matrix<Scalar>(k) : rotate<Scalar>(k, table, layout));
    const Matrix<Scalar> q_top = paper ? rotate<Scalar>(q_positive, table, layout) : q_positive;
    const Matrix<Scalar> k_top = paper ? rotate<Scalar>(k_positive, table, layout) : k_positive;

    LinearExplanation<Scalar> cell;
    cell.i = i;
    cell.j = j;
    cell.phi_q = channels_of<Scalar>(q_positive, i);
    cell.phi_k = channels_of<Scalar>(k_positive, j);
    cell.left = channels_of<Scalar>(q_top, i);
    cell.right = channels_of<Scalar>(k_top, j);
    Scalar sum = 0;
    for (std::size_t c = 0; c < cell.left.size(); ++c) {
        cell.products.push_back(cell.left[c] * cell.right[c]);
        sum += cell.products.back();
        cell.running.push_back(sum);
    }
    Scalar above = 0, below = 0;
    const Index seen = causal ? i + 1 : k.rows();
    for (Index key = 0; key < seen; ++key) {
        LinearKey<Scalar> part;
        if (visible.empty() || visible[static_cast<std::size_t>(key)]) {
            part.numerator = dot<Scalar>(q_top, i, k_top, key);
            part.positive = dot<Scalar>(q_positive, i, k_positive, key);
        }
        above += part.numerator;
        below += part.positive;
        part.running_numerator = above;
        part.running_denominator = below;
        cell.keys.push_back(part);
    }
    cell.denominator = linear_denominator<Scalar>(below);
    for (LinearKey<Scalar>& part : cell.keys) part.weight = part.numerator / cell.denominator;
    if (j < seen) cell.weight = cell.keys[static_cast<std::size_t>(j)].weight;
    return cell;
}

template LinearExplanation<float> explain_linear_cell<float>(const ConstView<float>&, const ConstView<float>&,
                                                             const RotaryTable<float>&, RotaryLayout, LinearForm, bool,
                                                             const std::vector<bool>&, Index, Index);
template LinearExplanation<double> explain_linear_cell<double>(const ConstView<double>&, const ConstView<double>&,
                                                               const RotaryTable<double>&, RotaryLayout, LinearForm,
                                                               bool, const std::vector<bool>&, Index, Index);

}  // namespace locus
